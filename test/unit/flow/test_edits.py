# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Edits of running flows: the whole edit or nothing, and what is done stays done."""

from __future__ import annotations

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow.files.edit import EditRefused, EditResult, parse_edit
from action_lifecycle.flow.run.flow_run import FlowRun
from action_lifecycle.journal import JournalError
import pytest

from .kills import restart
from .robot import Clock, MOTION, Process, Robot, Start


def flow(*actions: str) -> str:
    return 'flow: f\nmax_motions: 9\nactions:\n' + ''.join(
        f'  {name}: {{{MOTION}{extra}}}\n'
        for name, _, extra in (action.partition(';') for action in actions))


def edit(process: Process, text: str, base_seq: int = 0) -> EditResult:
    return process.orchestrator.edit('f', parse_edit(text), 'ann', 'better so', base_seq)


def refused(process: Process, text: str, base_seq: int = 0) -> str:
    run = process.orchestrator.runs['f']
    before = (run.flow.text_now(), dict(run.dependencies.dag.after), process.journal.last_seq())
    with pytest.raises(EditRefused) as caught:
        edit(process, text, base_seq)
    assert before == (run.flow.text_now(), dict(run.dependencies.dag.after),
                      process.journal.last_seq())
    return str(caught.value)


def outcomes(run: FlowRun) -> dict[str, str]:
    return {action.action_id: action.outcome.value if action.outcome else ''
            for action in run.actions}


def test_what_finishes_while_an_edit_adds_is_done_and_the_added_is_ready(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(flow('a', 'b', 'last;, after: [a, b]'))
    clock.run(1.0)
    robot.motions[0].end()
    clock.run(1.0)
    seen = process.journal.last_seq()
    robot.motions[1].end()
    clock.run(0.05)
    result = edit(process, f'- add: {{c: {{{MOTION}, after: a}}}}', seen)
    row = next(process.journal.rows(after=result.seq - 1))
    assert row.event == 'edited' and next(process.journal.rows(after=row.seq)).action_id == 'c'
    clock.run(1.0)
    assert outcomes(run)['b'] == 'succeeded'
    assert run.progress('c') == 'at_work'
    for motion in robot.motions[2:]:
        motion.end()
    clock.run()
    assert run.state == 'FINISH' and run.summary['total'] == 4 and run.summary['edits'] == 1


def test_every_kind_of_edit(start: Start, clock: Clock, robot: Robot) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(flow('a', 'b;, after: a', 'c;, after: b', 'd;, after: a'))
    clock.run(1.0)
    edit(process, '- remove: d\n- update: {b: {priority: 7}}\n- independ: {c: b}\n'
                  '- depend: {c: {a: completion}}\n'
                  f'- add: {{e: {{{MOTION}, after: [b, c]}}, g: {{{MOTION}}}}}\n')
    assert sorted(run.flow.actions) == ['a', 'b', 'c', 'e', 'g']
    assert run.flow.actions['b'].priority == 7
    assert dict(run.dependencies.dag.after['c']) == {'a': 'completion'}
    clock.run(1.0)
    assert [motion.request.action_id for motion in robot.motions] == ['a', 'g']
    robot.by_hand.clear()
    for motion in list(robot.motions):
        motion.end()
    clock.run()
    assert outcomes(run) == dict.fromkeys('abceg', 'succeeded')


def test_clear_ends_the_flow_with_what_is_at_work(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(flow('a', 'b;, after: a', 'c;, after: b'))
    clock.run(0.5)
    edit(process, '- clear: true')
    clock.run()
    assert outcomes(run) == {'a': 'succeeded'} and run.state == 'FINISH'


def test_build_says_anew_what_is_still_to_run_and_starts_again(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(flow('a', 'b;, after: a', 'c;, after: b'))
    clock.run(0.5)
    result = edit(process, f'- build:\n    a: {{{MOTION}}}\n    c: {{{MOTION}, after: a}}\n'
                           f'    n: {{{MOTION}, after: c}}\n')
    assert result.left_out == ('build a',)
    clock.run()
    assert outcomes(run) == {'a': 'succeeded', 'c': 'succeeded', 'n': 'succeeded'}
    assert [entry['state'] for entry in run.history] == [
        'START', 'CONTINUE', 'START', 'CONTINUE', 'FINISH']
    assert robot.executed('a') == 1


@pytest.mark.parametrize('crash', [False, True])
def test_a_flow_that_could_not_be_recorded_as_started_anew_goes_on_all_the_same(
    start: Start, clock: Clock, robot: Robot, crash: bool
) -> None:
    process = start()
    run = process.submit(flow('a', 'b;, after: a'))
    clock.run(0.5)
    with process.full_disk(lambda entry: entry.kind == 'flow' and entry.from_state == 'START'):
        edit(process, f'- build: {{c: {{{MOTION}, after: a}}}}')
        assert run.state == 'START'
        if not crash:
            clock.run(5.0)
    if crash:
        process, (run,) = restart(start, process)
        robot.motions[-1].end()
    clock.run()
    assert outcomes(run) == {'a': 'succeeded', 'c': 'succeeded'}
    assert [entry['state'] for entry in run.history] == [
        'START', 'CONTINUE', 'START', 'CONTINUE', 'FINISH']


@pytest.mark.parametrize(('text', 'message'), [
    ('- ad: {x: {}}', "edit:1:3: unknown edit 'ad'; did you mean 'add'?"),
    ('- remove: {a: 1}', "'remove' takes a name or a list of names"),
    ('{}', 'expected a list of edits'),
    ('- add: 3', "'add' takes a mapping"),
])
def test_text_that_is_no_edit_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_edit(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(('text', 'message'), [
    (f'- add: {{b: {{{MOTION}}}}}', "edit:1:9: the flow has an action 'b' already"),
    ('- remove: [bb]', "edit:1:12: the flow has no action 'bb'; did you mean 'b'?"),
    ('- remove: b', "action 'c' waits for 'b', which the edit removes"),
    ('- remove: a', "action 'a' is at work: it can not be removed; cancel it first"),
    ('- update: {a: {priority: 1}}', "action 'a' is at work: it can not be changed"),
    ('- update:\n    b: {priorty: 1}', "edit:2:9: unknown field 'priorty'; did you mean"),
    ('- depend: {b: c}', 'actions wait for one another: '),
    ('- depend: {b: {a: sucess}}', "'sucess' is no kind of dependency; did you mean 'success'?"),
    ('- depend: {b: {z: success}}', "action 'b' waits for 'z', which the flow does not have"),
    ('- independ: {b: c}', "action 'b' does not wait for 'c'"),
    ('- add: {x: {motion: {server: arm, type: a/action/B}}}', "action 'x' has no 'confirm'"),
    (f"- add: {{x: {{{MOTION}, description: '{{{{ nme }}}}'}}}}", "'nme' is undefined"),
    (f'- add: {{ok: {{{MOTION}}}}}\n- remove: nobody', "the flow has no action 'nobody'"),
])
def test_a_faulty_edit_is_refused_as_a_whole(
    start: Start, clock: Clock, robot: Robot, text: str, message: str
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(flow('a', 'b;, after: a', 'c;, after: b'))
    clock.run(1.0)
    assert message in refused(process, text)


def test_what_is_done_stays_and_what_overtook_the_author_is_left_out(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(flow('a', 'b;, after: a', 'c;, after: b'))
    clock.run(1.5)
    assert "action 'a' has ended: it can not be changed or removed" in refused(
        process, '- update: {a: {priority: 1}}')
    result = edit(process, '- update: {a: {priority: 1}}\n- update: {c: {priority: 2}}', 2)
    assert result.left_out == ('update a',)
    assert run.flow.actions['c'].priority == 2 and run.flow.actions['a'].priority == 0


def test_two_authors_do_not_overwrite_one_another(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(flow('a', 'b;, after: a', 'c;, after: a'))
    clock.run(1.0)
    seen = process.journal.last_seq()
    edit(process, '- update: {b: {priority: 1}}', seen)
    assert "action 'b' was changed by ann in row" in refused(
        process, '- update: {b: {priority: 2}}', seen)
    edit(process, '- update: {c: {priority: 2}}', seen)


def test_author_and_reason_are_journaled_before_the_edit_has_an_effect(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(flow('a', 'b;, after: a'))
    with process.full_disk(), pytest.raises(JournalError):
        edit(process, f'- add: {{c: {{{MOTION}}}}}')
    assert sorted(run.flow.actions) == ['a', 'b']
    edit(process, f'- add: {{c: {{{MOTION}}}}}')
    row = next(row for row in process.journal.rows(flow_id='f') if row.event == 'edited')
    assert (row.actor, row.cause) == ('ann', 'better so')
    assert row.data['names'] == ['c']
    clock.run()
    assert run.state == 'FINISH'


@pytest.mark.parametrize('seconds', [0.0, 0.5, 1.05, 1.2, 2.6])
def test_edits_survive_a_crash(
    start: Start, clock: Clock, robot: Robot, seconds: float
) -> None:
    process = start()
    process.submit(flow('a;, idempotent: true', 'b;, after: a', 'c;, after: b'))
    clock.run(0.5)
    edit(process, f'- remove: c\n- add: {{d: {{{MOTION}, after: b, parameters: {{n: 3}}}}}}\n'
                  '- update: {b: {description: changed}}\n')
    edit(process, f'- build:\n    b: {{{MOTION}, after: a}}\n    e: {{{MOTION}, after: b}}')
    clock.run(seconds)
    process, (run,) = restart(start, process)
    assert sorted(run.flow.actions) == ['a', 'b', 'e']
    for motion in robot.motions:
        if motion.request.resume:
            clock.call_later(1.0, motion.end)
    clock.run()
    assert outcomes(run) == dict.fromkeys('abe', 'succeeded')
    assert [robot.executed(name) for name in 'abcde'] == [1, 1, 0, 0, 1]
    assert len(run.edits) == 2


def test_action_added_and_removed_by_one_edit_is_not_there_after_a_restart(
    start: Start, clock: Clock
) -> None:
    process = start()
    process.submit(flow('a'))
    clock.run(0.5)
    edit(process, f'- add:\n    b: {{{MOTION}, after: a}}\n    c: {{{MOTION}, after: a}}\n'
                  '- remove: b')
    process.kill()
    (run,) = start().orchestrator.restore()
    assert sorted(run.flow.actions) == ['a', 'c']


def test_what_was_skipped_may_lose_an_action_it_waited_for_and_be_read_back(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts[('a', 'confirm')] = ['refuted']
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(flow('a', 'b', 'c;, after: b', 'd;, after: [a, c]'))
    clock.run(1.0)
    robot.motions[0].end()
    clock.run(5.0)
    assert outcomes(run)['d'] == 'skipped' and run.progress('c') == 'waiting'
    edit(process, '- remove: c')
    process.kill()
    (again,) = start().orchestrator.restore()
    robot.motions[-1].end()
    clock.run()
    assert again.ended and outcomes(again) == {'a': 'failed', 'b': 'succeeded', 'd': 'skipped'}


def test_what_waits_for_something_skipped_in_vain_is_skipped_when_added(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['a', 'confirm'] = ['refuted']
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(flow('a', 'b', 'last;, after: b'))
    clock.run(1.0)
    robot.motions[0].end()
    clock.run(1.0)
    edit(process, f'- add:\n    c: {{{MOTION}, after: a}}\n'
                  f'    d: {{{MOTION}, after: {{a: completion}}}}\n')
    robot.by_hand.clear()
    robot.motions[1].end()
    clock.run(1.0)
    robot.motions[-1].end()
    clock.run()
    assert outcomes(run) == {'a': 'failed', 'b': 'succeeded', 'last': 'succeeded',
                             'c': 'skipped', 'd': 'succeeded'}


@pytest.mark.parametrize('text', ['- clear: true', f'- build: {{d: {{{MOTION}}}}}',
                                  f'- build: {{b: {{{MOTION}}}, c: {{{MOTION}}}}}'])
def test_nothing_is_cleared_or_built_anew_that_others_changed_since(
    start: Start, clock: Clock, text: str
) -> None:
    process = start()
    run = process.submit(flow('a', 'b;, after: a'))
    clock.run(0.5)
    seen = process.journal.last_seq()
    edit(process, f'- add: {{c: {{{MOTION}, after: a}}}}')
    assert "action 'c' was changed by ann" in refused(process, text, seen)
    assert sorted(run.flow.actions) == ['a', 'b', 'c']
    edit(process, text, process.journal.last_seq())


def test_an_ended_flow_takes_no_edit(start: Start, clock: Clock, robot: Robot) -> None:
    process = start()
    process.submit(flow('a'))
    clock.run()
    assert 'no running flow' in refused(process, f'- add: {{b: {{{MOTION}}}}}')
