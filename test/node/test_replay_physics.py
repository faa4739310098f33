# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A changed threshold differs on recorded grasps of the cell exactly where the physics says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from action_lifecycle.bags import BagWriter, read_bag
from action_lifecycle.bags.replay import replay, Status, TopicNames
from action_lifecycle.bags.replay.judge import Question
from action_lifecycle.bags.replay.recorded import Recorded
from action_lifecycle.lifecycle.ports import Condition
from action_lifecycle.ros.interfaces.definitions import message_definition
from action_lifecycle.sim.messages import GripperCommand, GripperCommandGoal
from action_lifecycle.world import parse_facts, WorldModel
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

pytest.importorskip('mujoco')
pytest.importorskip('mcap')
pytest.importorskip('rosbags')

from action_lifecycle.sim.cell import Cell, CellConfig  # noqa: E402, I100

KIND = 'sensor_msgs/msg/JointState'
#: m; none is closer to a threshold than the noise of the encoder and the error of the drive
TARGETS = [0.004, 0.024, 0.045, 0.012, 0.036, 0.026, 0.008, 0.042, 0.033, 0.016]
BEFORE, AFTER = 0.02, 0.03  #: m, the thresholds


def condition(threshold: float) -> Condition:
    return Condition('confirm', f'gap > {threshold}', 0.1, 0.4)


def run_cell(path: Path) -> tuple[str, list[Recorded], list[float]]:
    """Move the gripper to each target; returns facts, confirmations and the true gaps then."""
    cell = Cell(CellConfig())
    joint = next(sample for sample in cell.step(0.1)
                 if sample.topic == 'joint_states').message.name[-1]
    facts = 'estop: none\nfacts:\n  gap: {topic: joint_states, type: ' + KIND \
        + f", field: 'position[name={joint}]', max_age: 0.2, unit: m}}\n"
    model = WorldModel(parse_facts(facts))
    recorded: list[Recorded] = []
    truth: list[float] = []
    with BagWriter(path) as bag:
        bag.add_topic('/joint_states', KIND, message_definition(KIND))

        def step(seconds: float) -> None:
            for _ in range(round(seconds / 0.004)):
                for sample in cell.step(0.004):
                    if sample.topic == 'joint_states':
                        take(sample.message)

        def take(plain: Any) -> None:
            message = JointState(name=list(plain.name), position=list(map(float, plain.position)))
            message.header.stamp.sec = plain.header.stamp.sec
            message.header.stamp.nanosec = plain.header.stamp.nanosec
            data = bytes(serialize_message(message))
            bag.write('/joint_states', data, cell.time)
            model.ingest('joint_states', deserialize_message(data, JointState), cell.time)

        for number, target in enumerate(TARGETS):
            cell.grip(GripperCommandGoal(GripperCommand(target, 10.0)))
            step(2.0)
            found: list[Any] = []
            # between two samples, so that none arrives at the very moment of a limit
            started, after = cell.time + 0.0011, cell.time - 0.01
            model.confirm([condition(BEFORE)], started, found.append, after=after)
            step(0.6)
            truth.append(float(cell.joints[0, -1]))
            recorded.append(Recorded(
                'sort', f'grip{number}', 1, started, found[0].stamp, after, [condition(BEFORE)],
                found[0].outcome.name.lower(),
                [entry.as_dict() for entry in found[0].evidence]))
    return facts, recorded, truth


def test_a_changed_threshold_differs_where_the_gap_is_between_both(tmp_path: Path) -> None:
    facts, recorded, truth = run_cell(tmp_path / 'run.mcap')
    assert min(abs(gap - limit) for gap in truth for limit in (BEFORE, AFTER)) > 0.001
    with read_bag(tmp_path / 'run.mcap') as bag:
        same = replay(bag, parse_facts(facts), recorded, TopicNames(), tolerance=1e-6)
        changed = replay(bag, parse_facts(facts), recorded, TopicNames(),
                         question=lambda one: Question([condition(AFTER)], {}))
    assert {one.status for one in same} == {Status.SAME}
    assert [one.verdict == 'confirmed' for one in same] == [gap > BEFORE for gap in truth]
    assert [one.verdict == 'confirmed' for one in changed] == [gap > AFTER for gap in truth]
    between = [number for number, gap in enumerate(truth) if BEFORE < gap <= AFTER]
    assert [number for number, one in enumerate(changed) if one.status is Status.REFUTED] \
        == between
    assert len(between) == 2
