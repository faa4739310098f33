# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A controller ends its goal, and the robot moves on: nothing is sent that needs its resources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_lifecycle.flow import parse_flow
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.testing import Behaviour, Cases, Event, Ramp, RobotScript, ScriptedRobot
from action_lifecycle.testing.scripted_goals import ScriptedMotion
from action_lifecycle.world import parse_facts
import pytest

from .scripted import FACTS_TEXT, STILL

CASES = Path(__file__).parent / 'aborted_still_driving' / 'cases.cases.yaml'
TOUR = """\
flow: tour
actions:
  go:
    resources: [base]
    motion: {server: drive, type: a/action/Go, timeout: 4}
    STOPPED
    stop_timeout: 3
    maintain: {condition: not lamp, within: 1}
    confirm: {condition: x > 0.9 and still, hold: 0.2, within: 1}
    retry: {times: 1, delay: 0}
    fallback: [{strategy: action, motion: {server: creep, type: a/action/Go, timeout: 4}},
               {strategy: ask, options: {leave: give_up}}]
    idempotent: true
  mast:
    after: {go: completion}
    resources: [base]
    motion: {server: mast, type: a/action/Go}
    confirm: {condition: speed < 9, within: 1}
"""
STOPPED = 'stopped: {condition: still, hold: 0.1}'
GIVEN = {  # in the flow, in the facts file
    'by the flow': (STOPPED, ''),
    'by the facts file': ('', 'stopped: {a/action/Go: {condition: still, hold: 0.1}}'),
}
SPEED = 0.4
ENDS: dict[str, dict[str, Any]] = {
    'it is aborted': {'result': 'aborted'},
    'somebody else cancels it': {'result': 'canceled'},
    'it succeeds short of the goal': {},
    'it exceeds its time': {'takes': 30.0},
    'it ignores the cancel': {'takes': 30.0, 'on_cancel': 'ignores'},
    'its condition is violated': {'takes': 30.0},
    'a person cancels it': {'takes': 30.0},
}
AFTER = {'stands': {}, 'stops late': {'speed': Ramp(to=0.0, over=1.5)}, 'moves on': {
    'speed': SPEED}}
KILLS = {'': None, 'killed on the way': 1.0, 'killed as it ends': 2.02,
         'killed while it is judged': 2.3}


class Rover(ScriptedRobot):
    """Notes the goals that it gets while it moves."""

    def __init__(self, stopped: str = '', /, **servers: Any) -> None:
        super().__init__(
            parse_facts(FACTS_TEXT + stopped), RobotScript(facts=STILL, servers=servers))
        self.sent_in_motion: list[str] = []
        begin = self.servers.begin

        def noted(name: str, *arguments: Any, **options: Any) -> Any:
            if self.signals.value('speed', self.clock.time) > 0.01:
                self.sent_in_motion.append(f'{name} at {self.clock.time:g} s')
            return begin(name, *arguments, **options)

        self.servers.begin = noted  # type: ignore[method-assign]


def rover(end: str, after: str, stopped: str = '') -> tuple[Rover, list[Event]]:
    """Return a robot that ends each goal in this way, and what happens meanwhile."""
    # What is canceled falls back to the speed before, so that is given by an event.
    behaviour = Behaviour(**{'takes': 2.0, 'after': AFTER[after], 'during': (
        {} if ENDS[end].get('takes') else {'speed': SPEED}), **ENDS[end]})
    events = []
    if ENDS[end].get('takes'):
        events.append(Event(at=0.5, facts={'speed': SPEED}))
        if end == 'its condition is violated':
            events += [Event(at=2.0, facts={'lamp': True}), Event(at=2.2, facts={'lamp': False})]
        if end == 'a person cancels it':
            events.append(Event(at=2.0, cancel=True))
        if after != 'moves on':
            events.append(Event(at=2.05 if end in (
                'its condition is violated', 'a person cancels it') else 4.05, facts={
                    'speed': Ramp(to=0.0, over=0.05 if after == 'stands' else 1.5)}))
    return Rover(stopped, drive=behaviour, creep=behaviour), events


def stories() -> Iterator[Any]:
    for end in ENDS:
        for after in AFTER:
            for kill in KILLS:
                for given in GIVEN:
                    yield pytest.param(
                        end, after, kill, given, id=', '.join(filter(None, (
                            end, after, kill, given))))


@pytest.mark.parametrize(('end', 'after', 'kill', 'given'), stories())
def test_nothing_is_sent_while_it_moves(end: str, after: str, kill: str, given: str) -> None:
    in_flow, in_facts = GIVEN[given]
    robot, events = rover(end, after, in_facts)
    if KILLS[kill] is not None:
        events.append(Event(at=KILLS[kill], kill=True))
    report = robot.run(parse_flow(TOUR.replace('STOPPED', in_flow), 'f.yaml'),
                       events=sorted(events, key=lambda event: event.at),
                       answers={'go': ['leave']}, within=60.0)
    assert not robot.sent_in_motion
    go = report.actions['go']
    never = after == 'moves on' or end == 'it ignores the cancel'
    assert (go.error == 'STOP_UNCONFIRMED') is never, go.cause
    assert ('locked until clear_stop: base' in go.cause) is never
    sent = [goal.server for goal in report.goals]
    if never:
        assert sent == ['drive']
    elif end != 'a person cancels it':
        assert len(sent) > 1
    if end == 'it succeeds short of the goal':
        assert 'x > 0.9 and still' in go.cause  # what the sensors have refuted


@pytest.mark.parametrize('given', GIVEN)
@pytest.mark.parametrize('after', ['stands', 'moves on'])
@pytest.mark.parametrize('how', ['canceled', 'killed and canceled', 'out of time'])
def test_what_succeeded_is_judged_when_its_confirmation_is_cut_off(
    after: str, how: str, given: str
) -> None:
    in_flow, in_facts = GIVEN[given]
    robot, events = rover('it succeeds short of the goal', after, in_facts)
    flow = TOUR.replace('STOPPED', in_flow).replace(
        'within: 1}\n    retry', 'within: 20}\n    retry')
    if how == 'out of time':
        flow = flow.replace('    idempotent', '    timeout: 3\n    idempotent')
    else:
        events.append(Event(at=3.0, cancel=True))
    if how == 'killed and canceled':
        events.append(Event(at=2.8, kill=True))
    report = robot.run(parse_flow(flow, 'f.yaml'), events=sorted(
        events, key=lambda event: event.at), within=40.0)
    assert not robot.sent_in_motion
    error = report.actions['go'].error
    if after == 'moves on':
        assert error == 'STOP_UNCONFIRMED'
        assert 'locked until clear_stop: base' in report.actions['go'].cause
    else:
        assert error == ('CANCELED' if how != 'out of time' else 'DEADLINE_EXCEEDED')


@pytest.mark.parametrize(('in_flow', 'in_facts'), [
    *GIVEN.values(),
    ('parameters: {most: 0.02}\n    stopped: {condition: speed < most, hold: 0.1}', '')])
@pytest.mark.parametrize('after', AFTER)
@pytest.mark.parametrize('code', ['CANCELED', 'MAINTAIN_VIOLATED'])
def test_what_succeeds_although_it_is_to_stop_is_judged(
    code: str, after: str, in_flow: str, in_facts: str
) -> None:
    drive = Behaviour(
        takes=2.0, on_cancel='ignores', during={'speed': SPEED}, after=AFTER[after])
    robot = Rover(in_facts, drive=drive, creep=drive)
    report = robot.run(parse_flow(TOUR.replace('STOPPED', in_flow), 'f.yaml'), events=[
        Event(at=1.5, cancel=True) if code == 'CANCELED' else Event(at=1.5, facts={'lamp': True})],
        answers={'go': ['leave']}, within=60.0)
    assert not robot.sent_in_motion
    first = next(row for row in report.rows if row.action_id == 'go' and row.event == 'fail')
    assert first.data['error_code'] == ('STOP_UNCONFIRMED' if after == 'moves on' else code)


STEPS = """\
flow: steps
actions:
  go:
    resources: [base]
    steps:
      - motion: {server: drive, type: a/action/Go}
      - SECOND
    STOPPED
    stop_timeout: 3
    confirm: {condition: x > 0.9, within: 1}
  mast:
    after: {go: completion}
    resources: [base]
    motion: {server: mast, type: a/action/Go}
    confirm: {condition: speed < 9, within: 1}
"""


@pytest.mark.parametrize('given', GIVEN)
@pytest.mark.parametrize('after', ['stands', 'stops late', 'moves on'])
@pytest.mark.parametrize('second', [
    'call: {service: second, type: s/srv/SetBool, physical: true}',
    'call: {service: second, type: s/srv/SetBool}',
    'motion: {server: second, type: a/action/Go, server_timeout: 1}'])
@pytest.mark.parametrize('end', ['aborted', 'rejected', 'missing'])
def test_a_later_step_that_fails_does_not_hide_an_earlier_one_that_goes_on(
    second: str, end: str, after: str, given: str
) -> None:
    in_flow, in_facts = GIVEN[given]
    robot = Rover(
        in_facts, drive=Behaviour(takes=2.0, during={'speed': SPEED}, after=AFTER[after]),
        second=Behaviour(takes=0.1, result=end, values={'success': False}))
    flow = STEPS.replace('SECOND', second).replace('STOPPED', in_flow)
    report = robot.run(parse_flow(flow, 'f.yaml'), within=60.0, events=[
        Event(at=30.0, cancel=True)] if after == 'moves on' else ())
    assert [one for one in robot.sent_in_motion if 'mast' in one] == []
    assert (report.actions['go'].error == 'STOP_UNCONFIRMED') is (after == 'moves on')


BOTH = """\
flow: both
actions:
  go:
    resources: [base]
    parameters: {still: 7}  # as a fact, which the condition of the facts file reads
    motion:
      - {server: /lift, type: a/action/Lift, timeout: 4}
      - {server: drive, type: a/action/Go, timeout: 4}
    stop_timeout: 2
    confirm: {condition: x > 0.9, within: 1}
"""


@pytest.mark.parametrize(('stopped', 'speed', 'lamp', 'stands'), [
    ('a/action/Lift: lamp, a/action/Go: still', 0.0, True, True),
    ('a/action/Lift: lamp, a/action/Go: still', 0.0, False, False),
    ('a/action/Lift: lamp, a/action/Go: still', SPEED, True, False),
    ('a/action/Lift: {condition: lamp, hold: 1.8}, a/action/Go: still', 0.0, True, True),
    ('a/action/Lift: {condition: lamp, hold: 2.5}, a/action/Go: still', 0.0, True, False),
    ('lift: lamp, a/action/Lift: still, a/action/Go: still', 0.0, True, True),  # name before type
    ('lift: lamp, a/action/Lift: still, a/action/Go: still', 0.0, False, False),
    ('a/action/Lift: none, a/action/Go: still', 0.0, False, True),
    ('a/action/Lift: none, a/action/Go: still', SPEED, False, False),
    ('a/action/Lift: none, a/action/Go: none', SPEED, False, True),
    ('a/action/Other: still', SPEED, False, True),
])
def test_the_conditions_of_all_steps_must_hold(
    stopped: str, speed: float, lamp: bool, stands: bool
) -> None:
    robot = Rover(f'stopped: {{{stopped}}}', **{
        '/lift': Behaviour(takes=1.0),
        'drive': Behaviour(takes=1.0, result='aborted', after={'speed': speed, 'lamp': lamp})})
    report = robot.run(parse_flow(BOTH, 'f.yaml'), within=60.0)
    go = report.actions['go']
    assert go.error == ('MOTION_ABORTED' if stands else 'STOP_UNCONFIRMED'), go.cause


@pytest.mark.parametrize(('stopped', 'stands'), [
    ('a/action/Lift: still, a/action/Go: still', True),
    ('a/action/Lift: still', False),  # nothing shows whether the base stands
])
@pytest.mark.parametrize(('second', 'behaviour', 'events', 'error'), [
    ('motion: {server: ', Behaviour(takes=2.0), [], 'SERVER_VANISHED'),
    ('call: {physical: true, service: ', Behaviour(result='none'), [Event(at=2.0, cancel=True)],
     'CANCELED'),
])
def test_a_condition_for_one_step_is_no_word_for_another(
    second: str, behaviour: Behaviour, events: list[Event], error: str, stopped: str, stands: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = ScriptedMotion._ended

    def vanishes(goal: Any, said: str) -> None:
        if goal._work.name == 'drive':
            goal._end('', ErrorCode.SERVER_VANISHED, 'it went away', stopped=False)
        else:
            ended(goal, said)

    monkeypatch.setattr(ScriptedMotion, '_ended', vanishes)
    robot = Rover(f'stopped: {{{stopped}}}', lift=Behaviour(takes=1.0), drive=behaviour)
    report = robot.run(parse_flow(f"""\
flow: both
actions:
  go:
    resources: [base]
    steps:
      - motion: {{server: lift, type: a/action/Lift}}
      - {second}drive, type: a/action/Go}}
    stop_timeout: 2
    confirm: {{condition: x > 0.9, within: 1}}
""", 'f.yaml'), events=events, within=60.0)
    go = report.actions['go']
    assert go.error == (error if stands else 'STOP_UNCONFIRMED'), go.cause


@pytest.mark.parametrize('name', Cases(CASES).names)
def test_the_base_that_drives_on_after_nav2_has_ended(name: str) -> None:
    assert not Cases(CASES).run(name).faults
