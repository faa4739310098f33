# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What the node has to know after a restart: the order, its flows, and what the state reports.

It is one JSON file, replaced as a whole before anything is done that depends on it. Whether a flow
has run is only in the journal of the action node.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
import json
from pathlib import Path
from typing import Any, NamedTuple, Optional, TypeVar

from .errors import OrderRefused
from .order import Order
from .progress import ActionNow, ENDED, Progress
from ..documents.durable_file import replacing
from ..documents.errors import LifecycleError
from ..documents.input_file import read_text
from ..documents.json_text import read_object
from ..documents.models import read_back, StrictModel
from ..lifecycle.states import ActionState

VERSION = 1
KEPT = 50
"""Number of ended instant actions that are kept while there is no new order."""


_Entry = TypeVar('_Entry')


class _Ended(StrictModel):
    outcome: str
    message: str = ''
    seq: int = 0


class _Instant(StrictModel):
    action_id: str
    action_type: str
    status: str
    message: str = ''
    flow: str = ''
    text: str = ''
    digest: str = ''


class _File(StrictModel):
    version: int
    robot: str
    order: Optional[dict[str, Any]] = None
    flows: list[str] = []
    ended: dict[str, _Ended] = {}
    pending: Optional[dict[str, Any]] = None
    canceled: bool = False
    canceling: Optional[str] = None
    paused: bool = False
    instants: list[_Instant] = []
    errors: list[dict[str, Any]] = []


@dataclass
class InstantAction:
    """
    An instant action; `flow`: id of its flow, if it has one, with the text of that.

    `digest`: of what it is to do, '' in files of earlier versions.
    """

    action_id: str
    action_type: str
    status: str
    message: str = ''
    flow: str = ''
    text: str = ''
    digest: str = ''

    def state(self) -> dict[str, Any]:
        """Return its state for a state message."""
        return {'actionId': self.action_id, 'actionType': self.action_type,
                'actionStatus': self.status,
                **({'resultDescription': self.message} if self.message else {})}


class Reported(NamedTuple):
    """Ended instant actions, and errors."""

    instants: list[InstantAction]
    errors: list[dict[str, Any]]


@dataclass
class Record:
    """
    The contents of the file.

    `flows`: ids of the flows of the order, the last one last. `pending`: the order that is being
    taken over, merged with the known one if it is an update. `canceling`: actionId of the
    cancelOrder that waits for the end of the flow. `errors`: of refused messages.
    """

    path: Path
    robot: str  #: manufacturer and serial number
    order: Order | None = None
    flows: list[str] = field(default_factory=list)
    actions: dict[str, ActionNow] = field(default_factory=dict)
    pending: Order | None = None
    canceled: bool = False
    canceling: str | None = None
    paused: bool = False
    instants: list[InstantAction] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    is_closed: bool = False  #: it is not written any more

    @property
    def progress(self) -> Progress:
        """Return how far the order is."""
        return Progress(self.order, self.actions, canceled=self.canceled)

    def reported(self) -> Reported:
        """Return what has ended or failed until now."""
        return Reported([one for one in self.instants if one.status in ENDED], [*self.errors])

    def take_over(self, order: Order, flow: str, before: Reported | None = None) -> None:
        """
        Begin a new order: what the state reports about the one before it is gone.

        `before`: what was reported when the order arrived; what came later is kept.
        """
        before = before or self.reported()
        self.order, self.flows = order, [flow] if flow else []
        self.actions, self.pending, self.canceled = {}, None, False
        self.instants = _without(self.instants, before.instants)
        self.forget_errors(before)

    def forget_errors(self, before: Reported) -> None:
        """Forget the errors that were there when an order arrived."""
        self.errors = _without(self.errors, before.errors)

    def note_instant(self, action: InstantAction) -> None:
        """Add an instant action; the oldest ended ones are forgotten."""
        self.instants.append(action)
        ended = [one for one in self.instants if one.status in ENDED]
        for one in ended[:-KEPT]:
            self.instants.remove(one)

    def save(self) -> None:
        """Write the file; raises LifecycleError."""
        if self.is_closed:
            return
        data = {
            'version': VERSION, 'robot': self.robot,
            'order': None if self.order is None else self.order.data,
            'flows': self.flows,
            'ended': {name: {'outcome': now.outcome, 'message': now.message, 'seq': now.seq}
                      for name, now in self.actions.items() if now.has_ended},
            'pending': None if self.pending is None else self.pending.data,
            'canceled': self.canceled, 'canceling': self.canceling, 'paused': self.paused,
            'instants': [asdict(one) for one in self.instants], 'errors': self.errors}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.path) as part:
                part.write_text(json.dumps(data), encoding='utf-8')
        except OSError as failed:
            raise LifecycleError(f'{self.path}: can not be written: {failed}') from failed


def read_record(path: Path, robot: str) -> Record:
    """Return the record of a robot; a new one if there is no file. Raises LifecycleError."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        return Record(path, robot)
    except (OSError, UnicodeDecodeError) as failed:
        raise LifecycleError(f'{path}: can not be read: {failed}') from failed
    try:
        found = read_back(_File, read_object(text, 'order file'))
        if found.version != VERSION:
            raise LifecycleError(f"field 'version': expected {VERSION}, got {found.version}")
        if found.robot != robot:
            raise LifecycleError(f"field 'robot': the file is that of {found.robot}, not of "
                                 f'{robot}')
        return Record(
            path, robot, _order(found.order), list(found.flows),
            {name: ActionNow(ActionState.TERMINATED.value, ended.outcome, 1, ended.message,
                             seq=ended.seq)
             for name, ended in found.ended.items()},
            _order(found.pending), found.canceled, found.canceling, found.paused,
            [InstantAction(one.action_id, one.action_type, one.status, one.message, one.flow,
                           one.text, one.digest) for one in found.instants], list(found.errors))
    except (LifecycleError, KeyError, TypeError) as failed:
        raise LifecycleError(f'{path}: {failed}; to begin without an order, remove the file'
                             ) from failed


def _without(entries: list[_Entry], gone: list[_Entry]) -> list[_Entry]:
    """Return entries without those that are gone, which are the same objects."""
    ids = {id(one) for one in gone}
    return [one for one in entries if id(one) not in ids]


def _order(data: dict[str, Any] | None) -> Order | None:
    try:
        return None if data is None else Order(data)
    except OrderRefused as refused:
        raise LifecycleError(f"field 'order': {refused}") from refused
