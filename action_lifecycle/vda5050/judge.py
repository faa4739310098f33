# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Decides what becomes of an order that has arrived: it is ignored, refused, or taken over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import contextlib
from dataclasses import dataclass
import math
from typing import Any

from .errors import INSTANT, NO_ROUTE, ORDER, OrderRefused, UPDATE, VALIDATION
from .fields import MAJOR, VERSION
from .identity import Identity
from .mapping import Mapped
from .order import distance, Order, read_order
from .order_flow import checked_text, content_digest, flow_actions, flow_id, FlowAction
from .progress import Progress


@dataclass(frozen=True)
class Taken:
    """
    An order that is taken over.

    `added`: what an update adds to the running flow; `text`: the flow with only these actions. If
    nothing is released, there are none. `digest`: of their contents in the order.
    """

    order: Order
    flow_id: str
    added: list[FlowAction]
    text: str
    is_update: bool
    digest: str


def judge_order(
    message: Mapping[str, Any], progress: Progress, mapped: Mapped,
    position: Mapping[str, float] | None = None,
) -> Taken | None:
    """
    Return what to do with an order; None: nothing, the robot has it already.

    `position`: x, y and theta of the robot, if known. Raises OrderRefused.
    """
    order = read_order(message)
    check_version(message, order.references)
    known = progress.order
    if known is not None and known.order_id == order.order_id:
        return judge_update(order, progress, mapped)
    if progress.is_active:
        assert known is not None
        raise OrderRefused(ORDER, f"order '{known.order_id}' is not done; cancel it, or wait for "
                           'its end', order.references)
    _check_start(order, mapped, position)
    return taken(order, mapped)


def taken(order: Order, mapped: Mapped) -> Taken:
    """Return a new order to be taken over; raises OrderRefused."""
    with _about(order):
        actions = flow_actions(order, mapped)
        digest = content_digest(order)
        text = checked_text(
            actions, f'order {order.order_id}', mapped, digest) if actions else ''
    return Taken(order, flow_id(order), actions, text, False, digest)


def judge_update(order: Order, progress: Progress, mapped: Mapped) -> Taken | None:
    """Return what to do with an order of the id that is known; raises OrderRefused."""
    known = progress.order
    assert known is not None
    references = order.references
    if order.update_id == known.update_id:
        if known.digest and order.digest != known.digest:
            raise OrderRefused(
                UPDATE, f"order '{known.order_id}': the robot has orderUpdateId "
                f'{known.update_id} with other contents; use a higher one', references)
        return None
    if order.update_id < known.update_id:
        raise OrderRefused(UPDATE, f'orderUpdateId {order.update_id}: the robot has '
                           f'{known.update_id}', references)
    if progress.canceled:
        raise OrderRefused(UPDATE, f"order '{known.order_id}' was canceled", references)
    if progress.has_failed:
        raise OrderRefused(UPDATE, f"order '{known.order_id}' has failed; cancel it", references)
    return update_taken(known.merged(order), known, mapped)


def update_taken(merged: Order, known: Order, mapped: Mapped) -> Taken:
    """Return an update to be taken over, already merged with the known order."""
    last = known.base[-1].sequence
    with _about(merged):
        added = [action for action in flow_actions(merged, mapped) if action.sequence > last]
        digest = content_digest(merged, last)
        text = checked_text(added, f'order {merged.order_id}, update {merged.update_id}',
                            mapped, digest) if added else ''
    return Taken(merged, flow_id(merged), added, text, True, digest)


def check_header(
    topic: str, message: Mapping[str, Any], identity: Identity, *, retained: bool = False
) -> None:
    """
    Raise OrderRefused if a message is not for this robot, or not from now.

    `retained`: the broker kept it from before the robot subscribed. Fields that are missing or of
    another type are not judged here.
    """
    references = {'topic': topic, **{
        key: message[key] for key in ('headerId', 'timestamp', 'orderId', 'orderUpdateId')
        if isinstance(message.get(key), (int, str))}}
    for key, own in (('manufacturer', identity.manufacturer),
                     ('serialNumber', identity.serial_number)):
        named = message.get(key, own)
        if isinstance(named, str) and named != own:
            raise OrderRefused(
                VALIDATION, f"the header names {key} '{named:.100}', this robot is '{own}' "
                f'({identity.name}): the message is for another robot',
                {**references, key: named[:100]})
    if retained:
        raise OrderRefused(
            ORDER if topic == 'order' else INSTANT, 'the broker has kept this message from before '
            'the robot subscribed (retained), so it may be of any age: send it again without the '
            'retain flag, and remove the kept one by an empty retained message', references)


def check_version(message: Mapping[str, Any], references: Mapping[str, Any]) -> None:
    """Raise OrderRefused if a message has another major version of the protocol."""
    version = str(message['version'])
    if version.partition('.')[0] != MAJOR:
        raise OrderRefused(VALIDATION, f"version '{version}': expected {VERSION} or another "
                           f'version {MAJOR}', references)


@contextlib.contextmanager
def _about(order: Order) -> Iterator[None]:
    """Let refusals refer to the order."""
    try:
        yield
    except OrderRefused as refused:
        raise OrderRefused(
            refused.kind, str(refused), {**order.references, **refused.references}) from refused


def _check_start(
    order: Order, mapped: Mapped, position: Mapping[str, float] | None
) -> None:
    node, wanted = order.nodes[0], mapped.spec.state.position
    if wanted is None or node.position is None:
        return
    references = {**order.references, 'nodeId': node.node_id}
    if position is None:
        raise OrderRefused(
            NO_ROUTE, f"whether the robot is at the first node '{node.node_id}' is not known: "
            'facts of its position are unknown', references)
    found = distance(node.position, position['x'], position['y'])
    most = node.position.get('allowedDeviationXY') or wanted.tolerance
    if found > most:
        raise OrderRefused(
            NO_ROUTE, f"the first node '{node.node_id}' is {found:.2f} m from the robot; at most "
            f'{most:g} m are allowed', references)
    most = node.position.get('allowedDeviationTheta')
    if not most or 'theta' not in node.position:
        return
    turned = abs(math.remainder(position['theta'] - node.position['theta'], math.tau))
    if turned > most:
        raise OrderRefused(
            NO_ROUTE, f'the robot is turned by {turned:.2f} rad from the theta of the first node '
            f"'{node.node_id}'; at most {most:g} rad are allowed", references)
