# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A flow whose claim is not held starts no motion; one that runs goes on."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.run.lease_gate import LeaseGate, PATIENCE
from action_lifecycle.lifecycle.states import ErrorCode
import pytest

from .robot import Clock, Process, Robot

FLOW = """\
flow: two
actions:
  one: &one
    motion: {server: arm, type: t/action/T}
    confirm: z > 0
    retry: {times: 3}
  two: {<<: *one, after: one}
"""


class Fleet:
    """A process with a flow that needs the claim 'job'."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = Clock()
        self.robot = Robot(self.clock)
        self.robot.by_hand = {'motion'}
        self.start()

    def start(self) -> None:
        self.process = Process(self.path, self.clock, self.robot)
        orchestrator = self.process.orchestrator
        self.gate = LeaseGate(
            self.robot, self.clock, self.clock.now,
            lambda flow_id: str(orchestrator.runs[flow_id].origin.get('lease', '')))
        orchestrator.world = self.gate

    def submit(self, lease: str = 'job') -> None:
        self.run = self.process.orchestrator.submit(
            parse_flow(FLOW, 'f.yaml'), 'f', origin={'lease': lease})

    def hold(self, seconds: float, lease: str = 'job') -> None:
        self.gate.update({('f', lease): self.clock.now() + seconds})

    def action(self, name: str) -> object:
        return self.run.runners[name].action


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path / 'journal')


def test_motion_waits_for_its_claim_and_starts_when_it_is_held(fleet: Fleet) -> None:
    fleet.submit()
    fleet.clock.run(PATIENCE / 2)
    assert fleet.robot.executed('one') == 0
    fleet.hold(60.0, 'another')
    assert fleet.robot.executed('one') == 0
    fleet.hold(60.0)
    assert fleet.robot.executed('one') == 1


def test_motion_waits_for_as_long_as_its_claim_is_told_of(fleet: Fleet) -> None:
    fleet.submit()
    for _ in range(5):
        fleet.clock.run(PATIENCE / 2)
        fleet.gate.update({('f', 'job'): 0.0})
    assert fleet.robot.motions == [] and not fleet.run.ended
    fleet.hold(60.0)
    assert fleet.robot.executed('one') == 1


def test_flow_without_a_claim_needs_none(fleet: Fleet) -> None:
    fleet.submit('')
    fleet.clock.run(0.1)
    assert fleet.robot.executed('one') == 1


def test_claim_that_never_comes_fails_the_action_without_a_second_try(fleet: Fleet) -> None:
    fleet.submit()
    fleet.clock.run(100.0)
    assert fleet.robot.motions == [] and fleet.run.ended
    assert fleet.action('one').error_code is ErrorCode.LEASE_LAPSED
    assert fleet.process.states('one').count('executing_motion') == 1


def test_lapsed_claim_lets_a_motion_go_on_and_stops_the_next(fleet: Fleet) -> None:
    fleet.submit()
    fleet.hold(10.0)
    fleet.clock.run(20.0)  # nothing is heard of the claim any more
    assert not fleet.robot.motions[0].canceled
    fleet.robot.motions[0].end()
    fleet.clock.run(100.0)
    assert fleet.process.states('one')[-1] == 'terminated'
    assert len(fleet.robot.motions) == 1
    assert fleet.action('two').error_code is ErrorCode.LEASE_LAPSED


def test_flow_that_is_canceled_while_it_waits_ends_as_canceled(fleet: Fleet) -> None:
    fleet.submit()
    fleet.clock.run(1.0)
    fleet.process.orchestrator.cancel('f', 'anna', 'no')
    fleet.clock.run(1.0)
    assert fleet.run.ended and fleet.run.constellation_state() == 'cancelled'
    fleet.hold(60.0)
    fleet.clock.run(10.0)
    assert fleet.robot.motions == []


def test_motion_that_is_held_while_it_waits_is_sent_after_the_resume(fleet: Fleet) -> None:
    fleet.submit()
    fleet.clock.run(1.0)
    fleet.process.orchestrator.control.pause('f', 'anna', hold=True)
    fleet.clock.run(1.0)
    fleet.hold(60.0)
    fleet.clock.run(10.0)
    assert fleet.robot.motions == []
    fleet.process.orchestrator.control.resume('f', 'anna')
    fleet.clock.run(1.0)
    (motion,) = fleet.robot.motions
    assert not motion.request.resume


def test_after_a_restart_a_motion_is_followed_without_a_claim_and_the_next_needs_one(
    fleet: Fleet
) -> None:
    fleet.submit()
    fleet.hold(60.0)
    fleet.clock.run(0.1)
    fleet.process.kill()
    fleet.start()
    fleet.run, = fleet.process.orchestrator.restore()
    followed = fleet.robot.motions[-1]
    assert followed.request.resume
    followed.end()
    fleet.clock.run(1.0)
    assert len(fleet.robot.motions) == 2 and fleet.robot.executed('two') == 0
    fleet.hold(60.0)
    assert fleet.robot.executed('two') == 1
