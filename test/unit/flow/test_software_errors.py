# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Errors of our own software or of an extension end the flow in FAIL."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from action_lifecycle.engine import load_graph
from action_lifecycle.flow import FlowRun, parse_edit
from action_lifecycle.flow.run import flow_run
from action_lifecycle.flow.run.flow_hooks import Extension
from action_lifecycle.graphs.packaged import config_file, packaged_graph
from action_lifecycle.journal.flow_rows import flow_event
from action_lifecycle.lifecycle.running.runner import ActionRunner
from action_lifecycle.lifecycle.states import ActionOutcome, ErrorCode
import pytest

from .changes import events, FLOW, REBUILD, recorded
from .kills import restart
from .robot import Clock, Killed, MOTION, Robot, Start


class Broken(Extension):
    """Raises an exception in some of its methods."""

    def __init__(self, *methods: str, times: int = 1000) -> None:
        self.times = times
        for method in methods:
            setattr(self, method, self._raise)

    def _raise(self, *arguments: Any) -> Any:
        self.times -= 1
        if self.times >= 0:
            raise ValueError('a bug of an extension')


@pytest.mark.parametrize('method', [
    'began', 'may_start', 'completed', 'is_blocking', 'assign_again'])
def test_an_extension_that_raises_ends_the_flow_in_fail(
    start: Start, clock: Clock, robot: Robot, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    process = start()
    process.orchestrator.extensions.append(Broken(method, 'canceled', 'flow_ended'))
    run = process.submit(FLOW)
    clock.run(100.0)
    assert (run.state, run.error_code) == ('FAIL', ErrorCode.INTERNAL)
    assert run.error_msg == 'ValueError: a bug of an extension'
    assert 'Traceback' in caplog.text and 'a bug of an extension' in caplog.text
    assert all(action.outcome is not None for action in run.actions)
    assert process.flow_rows == recorded(process)
    told = [flow_event(row) for row in process.flow_rows]
    assert [event.event for event in told][-3:] == ['broken', 'cancel_flow', 'fail']
    assert {event.error_code for event in told if event.event in ('broken', 'fail')} == {
        'INTERNAL'}
    assert told[-3].cause == told[-1].cause == run.error_msg
    process.kill()
    assert not start().orchestrator.restore()


@pytest.mark.parametrize('order', ['edit', 'resume', 'breakpoint'])
def test_an_extension_that_raises_after_an_order_is_journaled_ends_the_flow_in_fail(
    start: Start, clock: Clock, order: str
) -> None:
    process = start()
    orchestrator = process.orchestrator
    run = process.submit(FLOW)
    if order == 'breakpoint':
        orchestrator.control.set_breakpoint('f', 'b', actor='anna')
    elif order == 'resume':
        orchestrator.control.pause('f', actor='anna')
    clock.run(5.0)
    assert not run.ended or order == 'edit'
    if order == 'edit':
        run = process.submit(FLOW, 'g')
    orchestrator.extensions.append(Broken('may_start'))
    if order == 'edit':
        orchestrator.edit('g', parse_edit(f'- add: {{c: {{{MOTION}}}}}'), 'anna', 'one more')
    elif order == 'resume':
        orchestrator.control.resume('f', actor='anna')
    else:
        orchestrator.control.clear_breakpoint('f', 'b', actor='anna')
    clock.run(100.0)
    assert (run.state, run.error_code) == ('FAIL', ErrorCode.INTERNAL)
    assert process.flow_rows == recorded(process)


def test_an_error_after_the_last_action_ends_the_flow(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.orchestrator.extensions.append(Broken('is_blocking', times=1))
    run = process.submit(FLOW)
    clock.run(100.0)
    assert (run.state, run.error_code) == ('FAIL', ErrorCode.INTERNAL)
    assert {action.outcome for action in run.actions} == {ActionOutcome.SUCCEEDED}


def test_all_actions_of_a_batch_count_although_one_of_them_raises(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}}}\n')
    run.dependencies.ended = Broken()._raise  # type: ignore[method-assign]
    clock.run(100.0)
    assert run.state == 'FAIL' and run.outcomes['succeeded'] == 2


def test_an_error_of_the_schedule_ends_the_flow_in_fail_before_anything_starts(
    start: Start, clock: Clock, robot: Robot, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start()

    def broken(run: FlowRun) -> None:
        raise AttributeError('a bug of a graph\x1f')

    monkeypatch.setattr(FlowRun, 'schedule', broken)
    run = process.submit(FLOW)
    clock.run(100.0)
    assert (run.state, run.error_code) == ('FAIL', ErrorCode.INTERNAL)
    assert run.error_msg.startswith('AttributeError: a bug of a graph') and not robot.motions
    assert events(process.flow_rows) == ['accepted dependency_analysis',
                                         'fail dependency_analysis']
    assert flow_event(process.flow_rows[-1]).error_code == 'INTERNAL'
    assert 'Traceback' in caplog.text
    assert process.flow_rows[-1].final


def test_an_error_with_a_lone_surrogate_is_recorded(
    start: Start, robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(run: FlowRun) -> None:
        raise AttributeError('a bug\ud800')

    monkeypatch.setattr(FlowRun, 'schedule', broken)
    logging.disable(logging.CRITICAL)  # pytest-xdist can not send a log with a surrogate
    try:
        assert start().submit(FLOW).error_msg.startswith('AttributeError: a bug')
    finally:
        logging.disable(logging.NOTSET)


def test_a_graph_without_the_event_that_is_fired_ends_the_flow_in_fail(
    start: Start, robot: Robot, tmp_path: Path, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch
) -> None:
    text = config_file('graphs/flow.yaml').read_text(encoding='utf-8')
    (tmp_path / 'flow.yaml').write_text(text.replace('event: sorted', 'event: ordered'))
    graphs = {'flow': load_graph(tmp_path / 'flow.yaml')}
    monkeypatch.setattr(flow_run, 'packaged_graph',
                        lambda name: graphs.get(name) or packaged_graph(name))
    process = start()
    run = process.submit(FLOW)
    assert (run.state, run.error_code) == ('FAIL', ErrorCode.INTERNAL)
    assert events(process.flow_rows) == ['accepted dependency_analysis', 'fail topological_sort']
    assert 'Traceback' in caplog.text and "'sorted'" in run.error_msg and not robot.motions


def test_what_moves_is_stopped_although_the_cancel_of_another_action_raises(
    start: Start, clock: Clock, robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(f'flow: f\nmax_motions: 2\nactions:\n  a: {{{MOTION}}}\n'
                         f'  b: {{{MOTION}}}\n')
    clock.run(0.5)
    cancel = ActionRunner.cancel

    def broken(runner: ActionRunner, actor: str, reason: str) -> None:
        if runner.action.action_id == next(iter(run.at_work)):
            raise ValueError('a bug')
        cancel(runner, actor, reason)

    monkeypatch.setattr(ActionRunner, 'cancel', broken)
    process.orchestrator.cancel('f', 'anna', 'enough')
    assert [motion.canceled for motion in robot.motions].count(True) == 1


def test_an_error_when_an_edit_rebuilds_a_flow_stops_what_moves_first(
    start: Start, clock: Clock, robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(FLOW)
    clock.run(0.5)

    def broken(run: FlowRun) -> None:
        raise KeyError('a bug')

    monkeypatch.setattr(FlowRun, 'schedule', broken)
    process.orchestrator.edit('f', REBUILD, 'anna', 'one more')
    clock.run(0.5)
    assert robot.motions[0].canceled and not run.ended
    robot.motions[0].end('canceled')
    clock.run(10.0)
    assert (run.state, run.error_code) == ('FAIL', ErrorCode.INTERNAL)
    assert {action.outcome for action in run.actions} == {ActionOutcome.CANCELED}
    assert robot.executed('b') == 0


def test_an_action_that_can_not_be_started_ends_the_flow_in_fail(
    start: Start, clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start()
    begin = ActionRunner.start

    def broken(runner: ActionRunner, waited: float = 0.0) -> None:
        if runner.action.flow_id == 'f':
            raise ValueError('a bug')
        begin(runner, waited)

    monkeypatch.setattr(ActionRunner, 'start', broken)
    run = process.submit(FLOW)
    other = process.submit(FLOW, 'other')
    clock.run(100.0)
    assert (run.state, run.error_code) == ('FAIL', ErrorCode.INTERNAL)
    assert other.state == 'FINISH' and 'Traceback' in caplog.text


def test_a_broken_flow_fails_for_the_same_reason_after_a_restart(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(FLOW)
    clock.run(0.5)
    process.die_after(1)
    with pytest.raises(Killed):
        process.orchestrator.dispatcher.fail(
            process.orchestrator.runs['f'], ErrorCode.INTERNAL, 'a bug')
    process, (run,) = restart(start, process)
    clock.run(1.0)
    assert robot.motions[-1].canceled
    robot.motions[-1].end('canceled')
    clock.run(10.0)
    assert (run.state, run.error_code, run.error_msg) == ('FAIL', ErrorCode.INTERNAL, 'a bug')


def test_the_log_of_an_expected_error_has_no_traceback(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    process = start()
    parsed = process.parse(FLOW)
    parsed.actions['a'].after['nobody'] = 'success'
    with caplog.at_level(logging.ERROR):
        run = process.orchestrator.submit(parsed, 'f')
    assert run.error_code is ErrorCode.FLOW_INVALID and 'Traceback' not in caplog.text
