# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Action servers, services and subscribers that do what a script says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
import math
from typing import Any, Protocol

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.task import Future
from rosidl_runtime_py.convert import message_to_ordereddict

from ...documents.errors import LifecycleError
from ...ros.interfaces.message_fields import fill
from ...ros.interfaces.qos import event_qos
from ...ros.interfaces.types import action_class, fields_of, message_class, service_class
from ...ros.node.rclpy_internals import not_called
from ...testing.script import Behaviour
from ...testing.scripted_doing import Doing
from ...testing.scripted_servers import ScriptedServers
from ...work.call import CallSpec
from ...work.publish import PublishSpec

RESULT_TIMEOUT = 3600  #: time (s) for which a result is kept
QUIET = 0.5  #: s without a message after which a stream has ended, at least 3 of its periods
TEXT_FIELDS = ('error_msg', 'error_string', 'message', 'text')
"""Fields of a result or of a response that get the `text` of a behaviour, the first one there."""


class Script(Protocol):
    """What the servers share; `catch_up` brings its clock to the present."""

    servers: ScriptedServers

    def catch_up(self) -> None:
        """Run what is due by now."""

    def action_of(self, server: str) -> str:
        """Return the action that a goal which comes now is from; '' if it is not known."""


class ActionDouble:
    """An action server."""

    def __init__(self, node: Node, script: Script, name: str, type_name: str) -> None:
        self._script = script
        self._name = name
        self._node = node
        self._action = action_class(type_name)
        self._behaviours: list[Behaviour] = []  #: of goals that are accepted, and not begun yet
        self._doings: dict[bytes, Doing] = {}
        self._server = ActionServer(
            node, self._action, name, execute_callback=not_called, goal_callback=self._decide,
            handle_accepted_callback=self._begin, cancel_callback=self._cancel,
            result_timeout=RESULT_TIMEOUT)

    def _decide(self, request: Any) -> GoalResponse:
        self._script.catch_up()
        behaviour = self._script.servers.next_behaviour(
            self._name, self._script.action_of(self._name))
        if behaviour.result == 'rejected':
            self._script.servers.begin(self._name, message_to_ordereddict(request), '', behaviour)
            return GoalResponse.REJECT
        self._behaviours.append(behaviour)
        return GoalResponse.ACCEPT

    def _begin(self, handle: Any) -> None:
        behaviour = self._behaviours.pop(0)
        handle.executing()
        key = bytes(handle.goal_id.uuid)
        self._node.get_logger().info(
            f'{self._name}: a goal; {behaviour.result} after {behaviour.takes:g} s')
        doing = self._script.servers.begin(
            self._name, message_to_ordereddict(handle.request), key.hex(), behaviour)
        self._doings[key] = doing
        doing.done.add_done_callback(lambda done: self._end(handle, behaviour, done.result()))

    def _cancel(self, handle: Any) -> CancelResponse:
        self._script.catch_up()
        self._node.get_logger().info(f'{self._name}: cancel')
        doing = self._doings.get(bytes(handle.goal_id.uuid))
        if doing is not None:
            doing.cancel()
        return CancelResponse.ACCEPT

    def _end(self, handle: Any, behaviour: Behaviour, said: str) -> None:
        result = filled(self._action.Result(), behaviour)
        if said == 'succeeded':
            handle.succeed(result)
        elif said == 'canceled' and handle.is_cancel_requested:
            handle.canceled(result)
        else:  # rcl lets no server cancel a goal that nobody has canceled
            handle.abort(result)


class ServiceDouble:
    """A service."""

    def __init__(self, node: Node, script: Script, name: str, type_name: str) -> None:
        self._script = script
        self._name = name
        self._class = service_class(type_name)
        # While a response is awaited, the callback holds its group.
        node.create_service(self._class, name, self._answer, qos_profile=event_qos(),
                            callback_group=ReentrantCallbackGroup())

    async def _answer(self, request: Any, response: Any) -> Any:
        self._script.catch_up()
        behaviour = self._script.servers.next_behaviour(
            self._name, self._script.action_of(self._name))
        ended: Any = Future()
        self._script.servers.begin(
            self._name, message_to_ordereddict(request), '', behaviour
        ).done.add_done_callback(lambda done: ended.set_result(done.result()))
        said = await ended
        return answer_of(response, behaviour, said)


def answer_of(response: Any, behaviour: Behaviour, said: str) -> Any:
    """Return the response of a service, whose `success` is that of the script."""
    if 'success' in behaviour.values or \
            response.get_fields_and_field_types().get('success') != 'boolean':
        return filled(response, behaviour)
    response.success = said == 'succeeded'
    return filled(response, behaviour)


class Subscriber:
    """A subscriber of a topic on which actions publish."""

    def __init__(self, node: Node, script: Script, name: str, spec: PublishSpec) -> None:
        self._script = script
        self._name = name
        self._node = node
        self._quiet = max(QUIET, 3.0 / spec.rate if spec.rate else 0.0)
        self._is_stream = bool(spec.rate)
        self._last = None
        if spec.last is not None:
            self._last = message_class(spec.type)()
            list(fill(self._last, spec.last))
        self._doing: Doing | None = None
        self._timer: Any = None
        latched = spec.qos.durability == 'transient_local'
        node.create_subscription(
            message_class(spec.type), name, self._heard, QoSProfile(
                depth=spec.qos.depth,
                reliability=QoSReliabilityPolicy[spec.qos.reliability.upper()],
                durability=QoSDurabilityPolicy.TRANSIENT_LOCAL if latched
                else QoSDurabilityPolicy.VOLATILE))
        if self._is_stream:
            self._timer = node.create_timer(self._quiet, self._ended)
            self._timer.cancel()

    def _heard(self, message: Any) -> None:
        self._script.catch_up()
        if self._last is not None and message == self._last:
            self._ended()
            return
        if self._doing is None:
            behaviour = self._script.servers.next_behaviour(
                self._name, self._script.action_of(self._name))
            doing = self._script.servers.begin(
                self._name, message_to_ordereddict(message), '', behaviour,
                math.inf if self._is_stream else 0.0)
            self._doing = doing if self._is_stream else None
        if self._timer is not None:
            self._timer.reset()

    def _ended(self) -> None:
        self._timer.cancel()
        doing, self._doing = self._doing, None
        if doing is not None:
            doing.finish('succeeded')


def filled(message: Any, behaviour: Behaviour) -> Any:
    """Return a result or a response with the text and the values of a behaviour."""
    field = text_field(type(message))
    if behaviour.text and field:
        setattr(message, field, behaviour.text)
    for fault in fill(message, behaviour.values, 'values'):
        raise LifecycleError(str(fault))
    return message


def text_field(cls: Any) -> str:
    """Return the field of a result or of a response that gets words; '' if it has none."""
    known = fields_of(cls)
    return next((name for name in TEXT_FIELDS if name in known), '')


def make_servers(
    node: Node, script: Script, works: Mapping[str, Any], behaviours: Mapping[str, Any]
) -> list[Any]:
    """Return a double for each server, service and topic of the flow; `works`: by name."""
    found: list[Any] = []
    for name, work in works.items():
        given = [one for key in behaviours if key.partition('@')[0] == name
                 for one in _listed(behaviours[key])]
        _check(name, work, given)
        if any(one.result == 'missing' for one in given):
            continue
        make: Callable[..., Any] = partial(Subscriber, spec=work) \
            if isinstance(work, PublishSpec) else partial(
                ServiceDouble if isinstance(work, CallSpec) else ActionDouble,
                type_name=work.type)
        found.append(make(node, script, name))
    return found


def _listed(given: Any) -> list[Behaviour]:
    return [given] if isinstance(given, Behaviour) else list(given)


def _check(name: str, work: Any, given: list[Behaviour]) -> None:
    """Raise LifecycleError for behaviours that a server of this type can't have."""
    missing = [one.result == 'missing' for one in given]
    if any(missing) and not all(missing):
        raise LifecycleError(f"server '{name}': it is missing for some goals only; in ROS, a "
                             'server is there or not, so give `missing` for all')
    if isinstance(work, PublishSpec):
        return
    is_call = isinstance(work, CallSpec)
    message = (service_class(work.type).Response if is_call else action_class(work.type).Result)()
    for one in given:
        try:
            filled(type(message)(), one)
        except LifecycleError as error:
            raise LifecycleError(f"server '{name}': {error}") from None
        if is_call and one.result not in ('succeeded', 'none', 'missing') and not one.values \
                and message.get_fields_and_field_types().get('success') != 'boolean':
            raise LifecycleError(
                f"server '{name}': {work.type} has no boolean `success`, so give the fields of a "
                f"response that is not a success under `values`, in place of '{one.result}'")
