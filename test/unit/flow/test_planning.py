# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Requests: the planner is asked, told what is wrong, asked again; nothing is lost in a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import sqlite3
from typing import Any

from action_lifecycle.flow.files.flow import LoadedFlow
from action_lifecycle.flow.planning.asker import LONGEST_DELAY, MAX_ANSWER, MAX_FAILURES, PlanReply
from action_lifecycle.flow.planning.planning import Planned, Planner, PlanOrder
from action_lifecycle.journal import Entry
from action_lifecycle.lifecycle.states import ErrorCode
import pytest

from .robot import Clock, Process, Start

GOOD = 'flow: one\nactions:\n  pick: {motion: {server: arm, type: a/action/B}, confirm: z > 0}\n'
CYCLE = GOOD.replace('confirm', 'after: pick, confirm')
YES = PlanReply(True, GOOD)


class Service:
    """A planner that answers, after `delay` s, what a test puts into `replies`; else nothing."""

    def __init__(self, clock: Clock, *replies: PlanReply, delay: float = 1.0) -> None:
        self.clock = clock
        self.replies = list(replies)
        self.delay = delay
        self.asked: list[tuple[float, list[str]]] = []

    def ask(
        self, request: str, errors: Sequence[str], reply: Callable[[PlanReply], None]
    ) -> Any:
        self.asked.append((self.clock.time, list(errors)))
        answer = self.replies.pop(0) if self.replies else None
        return self.clock.call_later(
            self.delay, lambda: reply(answer) if answer is not None else None)


class Life:
    """A process with a planner; what is planned is run."""

    def __init__(self, process: Process, service: Service) -> None:
        self.process = process
        self.service = service
        self.results: list[Planned] = []
        self.faults: list[tuple[ErrorCode, list[str]]] = []
        self.planner = Planner(
            service, self.check, self.apart, process.orchestrator.recorder, self.planned)
        process.orchestrator.restore()

    def check(self, flow: LoadedFlow, done: Callable[[ErrorCode, list[str]], None]) -> None:
        code, faults = self.faults.pop(0) if self.faults else (ErrorCode.NONE, [])
        self.process.clock.call_later(0.1, lambda: done(code, faults))

    def apart(self, work: Callable[[], Any], done: Callable[[Any, Exception | None], None]
              ) -> None:
        try:
            result = work()
        except Exception as error:  # as a thread passes it on
            found = error
            self.process.clock.call_later(0.1, lambda: done(None, found))
        else:
            self.process.clock.call_later(0.1, lambda: done(result, None))

    def planned(self, planned: Planned) -> None:
        self.results.append(planned)
        if planned.flow is not None:
            self.process.orchestrator.submit(
                planned.flow, planned.order.flow_id, origin={'planning_s': planned.took})
            self.planner.submitted(planned.order.flow_id)

    def begin(self, flow_id: str = 'f', **order: Any) -> None:
        self.planner.begin(PlanOrder(flow_id=flow_id, request='pick it', **order))

    def events(self) -> list[str]:
        return [row.event for row in self.process.journal.rows(kind='plan')]


def test_a_request_becomes_a_flow(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(clock, YES))
    life.begin(priority=3, requester='me', parameters={})
    clock.run(30.0)
    assert life.process.orchestrator.runs['f'].state == 'FINISH'
    assert life.events() == ['requested', 'asked', 'answered', 'planned']
    assert life.process.orchestrator.runs['f'].summary['planning_s'] == pytest.approx(1.2)
    row = next(life.process.journal.rows(kind='plan'))
    assert row.data['order']['request'] == 'pick it' and row.actor == 'me'
    assert not life.process.journal.open_rows('plan')


@pytest.mark.parametrize('reply', [
    PlanReply(True, 'flow: [\n'), PlanReply(True, ''), PlanReply(False, '', 'no idea'),
    PlanReply(True, GOOD.replace('z > 0', 'z >')), PlanReply(True, 'x' * (MAX_ANSWER + 1)),
    PlanReply(True, GOOD.replace('pick', '{{ secret }}')), PlanReply(True, '- add: {}\n'),
    PlanReply(True, GOOD + 'parameters:\n  force: {default: 900.0, max: 50.0}\n'),
    PlanReply(True, '\x00'), PlanReply(True, '!!python/object:os.system x')])
def test_what_is_wrong_is_told_and_asked_again_at_most_three_times(
    start: Start, clock: Clock, reply: PlanReply
) -> None:
    life = Life(start(), Service(clock, reply, reply, reply, YES))
    life.begin()
    clock.run(30.0)
    assert [bool(errors) for _, errors in life.service.asked] == [False, True, True]
    (result,) = life.results
    assert result.error_code is ErrorCode.PLAN_FAILED
    assert life.service.asked[1][1][0] in result.error_msg
    assert not life.process.orchestrator.runs and not life.planner.open
    assert not life.process.journal.open_rows('plan')


def test_what_the_bridge_finds_is_told_too(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(clock, YES, YES))
    life.faults = [(ErrorCode.FLOW_INVALID, ['one', 'two'])]
    life.begin()
    clock.run(30.0)
    assert life.service.asked[1][1] == ['one', 'two']
    assert life.process.orchestrator.runs['f'].state == 'FINISH'


def test_a_bridge_that_is_away_is_no_fault_of_the_planner(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(clock, YES))
    life.faults = [(ErrorCode.NOT_READY, ['the bridge is not there'])]
    life.begin()
    clock.run(30.0)
    assert len(life.service.asked) == 1
    assert life.results[0].error_code is ErrorCode.NOT_READY


def test_a_cycle_fails_fast(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(clock, PlanReply(True, CYCLE), YES))
    life.begin()
    clock.run(30.0)
    assert life.results[0].error_code is ErrorCode.FLOW_CYCLE
    assert 'pick' in life.results[0].error_msg and len(life.service.asked) == 1


def test_a_planner_out_of_reach_is_asked_again_ever_later_and_then_given_up(
    start: Start, clock: Clock
) -> None:
    life = Life(start(), Service(clock, *[PlanReply(unreachable='not there')] * 9, delay=0.0))
    life.begin()
    clock.run(200.0)
    times = [time for time, _ in life.service.asked]
    assert len(times) == MAX_FAILURES
    assert [later - time for time, later in zip(times, times[1:], strict=False)] == [
        1.0, 2.0, 4.0, 8.0]
    assert LONGEST_DELAY >= 8.0
    assert life.results[0].error_code is ErrorCode.PLAN_FAILED
    assert 'not there' in life.results[0].error_msg


def test_a_failure_of_the_network_costs_no_try(start: Start, clock: Clock) -> None:
    lost, bad = PlanReply(unreachable='lost'), PlanReply(True, 'flow: [')
    life = Life(start(), Service(clock, lost, bad, lost, lost, bad, lost, YES))
    life.begin()
    clock.run(100.0)
    assert life.process.orchestrator.runs['f'].state == 'FINISH'


@pytest.mark.parametrize('seconds', [0.0, 0.5, 1.0, 1.05, 1.15, 2.2, 3.3, 4.5])
def test_killed_at_any_moment_a_request_is_gone_on_with_and_run_once(
    start: Start, clock: Clock, robot: Any, seconds: float
) -> None:
    life = Life(start(), Service(clock, PlanReply(True, 'flow: ['), YES, YES))
    life.begin()
    clock.run(seconds)
    asked = len(life.service.asked)
    life.process.kill()
    life = Life(start(), Service(clock, YES, YES))
    life.planner.restore()
    clock.run(30.0)
    assert [row.to_state for row in life.process.journal.rows(flow_id='f', kind='flow')
            if row.final] == ['FINISH']
    assert robot.executed('pick') == 1
    assert not life.process.journal.open_rows('plan') and not life.planner.open
    assert asked + len(life.service.asked) <= 3


def test_the_count_of_tries_survives_a_restart(start: Start, clock: Clock) -> None:
    bad = PlanReply(True, 'flow: [')
    life = Life(start(), Service(clock, bad, bad))
    life.begin()
    clock.run(10.0)
    life.process.kill()
    life = Life(start(), Service(clock, bad, YES))
    life.planner.restore()
    clock.run(30.0)
    assert len(life.service.asked) == 1 and life.service.asked[0][1]
    assert life.results[0].error_code is ErrorCode.PLAN_FAILED


def test_the_time_of_a_plan_counts_from_the_request_also_after_a_restart(
    start: Start, clock: Clock
) -> None:
    life = Life(start(), Service(clock))
    life.begin()
    clock.run(10.0)
    life.process.kill()
    life = Life(start(), Service(clock, YES))
    life.planner.restore()
    clock.run(30.0)
    assert 11.0 < life.process.orchestrator.runs['f'].summary['planning_s'] < 15.0


def test_an_answer_that_was_journaled_is_not_asked_for_again(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(clock, YES))
    life.begin()
    clock.run(1.05)
    assert life.events()[-1] == 'answered'
    life.process.kill()
    life = Life(start(), Service(clock))
    life.planner.restore()
    clock.run(30.0)
    assert not life.service.asked
    assert life.process.orchestrator.runs['f'].state == 'FINISH'


@pytest.mark.parametrize('where', ['ask', 'check', 'apart'])
def test_an_unexpected_error_ends_the_request_with_a_row(
    start: Start, clock: Clock, where: str
) -> None:
    def broken(*arguments: Any) -> Any:
        raise RuntimeError('a bug')

    life = Life(start(), Service(clock, YES))
    setattr(life.service if where == 'ask' else life.planner, where, broken)
    life.begin()
    clock.run(30.0)
    assert life.results[0].error_code is ErrorCode.PLAN_FAILED
    row = list(life.process.journal.rows(kind='plan'))[-1]
    assert row.event == 'failed' and 'RuntimeError: a bug' in row.cause
    assert not life.planner.open and not life.process.journal.open_rows('plan')


def test_a_canceled_request_stays_canceled(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(clock, YES))
    life.begin()
    clock.run(0.5)
    life.planner.cancel('f', 'me')
    assert life.results[0].error_code is ErrorCode.CANCELED
    clock.run(5.0)
    life.process.kill()
    life = Life(start(), Service(clock, YES))
    life.planner.restore()
    clock.run(30.0)
    assert not life.service.asked and not life.process.orchestrator.runs


def test_a_journal_that_refuses_ends_the_request(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(clock, YES))
    life.begin()
    with life.process.full_disk():
        clock.run(30.0)
    assert life.results[0].error_code is ErrorCode.JOURNAL_FAILED
    assert not life.process.orchestrator.runs
    clock.run(2.0)  # now its end is recorded, and a restart does not resume it
    life.process.kill()
    life = Life(start(), Service(clock, YES))
    life.planner.restore()
    clock.run(30.0)
    assert not life.service.asked and not life.process.orchestrator.runs


@pytest.mark.parametrize('halted', [True, False])
def test_the_failure_of_a_request_is_not_recorded_over_its_successor(
    start: Start, clock: Clock, halted: bool
) -> None:
    """Within the delay, the node is deactivated and activated, or the id is requested again."""
    life = Life(start(), Service(clock, YES))
    life.begin()
    with life.process.full_disk():
        life.planner.cancel('f', 'me')
    if halted:
        life.planner.halt()
        Life(life.process, Service(clock, YES)).planner.restore()
    else:
        life.begin()
    clock.run(1.5)
    assert not [row for row in life.process.journal.rows(kind='plan') if row.event == 'failed']


def test_nothing_is_recorded_again_in_a_closed_journal(
    start: Start, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    life = Life(start(), Service(clock, YES))
    with life.process.full_disk():
        life.process.orchestrator.recorder.note('f', 'seen', {}, '', '')
    life.process.journal.close()
    clock.run(30.0)
    assert len([record for record in caplog.records if 'not recorded' in record.message]) == 1


def test_halted_it_asks_nobody_and_the_next_life_goes_on(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(clock, YES))
    life.begin()
    life.planner.halt()
    clock.run(30.0)
    assert not life.results
    life.process.kill()
    life = Life(start(), Service(clock, YES))
    life.planner.restore()
    clock.run(30.0)
    assert life.process.orchestrator.runs['f'].state == 'FINISH'


ORDER = {'flow_id': 'bad', 'request': 'pick it', 'parameters': {}, 'priority': 0,
         'requester': '', 'lease': '', 'recipe': ''}


@pytest.mark.parametrize('event', ['refused', 'declined'])
def test_after_the_last_try_a_restart_asks_nobody(
    start: Start, clock: Clock, event: str
) -> None:
    life = Life(start(), Service(clock))
    life.process.journal.append(Entry(
        kind='plan', action_id='f', event=event, data={
            'order': {**ORDER, 'flow_id': 'f'}, 'tries': 3, 'failures': 0, 'errors': ['a, b']}))
    life.process.kill()
    life = Life(start(), Service(clock, YES))
    life.planner.restore()
    clock.run(30.0)
    assert not life.service.asked and 'a, b' in life.results[0].error_msg
    assert life.results[0].error_code is ErrorCode.PLAN_FAILED


@pytest.mark.parametrize(('data', 'why'), [
    ({}, "missing field 'order'"), ({'order': 5}, "field 'order'"),
    ({'order': {**ORDER, 'hue': 'red'}, 'tries': 0, 'failures': 0, 'errors': []},
     "unknown field 'hue'"),
    ({'order': {**ORDER, 'flow_id': 'other'}, 'tries': 0, 'failures': 0, 'errors': []},
     'order.flow_id'),
    ({'order': ORDER, 'tries': 'many', 'failures': 0, 'errors': []}, "field 'tries'"),
    ({'order': ORDER, 'tries': 0, 'failures': 0, 'errors': 3}, "field 'errors'"),
    ({'order': ORDER, 'tries': 0, 'failures': 0, 'errors': [], 'answer': []}, "field 'answer'")])
def test_a_request_that_can_not_be_read_back_is_set_aside_and_the_others_go_on(
    start: Start, clock: Clock, caplog: pytest.LogCaptureFixture, data: dict[str, Any], why: str
) -> None:
    life = Life(start(), Service(clock))
    life.process.journal.append(
        Entry(kind='plan', action_id='bad', event='answered', data=data))
    life.begin('good')
    life.process.kill()
    life = Life(start(), Service(clock, YES))
    life.planner.restore()
    clock.run(30.0)
    assert life.process.orchestrator.runs['good'].state == 'FINISH'
    (said,) = [record.getMessage() for record in caplog.records if 'bad' in record.getMessage()]
    assert "request 'bad' is set aside: row 1" in said and why in said
    assert [row.action_id for row in life.process.journal.open_rows('plan')] == ['bad']


def test_a_request_with_a_damaged_row_is_set_aside(
    start: Start, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    life = Life(start(), Service(clock))
    life.begin('bad')
    life.process.kill()
    with sqlite3.connect(life.process.journal.path) as file:
        file.execute("UPDATE entry SET data_json = replace(data_json, 'pick', 'drop')")
    life = Life(start(), Service(clock, YES))
    life.planner.restore()
    clock.run(30.0)
    assert "request 'bad' is set aside" in caplog.text and 'does not have' in caplog.text
    assert not life.planner.open and not life.service.asked
