# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The markers node: publishes the actions that run as markers for RViz and Foxglove.

It is a node of its own, off by default: the action node has the states but not the facts file, the
bridge has the facts but neither flows nor outcomes, and pictures for people must not cost time in
either. It only subscribes and reads the journal by a service, so ending or killing it changes
nothing for the robot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from action_lifecycle_msgs.msg import ActionStateChange, ActionStatusArray
from action_lifecycle_msgs.srv import GetRows
from rclpy.duration import Duration
from visualization_msgs.msg import MarkerArray

from .flow_texts import FlowTexts
from .messages import Markers, Style
from .places import MarkerPlace, place_of
from .shown_actions import Key, ShownAction, ShownActions
from ...documents.errors import LifecycleError
from ...lifecycle.spec import ActionSpec
from ...ros.interfaces.field_kinds import field_kind
from ...ros.interfaces.names import name_fault
from ...ros.interfaces.qos import event_qos, state_qos
from ...ros.node.diagnostics import Health, OK, WARN
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.process import run
from ...ros.node.timers import Throttle, Timeout
from ...world.expressions.expression import compile_expression
from ...world.facts.facts import Fact
from ...world.facts.loader import load_facts

PERIOD = 0.1
"""Minimum time (s) between two messages."""
LIVES = 3
"""Lifetime of a marker in multiples of the refresh period."""
ACKNOWLEDGED = 0.5
"""Maximum time (s) to wait until subscribers have the last message of this node."""


class MarkersNode(ManagedNode):
    """
    Managed node `markers`.

    | interface | name | type |
    |---|---|---|
    | topic (latched) | `~/actions` | visualization_msgs/msg/MarkerArray |
    | subscribes to | `<action_node>/state_changes` | action_lifecycle_msgs/msg/ActionStateChange |
    | subscribes to | `<action_node>/actions` | action_lifecycle_msgs/msg/ActionStatusArray |
    | calls | `<action_node>/get_rows` | action_lifecycle_msgs/srv/GetRows |

    Parameters: `action_node` (string): name of the action node; `facts_file` (string): the facts
    file of the bridge, for the frames of facts; `fixed_frame` (string): frame of actions for which
    no other is found; `linger` (double, s): how long an ended action stays; `refresh` (double, s):
    period in which present markers are published again; `max_actions` (int); `text_height`
    (double, m); `dark_background` (bool). `places` describes which frame an action has.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('markers', **kwargs)
        self.declare('action_node', 'action_lifecycle', 'Name of the action node.',
                     check=name_fault)
        self.declare('facts_file', '', 'Facts file of the bridge, for the frames of facts; empty: '
                     'facts have no frames.')
        self.declare('fixed_frame', 'map', 'Frame of actions for which no other is found.')
        self.declare('linger', 5.0, 'Time (s) that the markers of an ended action stay.',
                     limits=(0.0, 3600.0))
        self.declare('refresh', 2.0, 'Period (s) in which present markers are published again; '
                     'they vanish after three periods without.', limits=(0.2, 60.0))
        self.declare('max_actions', 50, 'Maximum number of actions with markers; those that '
                     'changed last.', limits=(1, 1000))
        self.declare('text_height', 0.05, 'Height of letters (m).', limits=(0.001, 10.0))
        self.declare('dark_background', True, 'Colours for a dark background, as RViz has.')
        self._is_open = False

    def configure(self) -> None:
        """Load the facts file and create the topics."""
        self.fixed_frame = str(self.parameter('fixed_frame')).strip().lstrip('/')
        if not self.fixed_frame or not self.fixed_frame.isprintable():
            raise LifecycleError("parameter 'fixed_frame': expected the name of a frame, such as "
                                 f"map, got '{self.parameter('fixed_frame')}'")
        path = self.parameter('facts_file')
        self.facts: Mapping[str, Fact] = load_facts(path, field_kind) if path else {}
        self.claim_name()
        self.shown = ShownActions(self.parameter('linger'), self.steady)
        self._markers = Markers(Style(
            self.parameter('text_height'), self.parameter('dark_background'),
            LIVES * self.parameter('refresh')))
        self._begun: dict[Key, int] = {}  #: attempt for which the flow was read, by action
        self._is_empty = True
        self._waking: list[Timeout] = []
        action_node = self.parameter('action_node')
        self._topic = f'{action_node}/actions'
        self._publisher = self.add_publisher(MarkerArray, '~/actions', state_qos())
        self._throttle = Throttle(self, PERIOD, self._publish)
        self.defer(self._throttle.cancel)
        self.texts = FlowTexts(
            self, self.add_client(GetRows, f'{action_node}/get_rows'), self._publish_soon)
        self.add_subscription(
            ActionStateChange, f'{action_node}/state_changes',
            lambda message: self._taken(self.shown.take_change(message)), event_qos())
        self.add_subscription(
            ActionStatusArray, self._topic,
            lambda message: self._taken(self.shown.take_statuses(message)), state_qos())
        self.add_diagnostics('markers', self._health)

    def activate(self) -> None:
        """Publish the present markers; those of an earlier process are deleted."""
        self._is_open = True
        self._send(first=True)

    def deactivate(self) -> None:
        """Delete all markers."""
        self._is_open = False
        self._throttle.cancel()
        self._cancel_timers()
        self._publisher.publish(self._markers.clear())
        self._publisher.wait_for_all_acked(Duration(seconds=ACKNOWLEDGED))

    def _taken(self, changed: bool) -> None:
        if changed:
            self._publish_soon()

    def _read_flows(self, actions: Iterable[ShownAction]) -> None:
        """Read the flows of attempts that have begun, or all if the last request has failed."""
        known = {} if self.texts.fault else self._begun
        self._begun = {action.key: action.attempt for action in actions}
        for flow_id in dict.fromkeys(key[0] for key, attempt in self._begun.items()
                                     if known.get(key) != attempt):
            self.texts.read(flow_id)

    def _newest(self) -> list[ShownAction]:
        return self.shown.newest(self.parameter('max_actions'))

    def _publish_soon(self) -> None:
        if self._is_open:
            self._throttle.call_soon()

    def _publish(self) -> None:
        self._send(first=False)

    def _send(self, *, first: bool) -> None:
        self.shown.expire()
        actions = self._newest()
        self._read_flows(actions)
        placed = [(action, self._place(action)) for action in actions]
        if first or placed or not self._is_empty:
            self._publisher.publish(self._markers.update(placed, first=first))
        self._is_empty = not placed
        self._set_timers()

    def _set_timers(self) -> None:
        """
        Call `_wake` when an action is to be removed or the markers are to be refreshed.

        Their lifetime is in ROS time or in that of the subscriber, so both are watched.
        """
        self._cancel_timers()
        if not self._is_empty:
            expiry, refresh = self.shown.next_expiry(), self.parameter('refresh')
            delay = refresh if expiry is None else min(refresh, max(0.0, expiry - self.steady()))
            self._waking = [Timeout(self, delay, self._wake),
                            Timeout(self, refresh, self._wake, ros_time=True)]

    def _cancel_timers(self) -> None:
        for timer in self._waking:
            timer.cancel()
        self._waking.clear()

    def _wake(self) -> None:
        self._cancel_timers()
        if not self.count_publishers(self._topic):  # what it has told is not known to be so now
            self.shown.lost()
        self._publish_soon()

    def _place(self, action: ShownAction) -> MarkerPlace:
        spec = self.texts.find(*action.key)
        return place_of(
            [] if spec is None else _goals(spec, action.step),
            [] if spec is None else _names(spec), action.evidence, self.facts, self.fixed_frame)

    def _health(self) -> Health:
        placed = {'/'.join(action.key): self._place(action).frame for action in self._newest()}
        if self.texts.fault:
            return Health(WARN, f'flows are not read: {self.texts.fault}', placed)
        return Health(OK, f'{len(placed)} actions shown', placed)


def _goals(spec: ActionSpec, step: int) -> Iterator[Any]:
    """Yield the goals of the steps, that of the running step first."""
    steps = [*spec.steps[step:step + 1], *spec.steps[:step], *spec.steps[step + 1:]]
    for each in steps:
        yield getattr(each, 'goal', None)


def _names(spec: ActionSpec) -> Iterator[str]:
    """Yield the names that the conditions of its confirmation read."""
    for each in spec.confirm:
        try:
            yield from compile_expression(each.condition, None).names
        except LifecycleError:
            continue  # it reads values that are only known at the start


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal."""
    return run(MarkersNode, args=args)
