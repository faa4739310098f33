# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The changes of flows: journaled, then published in order; a restart reads the same from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from action_lifecycle.flow import FlowRun, parse_edit
from action_lifecycle.flow.files.edit import EditRefused
from action_lifecycle.flow.planning.asker import PlanReply
from action_lifecycle.flow.restart.restore import Restored
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
from action_lifecycle.lifecycle.states import ErrorCode
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .changes import events, FLOW, REBUILD, recorded, with_recipes
from .robot import Clock, MOTION, Process, Robot, Start
from .test_planning import GOOD, Life, Service
from .test_steering import Planner


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
        'accepted: START', 'edited', 'cancel_action pick', 'fail: CONTINUE -> FAIL']


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
