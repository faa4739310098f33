# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A flow at any moment, from its rows."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.flow import parse_edit
from action_lifecycle.journal import Entry, Row
from action_lifecycle.journal.flow_rows import (
    event_data,
    event_text,
    flow_event,
    is_flow_change,
    STAGE,
)
from action_lifecycle.viewer.record import FlowRecord
from action_lifecycle.viewer.record.shown import FLOW, Shown, StateEntered, STRUCTURE
from action_lifecycle.viewer.words import state_times
import pytest

from .records import compare_each_row, loaded, rows_of
from ..flow.changes import FLOW as CHAIN
from ..flow.nested_flows import submit
from ..flow.robot import Clock, MOTION, one, Robot, Start

RETRIED = f"""\
flow: f
actions:
  a: {{{MOTION}, retry: {{times: 1}}, resources: [arm]}}
  b: {{{MOTION}, after: {{a: completion}}, resources: [arm], description: the second}}
  c: {{confirm: z > 0, after: {{b: {{condition: z > 1}}}}}}
"""


def test_an_action_is_shown_at_each_row_as_a_projection_has_it(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    robot.verdicts['a', 'confirm'] = ['refuted']
    process.submit(RETRIED)
    clock.run()
    record = compare_each_row(process.journal.path, 'f')
    assert record.shown('a', 1) == Shown()
    assert [(attempt.number, attempt.path, attempt.controller_said, attempt.sensors_said,
             attempt.ended, attempt.failure) for attempt in record.attempts('a')] == [
        (1, '', 'EXECUTED', 'refuted', 'failed', 'REFUTED'),
        (2, 'retry', 'EXECUTED', 'confirmed', 'completed', '')]
    first, second = record.attempts('a')
    assert first.evidence[0]['verdict'] == 'false' and second.evidence[0]['verdict'] == 'true'
    assert first.last_seq < second.first_seq
    assert first.cause == record.action('a', first.last_seq).error_msg != second.cause
    assert record.nodes()['b'].after == {'a': 'completion'}
    assert record.nodes()['c'].after == {'b': 'z > 1'}
    assert (record.nodes()['b'].kind, record.nodes()['b'].physical) == ('motion', True)
    assert record.flow().counts['succeeded'] + record.flow().counts['skipped'] == 3
    assert record.head.done == record.head.total == 3 and record.head.state == 'FINISH'


def test_the_states_of_a_flow_at_any_moment_with_the_time_in_each(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(RETRIED)
    clock.run()
    rows = rows_of(process.journal.path, 'f')
    record = FlowRecord('f')
    for row in rows:
        record.take(row)
    changes = [row for row in rows if is_flow_change(row) and row.event != STAGE
               and row.to_state != row.from_state]
    assert [row.to_state for row in changes] == ['START', 'CONTINUE', 'FINISH']
    assert [(one.state, one.time) for one in record.entered()] == [
        (row.to_state, row.wall_time) for row in changes]
    assert [one.state for one in record.entered(changes[2].seq - 1)] == ['START', 'CONTINUE']
    assert record.entered(0) == []
    assert state_times([StateEntered('START', 10.0), StateEntered('CONTINUE', 13.2),
                        StateEntered('FINISH', 54.2)]) == [
        'START 3.2 s', 'CONTINUE 41 s', 'FINISH']
    history = [event_text(event_data(flow_event(row))) for row in changes]
    assert history == [
        'accepted: START', 'continue: START → CONTINUE', 'finish: CONTINUE → FINISH']


def test_what_actions_waited_for(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    process.submit('flow: f\nactions:\n' + ''.join(
        f'  {name}: {{{MOTION}, resources: [arm]}}\n' for name in 'abc'))
    clock.run(1.5)
    process.orchestrator.control.pause('f', 'ann')
    clock.run(4.0)
    process.orchestrator.control.resume('f', 'ann')
    clock.run()
    record = compare_each_row(process.journal.path, 'f')
    waits = {(bar.path, bar.name): (bar.end or 0.0) - bar.start
             for bar in record.bars() if bar.kind == 'wait'}
    assert waits['b', 'resources'] == pytest.approx(1.1)
    assert waits['c', 'paused'] == pytest.approx(4.0, abs=1.5)
    paused, = (row.seq for row in record.history() if row.event == 'paused')
    assert record.flow(paused).paused_by == 'ann' and not record.flow(paused - 1).paused
    blocked = next(row.seq for row in record.history('c') if row.event == 'blocked')
    assert record.shown('c', blocked).waits_for.startswith('approval_required: the flow is paused')
    assert [bar.end for bar in record.bars(blocked) if bar.path == 'c'] == [None]


def test_breakpoints_and_orders_to_an_action(start: Start, clock: Clock) -> None:
    process = start()
    process.submit(CHAIN)
    process.orchestrator.control.set_breakpoint('f', 'b', 'ann')
    clock.run()
    record = loaded(process.journal.path, 'f')
    assert record.flow().breakpoints == ('b',)
    assert 'breakpoint, set by ann' in record.shown('b').waits_for
    process.orchestrator.control.resume('f', 'ann', action_id='b')
    clock.run()
    record = loaded(process.journal.path, 'f')
    assert not record.flow().breakpoints and record.head.state == 'FINISH'
    assert [row.event for row in record.history('b')][:4] == [
        'breakpoint_set', 'blocked', 'resumed', 'start']


def test_the_breakpoint_of_an_action_that_has_ended_is_gone(start: Start, clock: Clock) -> None:
    process = start()
    process.submit(CHAIN)
    process.orchestrator.control.set_breakpoint('f', 'b', 'ann')
    process.orchestrator.fire('f', 'b', 'cancel', actor='ann', cause='no')
    clock.run(0.1)
    record = loaded(process.journal.path, 'f')
    ended = next(row.seq for row in record.history('b') if row.final and row.action_id)
    assert record.flow(ended - 1).breakpoints == ('b',) and not record.flow(ended).breakpoints


def test_the_text_of_a_flow_before_and_after_an_edit(start: Start, clock: Clock) -> None:
    process = start()
    process.submit(CHAIN)
    result = process.orchestrator.edit('f', parse_edit(
        '- update: {b: {description: softly}}\n- add: {c: {confirm: z > 1, after: b}}'), 'ann', '')
    record = loaded(process.journal.path, 'f')
    assert record.text(seq=result.seq - 1) == CHAIN
    assert 'softly' in record.text() and 'softly' in record.text('b')
    assert 'softly' not in record.text('b', result.seq - 1)
    assert record.text('c') and not record.text('c', result.seq - 1)
    assert record.flow(result.seq - 1).total == 2 and record.flow().total == 3
    assert not record.nodes(0) and list(record.nodes(result.seq - 1)) == ['a', 'b']


def test_a_nested_flow_is_there_before_it_runs_and_each_run_has_its_own_paths(
    start: Start, clock: Clock, robot: Robot, flow_folder: Path
) -> None:
    (flow_folder / 'outer.yaml').write_text(
        'flow: outer\nactions:\n  pick: {flow: inner, repeat: 2, retry: {times: 1}}\n')
    robot.verdicts['lift', 'confirm'] = ['refuted']
    process = start()
    submit(process, flow_folder)
    record = FlowRecord('f')
    seen = []
    changed = set()
    clock.run()
    for row in rows_of(process.journal.path, 'f'):
        paths = record.take(row)
        names = list(record.nodes())
        if names and (not seen or seen[-1] != names):
            seen.append(names)
            assert STRUCTURE in paths
        elif names:
            assert STRUCTURE not in paths
        changed |= paths
    assert seen == [['pick', f'pick{n}/grip', f'pick{n}/lift'] for n in ('', '.2', '.3')]
    assert changed >= {'pick', 'pick/lift', 'pick.2/lift', 'pick.3/lift', FLOW}
    assert record.nodes()['pick.3/lift'].after == {'pick.3/grip': ''}
    assert record.nodes()['pick.3/lift'].group == 'pick' and not record.nodes()['pick'].group
    assert [record.shown(f'pick{n}/lift').outcome for n in ('', '.2', '.3')] == [
        'failed', 'succeeded', 'succeeded']
    assert len(record.attempts('pick')) == 3
    assert {bar.path for bar in record.bars()} >= {'pick/lift', 'pick.2/lift', 'pick.3/lift'}
    assert record.text('pick.2/grip').startswith('grip:')
    assert record.action('pick.2/lift').flow_id == 'f/pick.2'
    compare_each_row(process.journal.path, 'f')


def test_elements_that_are_known_when_the_action_starts(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.facts['parts'] = ['x', 'y']
    process = start()
    process.submit(f'flow: f\nactions:\n  all: {{for_each: {{part: [a, b]}}, {MOTION}}}\n'
                   f'  seen: {{for_each: {{part: '
                   f'"{{{{ results.all.result.results.keys() | list }}}}"}}, {MOTION}, '
                   'after: all}\n')
    record = loaded(process.journal.path, 'f')
    assert list(record.nodes()) == ['all', 'all/a', 'all/b', 'seen']
    assert [node.kind for node in record.nodes().values()] == [
        'for_each', 'motion', 'motion', 'for_each']
    clock.run()
    record = compare_each_row(process.journal.path, 'f')
    assert list(record.nodes()) == ['all', 'all/a', 'all/b', 'seen', 'seen/a', 'seen/b']


def test_rows_of_any_content_do_not_stop_the_record(start: Start, clock: Clock) -> None:
    process = start()
    process.submit(CHAIN)
    clock.run(1.5)
    for kind, event, data in (
            ('transition', 'start', {}), ('transition', 'fail', {}), ('flow', 'edited', {}),
            ('transition', 'levitate', {'outcome': 3}), ('flow', 'edited', {'names': 3}),
            ('flow', 'accepted', {'text': [], 'parts': 'x'}), ('flow', 'text', {}),
            ('note', 'paused', {'action': []}), ('note', 'breakpoint_set', {'actions': 1}),
            ('note', 'blocked', {}), ('note', 'step', {}), ('note', 'question_asked', {}),
            ('note', 'question_answered', {'id': {}}), ('note', 'retried', {'actions': [[]]})):
        process.journal.append(Entry(
            kind, 'f', 'a' if kind == 'transition' or event in (
                'blocked', 'step', 'question_asked', 'question_answered') else '', event=event,
            from_state='somewhere', to_state='elsewhere', data=data, final=kind == 'note'))
    record = loaded(process.journal.path, 'f')
    assert record.fault and {'a', 'b'} <= record.nodes().keys()
    for path in record.nodes():
        record.attempts(path)
        record.history(path)
        record.text(path)
    assert record.bars() and record.flow() and record.head
    assert record.shown('a').state == 'elsewhere'


def test_the_slider_finds_the_row_at_a_time_although_the_clock_was_set_back() -> None:
    record = FlowRecord('f')
    for seq, wall in ((3, 10.0), (5, 30.0), (6, 20.0), (9, 40.0)):
        record.take(Row(seq, 'note', 'f', '', 0, 'told', '', '', '', '', '{}', True, None, '',
                        0.0, wall, '', ''))
    assert [record.at_time(wall) for wall in (9.0, 10.0, 25.0, 30.0, 39.0, 50.0)] == [
        0, 3, 3, 6, 6, 9]
    assert list(record.seqs()) == [(3, 10.0), (5, 30.0), (6, 20.0), (9, 40.0)]
    assert record.take(Row(9, 'note', 'f', '', 0, 'told', '', '', '', '', '{}', True, None, '',
                           0.0, 50.0, '', '')) == set()


def test_the_goal_of_the_last_attempt_has_the_parameters_of_the_fallback(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process = start()
    process.submit(one(', parameters: {force: 5}, fallback: [{strategy: retry, '
                       'parameters: {force: 8}}]').replace(
        'type: a/action/B', 'type: a/action/B, goal: {force: "{{ force }}"}'))
    clock.run()
    record = loaded(process.journal.path, 'f')
    assert record.action('pick').spec.motion[0].goal == {'force': 8}
    first, second = record.attempts('pick')
    assert record.action('pick', first.last_seq - 2).spec.motion[0].goal == {'force': 5}
    assert second.path == 'fallback'
