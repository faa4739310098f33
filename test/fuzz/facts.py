# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Facts files: facts over real message types, expressions, limits, safety topics."""

from __future__ import annotations

import random
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.world import parse_facts, WorldModel
from action_lifecycle.world.expressions.reducers import REDUCERS

from .case import Case
from .expressions import expression, NAMES
from .values import how_many, mutated, number, value
from .yaml_text import damaged, Writer

TYPES = (
    'sensor_msgs/msg/JointState', 'sensor_msgs/msg/LaserScan', 'sensor_msgs/msg/PointCloud2',
    'sensor_msgs/msg/Image', 'geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/WrenchStamped',
    'std_msgs/msg/Float64', 'std_msgs/msg/Bool', 'std_msgs/msg/String', 'nav_msgs/msg/Odometry',
    'sensor_msgs/msg/BatteryState', 'diagnostic_msgs/msg/DiagnosticArray',
    'vision_msgs/msg/Detection3DArray', 'vision_msgs/msg/Detection2DArray',
    'std_msgs/msg/Float64MultiArray', 'tf2_msgs/msg/TFMessage', 'geometry_msgs/msg/PoseArray',
    'sensor_msgs/msg/Range', 'trajectory_msgs/msg/JointTrajectory', 'nav_msgs/msg/Path',
    'test_msgs/msg/Arrays', 'test_msgs/msg/UnboundedSequences', 'test_msgs/msg/MultiNested',
    'test_msgs/msg/WStrings', 'sensor_msgs/msg/Imu', 'nav_msgs/msg/OccupancyGrid')
_REDUCERS = tuple(name for name, reducer in REDUCERS.items() if reducer.elements)
_OVER_TIME = tuple(name for name, reducer in REDUCERS.items() if reducer.window)


def topic_fact(rng: random.Random, type_name: str, topic: str) -> dict[str, Any]:
    """Return a fact on a topic."""
    from action_lifecycle.ros.interfaces.types import message_class

    from .ros_data import paths_of
    kind = rng.random()
    if type_name.endswith('PointCloud2') and kind < 0.6:
        path = rng.choice(('data.x', 'data.z', 'data.rgb', 'data.x[0]', 'data.y[:, 0]',
                           'data.intensity', 'data.z[0, 0]', 'data'))
    elif type_name.endswith('Image') and kind < 0.6:
        path = rng.choice(('data', 'data[0]', 'data[:, 3]', 'data[1, 2, 0]', 'data[:9, :9]'))
    else:
        path = paths_of(rng, message_class(type_name))
    made: dict[str, Any] = {'topic': topic, 'type': type_name, 'field': path}
    if rng.random() < 0.25:
        made['reduce'] = rng.choice(_REDUCERS)
        if rng.random() < 0.5:
            made['window'] = rng.choice((0.2, 1.0, 60.0))
            made['reduce'] = rng.choice((rng.choice(_OVER_TIME),
                                         [rng.choice(_REDUCERS), rng.choice(_OVER_TIME)]))
    elif rng.random() < 0.1:
        made['reduce'] = 'age'
    if rng.random() < 0.3:
        made['max_age'] = rng.choice((0.2, 5.0, float('inf')))
    return made


def safety(rng: random.Random, estop: bool = False) -> dict[str, Any]:
    """Return a safety topic."""
    made = rng.choice((
        {'topic': 'estop', 'type': 'std_msgs/msg/Bool', 'field': 'data'},
        {'topic': 'fence', 'type': 'std_msgs/msg/String', 'field': 'data', 'stop_when': 'open'},
        {'topic': 'near', 'type': 'sensor_msgs/msg/Range', 'field': 'range', 'stop_when': 1.5},
        {'topic': 'near', 'type': 'sensor_msgs/msg/Range', 'field': 'radiation_type',
         'ok_when': rng.choice(('INFRARED', [0, 'INFRARED'], ['ULTRASND'], []))},
        {'topic': 'fence', 'type': 'std_msgs/msg/String', 'field': 'data', 'stop_when': ''}
        if estop else {'topic': 'alive', 'type': 'std_msgs/msg/Empty'}))
    return {**made, 'max_age': 0.5, 'mode': rng.choice(('heartbeat', 'on_change'))}


def facts_file(rng: random.Random) -> dict[str, Any]:
    """Return a facts file as data."""
    facts: dict[str, Any] = {}
    for name in rng.sample(list(NAMES), rng.randrange(1, 7)):
        kind = rng.random()
        if kind < 0.45:
            type_name = rng.choice(TYPES)
            facts[name] = topic_fact(rng, type_name, type_name.rsplit('/', 1)[1].lower())
        elif kind < 0.6:
            facts[name] = {'constant': rng.choice((
                0.02, [1.0, 2.0, 3.0], True, 'auto', ['a', 'b'], number(rng), value(rng, 2)))}
        elif kind < 0.7:
            facts[name] = {'tf': {'target': 'base', 'source': rng.choice(('tool0', 'base', '/a')),
                                  'part': rng.choice(('translation', 'rotation', 'pose'))}}
        else:
            facts[name] = {'expression': expression(rng)}
    made: dict[str, Any] = {
        'estop': 'none' if rng.random() < 0.5 else safety(rng, estop=True), 'facts': facts}
    if rng.random() < 0.3:
        made['safety'] = [safety(rng) for _ in range(rng.randrange(3))]
    if rng.random() < 0.3:
        made['limits'] = {rng.choice(('control_msgs/action/GripperCommand', 'gripper')): {
            rng.choice(('command.position', 'command', 'command.max_effort')):
                [rng.uniform(-1, 0), rng.choice((1.0, float('inf'), number(rng)))]}}
    return made


class Facts(Case):
    """Facts files, and what a world model makes of them before anything was seen."""

    refused = (DocumentError,)

    def prepare(self) -> None:
        from action_lifecycle.ros.interfaces.field_kinds import field_kind
        from action_lifecycle.ros.interfaces.types import message_class
        self.field_kind = field_kind
        for name in TYPES:
            message_class(name)

    def make(self, rng: random.Random) -> str:
        data = facts_file(rng)
        facts = data['facts']
        if rng.random() < 0.7:  # expressions that read what is not there are refused
            known = set(facts)
            for name in [name for name, fact in facts.items() if 'expression' in fact]:
                others = set(NAMES) - known
                if any(other in facts[name]['expression'] for other in others):
                    facts[name] = {'expression': rng.choice(('1 + 2', 'pi > 3', "'a' == 'b'"))}
        made = Writer(rng).write(mutated(rng, data, how_many(rng) if rng.random() < 0.5 else 0))
        return damaged(rng, made) if rng.random() < 0.15 else made

    def check(self, given: str) -> bool:
        facts = parse_facts(given, 'fuzzed.yaml', self.field_kind)
        model = WorldModel(facts)
        for name in facts:
            model.value(name, 1.0).as_dict()
        facts.topic_types()
        facts.topics(facts)
        return True


CASE = Facts()
