# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A bridge's world model on a stepped clock: random samples and confirmations, and their bag."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import random
from typing import Any, NamedTuple

from action_lifecycle.bags import BagWriter
from action_lifecycle.lifecycle.ports import Condition
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.conversions.motion import (
    condition_from,
    condition_to,
    confirmation_event,
    confirmation_to,
)
from action_lifecycle.ros.interfaces.definitions import message_definition
from action_lifecycle.ros.interfaces.field_kinds import field_kind
from action_lifecycle.ros.interfaces.types import message_class
from action_lifecycle.world import parse_facts, WorldModel
from action_lifecycle.world.unmet_conditions import confirmation, Topics
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import Confirmation
from geometry_msgs.msg import TransformStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import BatteryState, JointState, LaserScan
from std_msgs.msg import Bool, String
from tf2_msgs.msg import TFMessage

START = 1_700_000_000.0
FACTS = """
estop: none
facts:
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=gripper]',
        max_age: 0.3, unit: m}
  gap_mm: {expression: gap * 1000, unit: mm}
  speed: {topic: joint_states, type: sensor_msgs/msg/JointState, field: velocity, reduce: norm}
  mean_gap: {topic: joint_states, type: sensor_msgs/msg/JointState,
             field: 'position[name=gripper]', reduce: mean, window: 0.5}
  gap_rate: {topic: joint_states, type: sensor_msgs/msg/JointState,
             field: 'position[name=gripper]', reduce: rate, window: 0.5}
  age: {topic: ~/state, type: std_msgs/msg/String, field: data, reduce: age}
  present: {topic: /part/present, type: std_msgs/msg/Bool, field: data, max_age: .inf}
  state: {topic: ~/state, type: std_msgs/msg/String, field: data, max_age: 0.5}
  near: {topic: scan, type: sensor_msgs/msg/LaserScan, field: ranges, reduce: min, max_age: 0.5}
  ranges: {topic: scan, type: sensor_msgs/msg/LaserScan, field: 'ranges[0:3]', max_age: 0.5}
  charging: {topic: battery, type: sensor_msgs/msg/BatteryState, field: power_supply_status}
  tool: {tf: {target: world, source: tool}, max_age: 0.5}
"""
CONDITIONS = [
    'gap > 0.02', 'gap_mm < limit', 'speed < 0.05', 'mean_gap > 0.018', 'gap_rate > 10',
    'present', 'not present and gap < 0.02', "state == 'closed'", 'near > 0.3',
    'max(ranges) < 2 * limit', 'charging == POWER_SUPPLY_STATUS_CHARGING', 'tool[2] > 0.5',
    'age < 0.2', "gap > 0.01 or state == 'open'", 'norm(tool - [0, 0, 0.5]) < 0.4']
TYPES = {'joint_states': 'sensor_msgs/msg/JointState', '/part/present': 'std_msgs/msg/Bool',
         '~/state': 'std_msgs/msg/String', 'scan': 'sensor_msgs/msg/LaserScan',
         'battery': 'sensor_msgs/msg/BatteryState', '/tf': 'tf2_msgs/msg/TFMessage',
         '/tf_static': 'tf2_msgs/msg/TFMessage'}
RESOLVED = {'joint_states': '/robot/joint_states', '/part/present': '/part/present',
            '~/state': '/robot/world_model_bridge/state', 'scan': '/robot/scan',
            'battery': '/robot/battery', '/tf': '/tf', '/tf_static': '/tf_static'}
CONFIRMATIONS = '/robot/world_model_bridge/confirmations'


class Answer(NamedTuple):
    """What a world model decided, and when (s of ROS time)."""

    verdict: str
    ended: float
    evidence: list[dict[str, Any]]


class SteppedBridge:
    """
    Judges with the messages that it also writes to a bag; `seed` decides about everything.

    `answers`: what it decided, by action. `ageless`: what a second model decided that knows no age
    of a latched message, as after a recorder that stores no publish times.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.path = path
        self.model, self._ageless_model = (
            WorldModel(parse_facts(FACTS, field_kind=field_kind)) for _ in range(2))
        self.answers: dict[str, Answer] = {}
        self.ageless: dict[str, Answer] = {}
        self.now = START
        self.events: list[Confirmation] = []
        self.told: list[Confirmation] = []
        self.open = 0

    def run(self, count: int) -> list[Confirmation]:
        """Write the bag of `count` confirmations; returns them."""
        with BagWriter(self.path) as bag:
            for topic, kind in TYPES.items():
                bag.add_topic(RESOLVED[topic], kind, message_definition(kind),
                              latched=topic in ('/part/present', '/tf_static'))
            kind = 'action_lifecycle_msgs/msg/Confirmation'
            bag.add_topic(CONFIRMATIONS, kind, message_definition(kind))
            self._send(bag, '/tf_static', self._transforms('base', 'world'))
            while len(self.events) < count:
                self.now += self.random.expovariate(80.0)
                while self.model.next_deadline() < self.now and self.random.random() < 0.5:
                    self.model.advance(self.model.next_deadline())
                if self.now > START + 1 and self.open + len(self.events) < count \
                        and self.open < 8 and self.random.random() < 0.15:
                    self._ask()
                else:
                    self._send(bag, *self._sample())
                for event in self.told:
                    bag.write(CONFIRMATIONS, bytes(serialize_message(event)), self.now)
                self.told.clear()
        self._ageless_model.advance(self.now)
        return self.events

    def _ask(self) -> None:
        choose = self.random
        conditions = [Condition(
            'confirm', choose.choice(CONDITIONS), *sorted((
                choose.choice([0.0, 0.0, 0.1, 0.3]), choose.choice([0.0, 0.2, 0.5, 1.0]))),
            max_age=choose.choice([0.0, 0.0, 0.0, 0.1])) for _ in range(choose.randint(1, 3))]
        goal = ConfirmOutcome.Goal(
            flow_id='flow', action_id=f'a{len(self.events) + self.open}', attempt=1,
            conditions=list(map(condition_to, conditions)),
            parameters_json=json.dumps({'limit': choose.uniform(15, 25)}))
        if choose.random() < 0.7:
            goal.after = to_time(self.now - choose.choice([0.0, 0.05, 0.3]))
        after = goal.after.sec + goal.after.nanosec / 1e9
        self.open += 1
        started = self.now

        def ended(result: Any) -> None:
            self.open -= 1
            self.answers[goal.action_id] = _answer(result)
            answer = confirmation_to(
                confirmation(result, Topics(RESOLVED, lambda topic: '')), RESOLVED)
            event = confirmation_event(goal, answer, started, result.stamp)
            self.events.append(event)
            self.told.append(event)

        def ended_without_ages(result: Any) -> None:
            self.ageless[goal.action_id] = _answer(result)
        for model, call in ((self.model, ended), (self._ageless_model, ended_without_ages)):
            model.confirm(list(map(condition_from, goal.conditions)), self.now, call,
                          after=after or -1.0, names=json.loads(goal.parameters_json))

    def _send(self, bag: BagWriter, topic: str, message: Any, age: float = 0.0) -> None:
        data = bytes(serialize_message(message))
        bag.write(RESOLVED[topic], data, self.now, age)
        for model, its_age in ((self.model, age), (self._ageless_model, 0.0)):
            model.ingest(topic, deserialize_message(data, message_class(TYPES[topic])),
                         self.now, its_age)

    def _sample(self) -> tuple[Any, ...]:
        choose = self.random
        stamp = to_time(self.now - choose.choice([0.0, 0.004, 0.05, -0.01]))
        # phases of silence make facts stale
        phase = int((self.now - START) / 0.7) % 5
        topic = choose.choice(list(TYPES)[:6])
        if topic == 'joint_states' and phase != 3:
            message = JointState(name=['arm', 'gripper'], velocity=[choose.uniform(0, 0.1), 0.01],
                                 position=[0.0, choose.choice([0.005, 0.021, choose.random()])])
        elif topic == 'scan' and phase != 1:
            message = LaserScan(ranges=[choose.choice([0.2, float('nan'), 5.0])
                                        for _ in range(choose.randint(0, 5))])
        elif topic == 'battery':
            message = BatteryState(power_supply_status=choose.randint(0, 3))
        elif topic == '/tf' and phase != 2:
            return topic, self._transforms('tool', 'base', stamp)
        elif topic == '/part/present' and choose.random() < 0.3:
            age = choose.choice([0.0, 7.25])
            return topic, Bool(data=choose.random() < 0.5), age
        else:
            return '~/state', String(data=choose.choice(['open', 'closed', 'ünklar']))
        message.header.stamp = stamp
        return topic, message

    def _transforms(self, child: str, parent: str, stamp: Any = None) -> TFMessage:
        transform = TransformStamped(child_frame_id=child)
        transform.header.frame_id = parent
        if stamp is not None:
            transform.header.stamp = stamp
        transform.transform.translation.z = self.random.choice([0.2, 0.7])
        transform.transform.rotation.w = 1.0
        return TFMessage(transforms=[transform])


def _answer(result: Any) -> Answer:
    return Answer(result.outcome.name.lower(), result.stamp,
                  [entry.as_dict() for entry in result.evidence])


def verdicts(events: list[Confirmation]) -> Iterator[int]:
    return (event.verdict for event in events)
