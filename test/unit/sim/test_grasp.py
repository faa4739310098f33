# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What physics makes of a grasp: friction, mass and force decide, nothing is scripted."""

from __future__ import annotations

import math

from action_lifecycle.sim.motion import ACTIVE
import pytest

from .goals import gripper_goal

SEEDS = range(10)
ENOUGH = [('part_a', 15.0), ('part_b', 30.0), ('part_c', 15.0)]


@pytest.mark.parametrize(('part', 'effort'), ENOUGH)
@pytest.mark.parametrize('seed', range(3))
def test_pick_and_place_ends_in_the_nest(make_rig, part, effort, seed):
    rig = make_rig(seed=seed)
    rig.pick(part, effort)
    assert rig.cell.truth()[part].held
    rig.place(part)
    rig.step(0.3)
    assert rig.cell.truth()[part].pocket == part.replace('part', 'slot')


@pytest.mark.parametrize('seed', SEEDS)
def test_slippery_part_slips_at_low_force_and_holds_at_high_force(make_rig, seed):
    rig = make_rig(seed=seed)
    result = rig.pick('part_b', 8.0)
    assert result.stalled, 'the controller reports an object'
    truth = rig.cell.truth()['part_b']
    assert not truth.held
    assert truth.position[2] < 0.06
    rig.step(0.2)
    assert rig.gap() < 0.001, 'the fingers have closed on nothing'

    rig.grip(0.08, 30.0)
    result = rig.pick('part_b', 30.0)
    assert result.stalled
    assert rig.cell.truth()['part_b'].held
    assert rig.cell.truth()['part_b'].position[2] > 0.18
    rig.place('part_b')
    assert rig.cell.truth()['part_b'].pocket == 'slot_b'


@pytest.mark.parametrize('part', ['part_a', 'part_b', 'part_c'])
def test_any_part_can_be_the_slippery_one(make_rig, part):
    rig = make_rig(slippery=part)
    assert rig.pick(part, 8.0).stalled
    assert not rig.cell.truth()[part].held


@pytest.mark.parametrize('part', ['part_a', 'part_b', 'part_c'])
def test_without_slippery_part_low_force_holds(make_rig, part):
    rig = make_rig(slippery='')
    rig.pick(part, 8.0)
    assert rig.cell.truth()[part].held


@pytest.mark.parametrize(('part', 'effort'), ENOUGH)
def test_held_part_does_not_creep(make_rig, part, effort):
    rig = make_rig(seed=4)
    rig.pick(part, effort)
    rig.step(0.5)
    before = rig.cell.truth()[part].position
    rig.step(10.0)
    assert math.dist(before, rig.cell.truth()[part].position) < 0.0005


def test_weaker_gripper_or_heavier_part_changes_the_outcome(make_rig):
    rig = make_rig(gripper_force=0.2)
    rig.pick('part_b', 30.0)
    assert not rig.cell.truth()['part_b'].held
    rig = make_rig(mass={'part_a': 3.0})
    rig.pick('part_a', 15.0)
    assert not rig.cell.truth()['part_a'].held


def test_tighter_grip_does_not_let_go_meanwhile(rig):
    rig.pick('part_b', 14.0)
    motion = rig.cell.grip(gripper_goal(0.0, 40.0))
    lowest = 40.0
    while motion.status == ACTIVE:
        rig.step(0.02)
        lowest = min(lowest, -rig.samples['joint_states'][-1].effort[4])
    assert lowest > 12.0
    assert rig.cell.truth()['part_b'].held


def test_knock_throws_a_held_part_out(make_rig):
    rig = make_rig()
    rig.pick('part_a', 8.0)
    rig.cell.knock('part_a', (0.0, 0.0, -0.8))
    rig.step(1.0)
    truth = rig.cell.truth()['part_a']
    assert not truth.held
    assert truth.position[2] < 0.1


def test_turned_part_is_turned_by_the_wrist(make_rig):
    rig = make_rig()
    rig.pick('part_a', 15.0)
    rig.go(1.0, x=0.2, y=-0.12, yaw=math.pi / 2)
    truth = rig.cell.truth()['part_a']
    w, _, _, z = truth.orientation
    assert abs(2.0 * math.atan2(z, w)) == pytest.approx(math.pi / 2, abs=0.06)
    rig.go(0.6, z=0.053)
    rig.grip(0.08, 30.0)
    rig.go(0.6, z=0.2)
    assert rig.cell.truth()['part_a'].pocket == 'slot_a'
