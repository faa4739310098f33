# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A ROS node that plays the script of a robot: servers, sensors and the e-stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
import time
from typing import Any

from action_lifecycle_msgs.msg import ActionStateChange
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from .fact_publishers import topic_publishers, TopicPublisher, value_of
from .servers import make_servers
from .transforms import Transforms
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...flow import LoadedFlow
from ...flow.files.flow import with_nested
from ...lifecycle.states import ActionState
from ...ros.interfaces.field_kinds import field_kind
from ...ros.interfaces.qos import event_qos
from ...testing.cases import Cases, merged
from ...testing.fact_messages import timing_fault, Writer
from ...testing.script import Event, RobotScript
from ...testing.scripted_doing import SentGoal
from ...testing.scripted_facts import Signals
from ...testing.scripted_robot import courses_of
from ...testing.scripted_servers import ScriptedServers
from ...testing.stepped_clock import SteppedClock
from ...work.bridge_work import BridgeWork
from ...world.facts.facts import FactSet, TopicFact
from ...world.facts.loader import load_facts

TURN = 0.01  #: s between two steps of the script


class ScriptedNode(Node):
    """
    The robot of a script, node `scripted_robot`; names are relative to the node's namespace.

    It has an action server, a service or a subscriber for each one that the flow names, and
    publishes the topics of the facts, `tf`, and the safety topics. `servers.goals` are the goals
    that came, `signals` the present values. `estop`: whether the e-stop is pressed.

    `events`: those with `facts` and `estop` happen at their times from the first state change of
    an action that is heard; the others are for people. `writers`: functions `(message, value)`,
    by fact, for fields that no rule inverts. Raises LifecycleError for what can't be played.
    """

    def __init__(
        self, flow: LoadedFlow, facts: str | Path, script: RobotScript | None = None, *,
        events: Sequence[Event] = (), writers: Mapping[str, Writer] | None = None,
        action_node: str = 'action_lifecycle', **kwargs: Any,
    ) -> None:
        super().__init__('scripted_robot', **kwargs)
        self.facts: FactSet = load_facts(facts, field_kind)
        self.script = script = script or RobotScript()
        self.estop = False
        self.clock = SteppedClock()
        self.signals = Signals(self.facts)
        self.servers = ScriptedServers(self.clock, self.signals, script.servers)
        self._events = list(events)
        self._uses = _uses(flow)
        self._moving: dict[str, None] = {}  #: actions that do their work now
        self._ros_time = bool(self.get_parameter('use_sim_time').value)
        self._begun = self._time()
        for courses in (*courses_of(script), *(event.facts for event in self._events)):
            self.signals.check(courses)
        self.signals.begin(script.facts, 0.0, 0.0)
        self._topics = topic_publishers(self, self.facts, script.messages, writers or {})
        self._transforms = Transforms(self, self.facts)
        self._check()
        works = {work.name: work for works in self._uses.values() for work in works}
        for name in [name for name in works if '{{' in name]:
            del works[name]
            self.get_logger().warning(f"no server is made for '{name}': its name is a template")
        self._doubles = make_servers(self, self, works, script.servers)
        self.create_subscription(
            ActionStateChange, f'{action_node}/state_changes', self._changed, event_qos())
        self.create_timer(TURN, self._turn, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @classmethod
    def of_file(cls, path: str | Path, case: str = '', **options: Any) -> ScriptedNode:
        """
        Return the robot of a file of cases, or of one of its cases.

        `options`: further arguments of ScriptedNode. Raises LifecycleError with what is wrong with
        the file or the name.
        """
        cases = Cases(path)
        if case and case not in cases.spec.cases:
            raise LifecycleError(f"{path}: there is no case '{case}'" + nearest(case, cases.names))
        spec = cases.spec.cases[case] if case else None
        script = merged(cases.spec.robot, spec.robot) if spec else cases.spec.robot
        return cls(cases.flow_of(spec), cases.facts_path, script,
                   events=spec.events if spec else (), **options)

    @property
    def goals(self) -> Sequence[SentGoal]:
        """Return the goals, requests and publications that came, in order."""
        return self.servers.goals

    def catch_up(self) -> None:
        """Run what the script does until now."""
        self.clock.run(max(self._time() - self._begun, self.clock.time))

    def action_of(self, server: str) -> str:
        """
        Return the action that a goal which comes now is from; '' if it is not known.

        A goal does not tell it. It is known if one action uses this server, or if one of those
        that use it is at its motion, call or publication.
        """
        users = [action for action, works in self._uses.items()
                 if any(work.name == server for work in works)]
        moving = [action for action in users if action in self._moving]
        return moving[0] if len(moving) == 1 else users[0] if len(users) == 1 else ''

    def _time(self) -> float:
        """Return the time (s) that the script follows: steady time, or ROS time if simulated."""
        return self.get_clock().now().nanoseconds * 1e-9 if self._ros_time else time.monotonic()

    def _turn(self) -> None:
        self.catch_up()
        now = self.clock.time
        values = {name: self.signals.value(name, now) for name in self.facts}
        stamp = self.get_clock().now().to_msg()
        beat = time.monotonic()
        for publisher in self._topics:
            publisher.publish(beat, values, self.estop, stamp)
        self._transforms.publish(beat, values, stamp)

    def _changed(self, change: ActionStateChange) -> None:
        if change.to_state == ActionState.EXECUTING_MOTION:
            self._moving[change.action_id] = None
        else:
            self._moving.pop(change.action_id, None)
        self.catch_up()
        events, self._events = self._events, []
        for event in events:
            self.clock.call_later(event.at, lambda event=event: self._happen(event))

    def _happen(self, event: Event) -> None:
        self.signals.begin(event.facts, self.clock.time, 0.0)
        if event.estop is not None:
            self.estop = event.estop
            self.get_logger().info(f"e-stop {'pressed' if event.estop else 'released'}")
        for person, words in ((event.cancel, 'cancel the flow'), (event.kill, 'kill the nodes')):
            if person:
                self.get_logger().info(f'at {event.at:g} s, the case says: {words}')

    def _check(self) -> None:
        """Raise LifecycleError for values that no message has; warn of those that it adds."""
        begin = {name: self.signals.value(name, 0.0) for name in self.facts}
        self._transforms.message(begin, self.get_clock().now().to_msg())
        for publisher in self._topics:
            for name, value in publisher.messages.unsilenced(begin).items():
                self.get_logger().warning(
                    f"fact '{name}' is not in the script; it is {value}, as its topic "
                    f"'{publisher.topic}' is published for other facts")
            self._check_courses(publisher, begin)

    def _check_courses(self, publisher: TopicPublisher, begin: Mapping[str, Any]) -> None:
        own = {name: begin[name] for name in publisher.messages.names}
        courses = [*courses_of(self.script), *(event.facts for event in self._events)]
        for course in courses:
            for name in own.keys() & course.keys():
                value = value_of(course[name])
                fact = self.facts[name]
                fault = timing_fault(fact, value) \
                    if value is not None and isinstance(fact, TopicFact) else ''
                if fault:
                    raise LifecycleError(fault)
                if value is not None:
                    publisher.messages.message({name: value}, exact=True)
                elif publisher.messages.unsilenced({**own, name: None}).get(name) is not None \
                        and any(one is not None for other, one in own.items() if other != name):
                    raise LifecycleError(
                        f"fact '{name}' can not be silent alone: its topic '{publisher.topic}' is "
                        'published for other facts, and its field always has a value; make all '
                        'facts of the topic silent')
        publisher.messages.message(own)


def _uses(flow: LoadedFlow) -> dict[str, list[BridgeWork]]:
    """Return what each action asks of servers, services and topics."""
    return {name: [step for step in action.steps if isinstance(step, BridgeWork)]
            for one in with_nested(flow) for name, action in one.actions.items()}
