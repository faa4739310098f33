# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What motions need of the bridge: ROS time, its facts, the safety topics, goals of ROS types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any
import uuid

from rclpy.task import Future

from .check import beyond_limits, full_name
from .facts import Facts
from .safety_guard import SafetyGuard
from .step_goals import motion_client, step_goal
from ...lifecycle.ports import MotionRequest, MotionStep
from ...ros.interfaces.message_fields import fill
from ...ros.interfaces.types import sent_class
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import Timeout
from ...work.bridge_work import BridgeWork
from ...work.motion_host import StepGoal
from ...world.safety.safety import SafetyStatus


class BridgeHost:
    """The bridge as a `work.motion_host.MotionHost`."""

    def __init__(self, node: ManagedNode, facts: Facts, guard: SafetyGuard) -> None:
        self.model = facts.model
        self.topics = facts.names
        self.now, self.steady = node.now, node.steady
        self.watch_opened = facts.changed
        self.trouble: Callable[[], SafetyStatus | None] = guard.trouble
        self.goals_of_others: Callable[[MotionRequest], Collection[bytes]] = lambda request: ()
        """Returns the ids of the goals that the bridge has sent for others than the caller."""
        self._node = node
        self._facts = facts
        self._guard = guard

    def later(
        self, delay: float, callback: Callable[[], None], *, ros_time: bool = False
    ) -> Timeout:
        """Call back after `delay` s of steady (or ROS) time."""
        return Timeout(self._node, delay, callback, ros_time=ros_time)

    def future(self) -> Any:
        """Return a future that the executor's tasks can await."""
        return Future()

    def log(self, text: str) -> None:
        """Log what a motion waits for."""
        self._node.get_logger().info(text)

    def motion_begins(self) -> None:
        """Take note that something moves from now on."""
        self._guard.note_motion(True)

    def full_name(self, name: str) -> str:
        """Return the full name of an action server, a service or a topic."""
        return full_name(self._node, name)

    def goal_of(self, step: MotionStep, work: BridgeWork, data: Any) -> tuple[Any, str]:
        """Return the message, and the fields that do not fit the type or exceed the limits."""
        goal, label = sent_class(step.kind, step.type)(), work.data_field
        faults = [*fill(goal, data, label)]
        if not faults:
            faults.extend(beyond_limits(self._node, self.model.facts, step, goal, label))
        return goal, '; '.join(map(str, faults))

    def foreign_goals(self, request: MotionRequest, work: BridgeWork) -> Sequence[str]:
        """Return the ids of the goals that other clients and callers have at a step's server."""
        return motion_client(self._node, work).foreign_goals(
            for_others=self.goals_of_others(request))

    def step_goal(
        self, request: MotionRequest, goal_id: uuid.UUID, work: BridgeWork, goal: Any | None,
        on_state: Callable[[str], None], on_feedback: Callable[[Any], None],
        refusal: Callable[[], str], last_word: float,
    ) -> StepGoal:
        """Send the goal of a step; None: follow that of an earlier process."""
        step = step_goal(self._node, self._facts, request, goal_id, work, goal, on_state,
                         on_feedback, refusal, last_word)
        self._guard.urgent.hold(step)
        return step
