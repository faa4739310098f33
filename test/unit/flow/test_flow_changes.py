# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The changes of flows: journaled, then published in order; a restart reads the same from them."""

from __future__ import annotations

from collections.abc import Callable
import logging
from pathlib import Path
from typing import Any

from action_lifecycle.engine import load_graph
from action_lifecycle.flow import FlowRun, parse_edit
from action_lifecycle.flow.files.edit import EditRefused
from action_lifecycle.flow.planning.asker import PlanReply
from action_lifecycle.flow.recipes.recipe_making import RecipeMaker
from action_lifecycle.flow.restart.restore import Restored
from action_lifecycle.flow.run import flow_run
from action_lifecycle.flow.run.flow_hooks import Extension
from action_lifecycle.graphs.packaged import config_file, packaged_graph
from action_lifecycle.journal import Entry, Journal, JournalReader, Row
from action_lifecycle.journal.flow_rows import (
    event_data,
    event_text,
    flow_event,
    history_of,
    history_page,
    is_flow_change,
    TEXT_LIMIT,
)
from action_lifecycle.lifecycle.ports import Question
from action_lifecycle.lifecycle.running.runner import ActionRunner
from action_lifecycle.lifecycle.states import ActionOutcome, ErrorCode
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .robot import Clock, Killed, MOTION, Process, Robot, Start
from .test_planning import GOOD, Life, Service
from .test_steering import Planner

FLOW = f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b: {{{MOTION}, after: a}}\n'
REBUILD = parse_edit(f'- build: {{b: {{{MOTION}, after: a}}, c: {{{MOTION}, after: b}}}}')


def with_recipes(process: Process, folder: Path, apart: Any = None) -> Process:
    def soon(work: Callable[[], Any], done: Callable[[Any, Exception | None], None]) -> None:
        process.clock.call_later(1.0, lambda: done(work(), None))

    process.orchestrator.extensions.append(
        RecipeMaker(process.orchestrator, folder, apart or soon, lambda: 1e9))
    return process


def events(rows: list[Row]) -> list[str]:
    """Return the events of rows, with the stages that they enter."""
    return [' '.join(filter(None, (row.event, row.data.get('stage', '')))) for row in rows]


def recorded(process: Process) -> list[Row]:
    return [row for row in process.journal.rows() if is_flow_change(row)]


def test_every_change_of_a_flow_is_published_once_and_in_order(
    start: Start, clock: Clock, tmp_path: Path
) -> None:
    process = with_recipes(start(), tmp_path / 'recipes')
    orchestrator = process.orchestrator
    run = process.submit(FLOW, recipe='r', actor='anna')
    clock.run(0.5)
    orchestrator.edit('f', REBUILD, 'bert', 'one more')
    clock.run()
    assert run.state == 'FINISH'
    assert events(process.flow_rows) == [
        'accepted dependency_analysis', 'stage topological_sort', 'stage scheduled_jobs_creation',
        'continue', 'edited dependency_analysis', 'stage topological_sort',
        'stage scheduled_jobs_creation', 'continue', 'stage flow_recipe_creation', 'finish']
    assert process.flow_rows == recorded(process)
    process.submit(FLOW, 'g')
    clock.run(0.5)
    orchestrator.fire('g', 'b', 'cancel', actor='anna', cause='enough')
    orchestrator.cancel('g', 'anna', 'all of it')
    clock.run()
    assert process.flow_rows == recorded(process)
    assert events(process.flow_rows)[-3:] == ['cancel_action', 'cancel_flow', 'fail']


def test_a_change_is_published_when_it_is_on_disk_and_in_effect(
    start: Start, clock: Clock, tmp_path: Path
) -> None:
    process = with_recipes(start(), tmp_path / 'recipes')
    seen = []

    def told(row: Row) -> None:
        with JournalReader(process.journal.path) as reader:
            assert next(reader.rows(after=row.seq - 1, limit=1)) == row
        if row.event == 'finish':
            assert process.orchestrator.runs['f'].state == 'FINISH'
        if row.data.get('stage') == 'flow_recipe_creation':
            assert process.orchestrator.runs['f'].stage == 'flow_recipe_creation'
        seen.append(row.event)

    process.orchestrator.recorder.flow_row = told
    process.submit(FLOW, recipe='r')
    clock.run()
    assert seen == ['accepted', 'stage', 'stage', 'continue', 'stage', 'finish']


def test_a_subscriber_that_fails_changes_nothing(
    start: Start, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    process = start()

    def broken(row: Row) -> None:
        raise ValueError('no publisher')

    process.orchestrator.recorder.flow_row = broken
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FINISH'
    assert 'is not published' in caplog.text and 'no publisher' in caplog.text


def test_a_refused_row_is_not_published(start: Start, clock: Clock) -> None:
    process = start()
    run = process.submit(FLOW)
    with process.full_disk(lambda entry: entry.kind == 'flow') as refused:
        clock.run(10.0)
        assert [entry.event for entry in refused[:2]] == ['finish', 'finish']
        assert events(process.flow_rows)[-1] == 'continue' and run.state == 'CONTINUE'
    clock.run(10.0)
    assert process.flow_rows == recorded(process) and run.state == 'FINISH'


def test_the_rows_of_a_planner_are_changes_of_the_flow_that_it_makes(
    start: Start, clock: Clock
) -> None:
    life = Life(start(), Service(clock, PlanReply(True, 'flow: ['), PlanReply(True, GOOD)))
    life.begin(requester='anna')
    clock.run(30.0)
    rows = life.process.flow_rows
    assert rows == recorded(life.process)
    found = [flow_event(row) for row in rows]
    assert {event.flow_id for event in found} == {'f'}
    steps = [event.data['step'] for event in found if event.event == 'planning']
    assert steps == [
        'requested', 'asked', 'answered', 'refused', 'asked', 'answered', 'planned']
    assert {event.stage for event in found if event.event == 'planning'} == {'planning'}
    assert found[0].actor == 'anna' and found[0].data['order']['request'] == 'pick it'
    assert list(history_of(life.process.journal, 'f')) == [
        row for row in life.process.journal.rows()
        if row.kind == 'transition' or is_flow_change(row)]


def test_what_a_planner_was_told_of_a_running_flow_is_published(
    start: Start, clock: Clock
) -> None:
    process = start()
    process.orchestrator.steering.planner = Planner(clock)
    process.submit(FLOW.replace('f\n', 'f\nsteering: true\n', 1))
    clock.run()
    assert process.flow_rows == recorded(process)
    assert [event for event in events(process.flow_rows) if 'steering' in event] == [
        'steering_asked', 'steering_answered'] * 2


def test_orders_of_people_are_published_with_the_action_and_the_person(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    control = process.orchestrator.control
    process.submit(FLOW)
    control.set_breakpoint('f', 'b', actor='anna', reason='look')
    control.pause('f', actor='bert', reason='lunch')
    control.resume('f', actor='bert', reason='back')
    clock.run(10.0)
    control.skip('f', 'b', actor='anna', reason='done by hand')
    clock.run()
    assert process.flow_rows == recorded(process)
    told = [flow_event(row) for row in process.flow_rows]
    assert [(event.event, event.action_id, event.actor, event.cause) for event in told
            if event.actor] == [
        ('breakpoint_set', 'b', 'anna', 'look'), ('paused', '', 'bert', 'lunch'),
        ('resumed', '', 'bert', 'back'), ('skipped', 'b', 'anna', 'done by hand')]


def test_questions_to_people_are_no_changes_of_the_flow(
    start: Start, clock: Clock
) -> None:
    process = start()
    for number in range(2):
        process.desk.ask(Question('resume', 'f', '', 'what now?', ('go',), key=str(number)),
                         lambda answer, actor: None)
    process.desk.respond(next(iter(process.desk.open)), 'go', 'anna')
    rows = list(process.journal.rows())
    assert {row.event for row in rows} == {'question_asked', 'question_answered'}
    assert not any(map(is_flow_change, rows))


@pytest.mark.parametrize(('entry', 'expected'), [
    (Entry('flow', 'f', event='accepted'), True), (Entry('flow', 'f', event='text'), False),
    (Entry('note', 'f', event='paused'), True), (Entry('note', event='paused'), False),
    (Entry('note', 'f', 'a', event='step'), False),
    (Entry('note', 'f', event='dialogue'), False), (Entry('transition', 'f', 'a'), False),
    (Entry('note', 'f', event='question_expired'), False), (Entry('plan', '', 'f'), True),
    (Entry('job', '', 'f/a'), False), (Entry('lock', '', 'arm'), False)])
def test_which_rows_are_changes_of_flows(tmp_path: Path, entry: Entry, expected: bool) -> None:
    with Journal(tmp_path / 'journal') as journal:
        assert is_flow_change(journal.append(entry)) is expected


def test_the_content_of_a_change(tmp_path: Path) -> None:
    with Journal(tmp_path / 'journal') as journal:
        accepted = flow_event(journal.append(Entry(
            'flow', 'f', event='accepted', to_state='START', ros_time=2.5, actor='anna', data={
                'text': 'flow: f', 'stage': 'dependency_analysis', 'name': 'n' * 20_000,
                'parameters': {'part': ['x' * 20_000]}})))
        edited = flow_event(journal.append(Entry(
            'flow', 'f', event='edited', from_state='CONTINUE', to_state='CONTINUE')))
        canceled = flow_event(journal.append(Entry(
            'note', 'f', event='cancel_action', data={'action': 'pick'})))
        failed = flow_event(journal.append(Entry(
            'flow', 'f', event='fail', from_state='CONTINUE', to_state='FAIL',
            data={'error_code': 'INTERNAL', 'stage': ''})))
    assert (accepted.time, accepted.actor, accepted.stage) == (2.5, 'anna', 'dependency_analysis')
    assert 'text' not in accepted.data and 'stage' not in accepted.data
    assert len(accepted.data['name']) == len(accepted.data['parameters']['part'][0]) == TEXT_LIMIT
    assert (edited.from_state, edited.to_state) == ('', 'CONTINUE') and edited.time > 1e9
    assert (canceled.action_id, canceled.data) == ('pick', {})
    assert failed.error_code == 'INTERNAL' and not failed.data
    assert [event_text(event_data(event), '->') for event in (
        accepted, edited, canceled, failed)] == [
        'accepted', 'edited', 'cancel_action pick', 'fail: CONTINUE -> FAIL']


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(['plan f', 'plan g', 'flow f', 'flow g', 'move f', 'move g',
                                 'text f', 'say f', 'lock']), max_size=40),
       st.integers(1, 9), st.sampled_from(['', 'f', 'h']))
def test_pages_of_a_history_have_every_change_once(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], size: int, flow_id: str
) -> None:
    made = {'plan': lambda flow: Entry('plan', '', flow, event='asked'),
            'flow': lambda flow: Entry('flow', flow, event='continue'),
            'move': lambda flow: Entry('transition', flow, 'a', event='start'),
            'text': lambda flow: Entry('flow', flow, event='text'),
            'say': lambda flow: Entry('note', flow, event='dialogue'),
            'lock': lambda flow: Entry('lock', '', 'arm')}
    with Journal(tmp_path_factory.mktemp('pages') / 'journal') as journal:
        rows = [journal.append(made[kind](flow))
                for kind, _, flow in (name.partition(' ') for name in kinds)]
        expected = [row.seq for row, name in zip(rows, kinds)
                    if name.split()[0] in ('plan', 'flow', 'move')
                    and flow_id in ('', name.split()[1])]
        found: list[Row] = []
        after: int | None = 0
        while after is not None:
            page, after = history_page(journal, flow_id, after, size)
            assert len(page) <= size
            found += page
        assert [row.seq for row in found] == expected
        assert [row.seq for row in history_of(journal, flow_id)] == expected


# Stages


def test_a_flow_from_a_recipe_was_analysed_and_sorted_before(
    start: Start, clock: Clock
) -> None:
    process = start()
    run = process.submit(FLOW, origin={'kind': 'recipe'})
    assert run.stage == 'scheduled_jobs_creation'
    assert events(process.flow_rows) == ['accepted scheduled_jobs_creation', 'continue']
    clock.run(0.5)
    process.orchestrator.edit('f', REBUILD, 'anna', 'one more')  # which it was not sorted with
    clock.run()
    assert events(process.flow_rows)[2:6] == [
        'edited dependency_analysis', 'stage topological_sort', 'stage scheduled_jobs_creation',
        'continue']


def test_the_rows_of_start_are_one_commit(start: Start, clock: Clock) -> None:
    process = start()
    commits: list[list[str]] = []
    append_many = process.journal.append_many

    def counted(entries: Any) -> list[Row]:
        entries = list(entries)
        commits.append([entry.event for entry in entries])
        return append_many(entries)

    process.journal.append_many = counted  # type: ignore[method-assign]
    process.submit(FLOW)
    assert commits == [['accepted', 'stage', 'stage', 'continue']]


def test_a_flow_that_can_not_be_sorted_says_in_which_stage_it_failed(start: Start) -> None:
    process = start()
    parsed = process.parse(FLOW)
    parsed.actions['a'].after['b'] = 'success'
    process.orchestrator.submit(parsed, 'f')
    assert events(process.flow_rows) == [
        'accepted dependency_analysis', 'fail topological_sort']
    assert flow_event(process.flow_rows[-1]).error_code == 'FLOW_CYCLE'


@pytest.mark.parametrize('recipe', ['', 'r'])
def test_without_a_verified_run_there_is_no_recipe_stage(
    start: Start, clock: Clock, robot: Robot, tmp_path: Path, recipe: str
) -> None:
    process = with_recipes(start(), tmp_path / 'recipes')
    robot.verdicts['a', 'confirm'] = ['refuted'] if recipe else []
    run = process.submit(FLOW, recipe=recipe)
    clock.run()
    assert run.ended and run.stage == 'scheduled_jobs_creation'
    assert 'stage flow_recipe_creation' not in events(process.flow_rows)


def test_the_recipe_stage_lasts_while_the_recipe_is_written(
    start: Start, clock: Clock, tmp_path: Path
) -> None:
    written: list[Callable[[], None]] = []
    process = with_recipes(start(), tmp_path / 'recipes', lambda work, done: written.append(
        lambda: done(work(), None)))
    run = process.submit(FLOW, recipe='r')
    clock.run(100.0)
    assert (run.state, run.stage) == ('CONTINUE', 'flow_recipe_creation')
    with pytest.raises(EditRefused, match='its recipe is being written'):
        process.orchestrator.edit('f', REBUILD, 'anna', 'late')
    process.kill()
    written.clear()
    process = with_recipes(start(), tmp_path / 'recipes', lambda work, done: written.append(
        lambda: done(work(), None)))
    (run,) = process.orchestrator.restore()
    assert (run.state, run.stage) == ('CONTINUE', 'flow_recipe_creation')
    written.pop()()
    clock.run(1.0)
    assert run.state == 'FINISH' and run.summary['recipe']['runs'] == 1
    assert events(recorded(process)).count('stage flow_recipe_creation') == 1


def test_the_recipe_stage_is_entered_when_it_is_recorded(
    start: Start, clock: Clock, tmp_path: Path
) -> None:
    process = with_recipes(start(), tmp_path / 'recipes')
    run = process.submit(FLOW, recipe='r')
    with process.full_disk(lambda entry: entry.event == 'stage') as refused:
        clock.run(100.0)
        assert len(refused) > 10 and run.stage == 'scheduled_jobs_creation'
        assert run.state == 'CONTINUE' and not (tmp_path / 'recipes').exists()
    clock.run(10.0)
    assert run.state == 'FINISH' and run.stage == 'flow_recipe_creation'


def state_of(run: FlowRun) -> tuple[Any, ...]:
    return (run.state, run.stage, run.history, run.broken, run.canceled_by,
            [edit['names'] for edit in run.edits])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(['step', 'wait', 'rebuild', 'add', 'cancel', 'bug']),
                max_size=8), st.booleans(), st.booleans())
def test_replayed_rows_give_the_flow_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], recipe: bool, reused: bool
) -> None:
    folder = tmp_path_factory.mktemp('replay')
    clock = Clock()
    robot = Robot(clock)
    process = with_recipes(Process(folder / 'journal', clock, robot), folder / 'recipes')
    run = process.submit(FLOW, recipe='r' if recipe else '',
                         origin={'kind': 'recipe'} if reused else None)
    for number, step in enumerate(steps):
        if run.ended:
            break
        if step == 'step':
            clock.run(0.3)
        elif step == 'wait':
            clock.run(2.4)
        elif step == 'cancel':
            process.orchestrator.cancel('f', 'anna', 'enough')
        elif step == 'bug':
            process.orchestrator.dispatcher.fail(run, ErrorCode.INTERNAL, f'bug {number}')
        else:
            text = f'- {"build" if step == "rebuild" else "add"}: {{n{number}: {{{MOTION}}}}}'
            try:
                process.orchestrator.edit('f', parse_edit(text), 'anna', 'why not')
            except EditRefused:
                assert run.canceled_by or run.stage == 'flow_recipe_creation'
    before = state_of(run)
    process.kill()
    process = Process(folder / 'journal', clock, robot)
    assert state_of(Restored(process.orchestrator, 'f').run) == before
    process.journal.close()


# Software errors


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
    process.kill()
    process = start()
    (run,) = process.orchestrator.restore()
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
