# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions fail, and the planner replaces them, ends the flow, or is silent."""

from __future__ import annotations

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow.edits.edit_validation import check_edit
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.flow.planning import steering
from action_lifecycle.flow.planning.asker import PlanReply
from action_lifecycle.flow.run.flow_run import FlowRun
from action_lifecycle.lifecycle.states import ErrorCode
import pytest

from .robot import Clock, Killed, MOTION, Process, Robot, Start
from .test_steering import steered

FLOW = (f'flow: f\nsteering: true\nactions:\n  pick: {{{MOTION}}}\n'
        f'  place: {{{MOTION}, after: pick}}\n  tidy: {{{MOTION}, after: place}}\n')
GRASP = f'- add: {{grasp: {{{MOTION}, replaces: pick}}}}\n'


def yes(edit: str) -> PlanReply:
    return PlanReply(True, edit)


def refuse(robot: Robot, *names: str) -> None:
    """Have the sensors refute these actions, once each."""
    for name in names:
        robot.verdicts[name, 'confirm'] = ['refuted']


def events(process: Process) -> list[str]:
    return [row.event for row in process.journal.rows(kind='note')]


def outcomes(run: FlowRun) -> dict[str, str]:
    return {action.action_id: action.outcome.value if action.outcome else ''
            for action in run.actions}


def test_a_replacement_inherits_the_dependents_and_the_flow_finishes(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick')
    process, planner = steered(start, clock, yes(GRASP))
    run = process.submit(FLOW)
    clock.run(2.0)  # it has failed, the planner thinks
    assert planner.asked == [(['pick'], [])]
    assert run.progress('place') == 'waiting' and run.planning.startswith('after pick: asking')
    clock.run()
    assert run.state == 'FINISH' and not run.error_msg and not run.planning
    assert outcomes(run) == {'pick': 'failed', 'grasp': 'succeeded', 'place': 'succeeded',
                             'tidy': 'succeeded'}
    order = [motion.request.action_id for motion in robot.motions]
    assert order == ['pick', 'grasp', 'place', 'tidy']
    assert run.summary['replaced'] == 1 and run.summary['failed'] == 1
    assert run.constellation_state() == 'completed'
    assert run.flow.raws['place']['after'] == {'grasp': 'success'}


def test_without_a_replacement_the_dependents_are_skipped_after_the_answer(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick')
    process, planner = steered(start, clock, yes(''))
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FAIL' and run.error_code is ErrorCode.FLOW_FAILED
    assert outcomes(run) == {'pick': 'failed', 'place': 'skipped', 'tidy': 'skipped'}
    rows = [(row.event, row.action_id) for row in process.journal.rows()
            if row.event.startswith('steering') or row.action_id == 'place']
    assert rows == [('steering_asked', ''), ('steering_answered', ''), ('terminate', 'place')]
    assert len(planner.asked) == 1  # what its answer has caused is no news


def test_rows_of_large_flows_name_some_actions_only(
    start: Start, clock: Clock, robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steering, 'NAMED', 1)
    refuse(robot, 'pick')
    process, planner = steered(start, clock)
    run = process.submit(FLOW)
    clock.run()
    assert outcomes(run)['tidy'] == 'skipped' and len(planner.asked) == 1
    (row,) = [row for row in process.journal.rows() if row.event == 'steering_answered']
    assert row.data['skipped'] == ['place']


def test_a_silent_planner_delays_the_skips_no_longer_than_its_limit(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick')
    process, planner = steered(start, clock)
    planner.delay = 1e6
    process.orchestrator.steering.limit = 20.0
    run = process.submit(FLOW)
    clock.run(21.0)
    assert run.progress('place') == 'waiting'
    clock.run(1.0)
    assert run.state == 'FAIL' and outcomes(run)['tidy'] == 'skipped'
    answered = [row for row in process.journal.rows() if row.event == 'steering_answered']
    assert 'within 20 s' in answered[0].cause


def test_the_limit_holds_for_all_tries_together(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick')
    lost = PlanReply(unreachable='no route')
    process, planner = steered(start, clock, yes('- ['), lost, lost, yes('- ['), lost, lost, lost)
    process.orchestrator.steering.limit = 8.0
    run = process.submit(FLOW)
    clock.run(10.0)
    assert run.ended and run.state == 'FAIL'
    assert events(process) == ['steering_asked', 'steering_refused', 'steering_unreachable',
                               'steering_unreachable', 'steering_refused', 'steering_answered']


def test_an_answer_in_time_is_judged_to_the_end(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick')
    process, planner = steered(start, clock, yes(GRASP))
    process.orchestrator.steering.limit = 2.0
    process.orchestrator.editor.check = lambda flow, done: (
        clock.call_later(5.0, lambda: done(None)) and None)
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FINISH'


def test_a_late_refusal_is_not_asked_again(start: Start, clock: Clock, robot: Robot) -> None:
    refuse(robot, 'pick')
    process, planner = steered(start, clock, yes(GRASP), yes(GRASP))
    process.orchestrator.steering.limit = 2.0
    process.orchestrator.editor.check = lambda flow, done: (
        clock.call_later(5.0, lambda: done(LifecycleError('no server'))) and None)
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FAIL' and len(planner.asked) == 1


def test_replacements_of_replacements(start: Start, clock: Clock, robot: Robot) -> None:
    refuse(robot, 'pick', 'grasp')
    process, planner = steered(start, clock, yes(GRASP), yes(
        f'- add: {{suck: {{{MOTION}, replaces: grasp}}}}'))
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FINISH' and run.summary['replaced'] == 2
    assert [motion.request.action_id for motion in robot.motions] == [
        'pick', 'grasp', 'suck', 'place', 'tidy']
    assert run.stand_in('pick') == 'suck'


def test_an_unreplaced_failure_among_replaced_ones_fails_the_flow(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick', 'tidy')
    process, _ = steered(start, clock, yes(GRASP))
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FAIL' and run.error_code is ErrorCode.FLOW_PARTIALLY_FAILED
    assert run.error_msg.startswith('tidy: ') and 'pick' not in run.error_msg


def test_a_canceled_action_that_was_replaced_makes_no_canceled_flow(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'tidy')
    process, planner = steered(start, clock, yes(GRASP))
    run = process.submit(FLOW)
    clock.run(0.5)
    process.orchestrator.fire('f', 'pick', 'cancel', actor='ann', cause='it slips')
    robot.motions[0].end('canceled')
    clock.run()
    assert planner.asked[0] == (['pick'], [])
    assert outcomes(run) == {'pick': 'canceled', 'grasp': 'succeeded', 'place': 'succeeded',
                             'tidy': 'failed'}
    assert run.error_code is ErrorCode.FLOW_PARTIALLY_FAILED
    assert run.constellation_state() == 'partially_failed'


def test_a_retry_by_a_person_is_reported_when_it_ends_again(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted', 'refuted']
    robot.by_hand.add('motion')
    process, planner = steered(start, clock, yes(''), yes(GRASP))
    run = process.submit(f'{FLOW}  long: {{{MOTION}}}\n')
    clock.run(0.1)
    robot.motions[0].end()
    clock.run(5.0)
    assert outcomes(run)['place'] == 'skipped'
    process.orchestrator.control.retry('f', 'pick', 'ann')
    clock.run(0.1)
    robot.by_hand.clear()
    for motion in robot.motions[1:]:
        motion.end()
    clock.run()
    first, *later = [sorted(names) for names, _ in planner.asked]
    assert first == ['pick'] and {'long', 'pick'} <= {name for names in later for name in names}
    assert run.state == 'FINISH' and run.stand_in('pick') == 'grasp'


@pytest.mark.parametrize('when', [1.2, 1.6, 2.15, 2.3, 3.5])
def test_killed_at_any_moment_the_replacement_still_stands(
    start: Start, clock: Clock, robot: Robot, when: float
) -> None:
    refuse(robot, 'pick')
    process, planner = steered(start, clock, yes(GRASP))
    process.submit(FLOW)
    clock.run(when)
    edited = bool(process.orchestrator.runs['f'].edits)
    answered = 'steering_answered' in events(process)
    process.kill()
    process, planner = steered(start, clock, yes('' if edited else GRASP))
    (run,) = process.orchestrator.restore()
    for motion in robot.motions:
        if motion.request.resume:
            clock.call_later(1.0, motion.end)
    clock.run()
    assert run.state == 'FINISH' and run.summary['replaced'] == 1
    assert robot.executed('grasp') == robot.executed('place') == 1
    assert (planner.asked[:1] == [(['pick'], [])]) != answered


@pytest.mark.parametrize('rows', range(1, 8))
def test_killed_after_any_row_of_the_answer_nothing_is_done_twice(
    start: Start, clock: Clock, robot: Robot, rows: int
) -> None:
    refuse(robot, 'pick')
    process, _ = steered(start, clock, yes(GRASP))
    process.submit(FLOW)
    clock.run(2.0)  # just before it answers
    process.die_after(rows)
    with pytest.raises(Killed):
        clock.run()
    process.kill()
    process, planner = steered(start, clock, yes('- add: {}'))
    (run,) = process.orchestrator.restore()
    assert run.replaced == {'pick': 'grasp'}
    for motion in robot.motions:
        if motion.request.resume:
            clock.call_later(1.0, motion.end)
    clock.run()
    assert run.state == 'FINISH'
    assert max(robot.executed(name) for name in ('grasp', 'place', 'tidy')) == 1
    assert (planner.asked[0][0] == ['pick']) == (rows == 1)


RESULTS = f"""
flow: f
steering: true
actions:
  pick: {{{MOTION}}}
  place:
    after: pick
    parameters: {{tries: '{{{{ results.pick.attempts }}}}', how: '{{{{ results.pick.outcome }}}}'}}
    {MOTION.replace(', confirm', chr(10) + '    confirm')}
  tidy:
    after: {{place: {{condition: "'{{{{ results.pick.outcome }}}}' == 'succeeded'"}}}}
    {MOTION.replace(', confirm', chr(10) + '    confirm')}
"""


def test_templates_read_the_result_of_the_replacement(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['grasp', 'confirm'] = ['refuted', 'confirmed']
    refuse(robot, 'pick')
    process, _ = steered(start, clock, yes(
        f'- add: {{grasp: {{{MOTION}, replaces: pick, retry: {{times: 1}}}}}}'))
    run = process.submit(RESULTS)
    clock.run()
    assert run.state == 'FINISH'
    spec = run.runners['place'].action.spec
    assert spec.parameters['tries'] == 2 and spec.parameters['how'] == 'succeeded'
    asked = [item.request.conditions[0].expression for item in robot.questions
             if item.request.name == 'after']
    assert asked == ["'succeeded' == 'succeeded'"]


def test_later_edits_that_name_the_replaced_action_mean_its_replacement(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick')
    process, _ = steered(start, clock, yes(
        GRASP + f'- add: {{look: {{{MOTION}, after: pick}}}}\n'
        '- update: {place: {priority: 3}}\n- depend: {tidy: {pick: completion}}\n'))
    run = process.submit(FLOW)
    clock.run()
    assert run.state == 'FINISH'
    assert set(run.dependencies.dag.after['look']) == {'grasp'}
    assert run.dependencies.dag.after['tidy'] == {'place': 'success', 'grasp': 'completion'}


@pytest.mark.parametrize(('edit', 'fault'), [
    ('- add: {n: {M, replaces: pikc}}', "the flow has no action 'pikc'; did you mean 'pick'?"),
    ('- add: {n: {M, replaces: place}}', 'it has not started; change or remove it'),
    ('- add: {n: {M, replaces: n}}', "the flow has no action 'n'"),
    ('- add: {n: {M, replaces: other}}', 'it is at work; cancel it first'),
    ('- add: {n: {M, replaces: first}}', 'it has succeeded'),
    ('- add: {n: {M, replaces: pick}, m: {M, replaces: pick}}', "'n' replaces it already"),
    ('- add: {n: {M, replaces: pick, after: pick}}',
     "action 'n' can not wait for 'pick', which it replaces"),
    ('- add: {n: {M, replaces: pick, after: tidy}}', 'actions wait for one another'),
    ('- add: {n: {M, replaces: pick}}\n- remove: [n]\n- remove: [place]', "'tidy' waits for"),
    ('- finish: done\n- add: {n: {M}}', "'finish' must be the last step"),
    ('- fail: ""', "'fail' takes a reason"), ('- finish: 3', "'finish' takes a reason"),
    (f'- fail: {"x" * 1001}', "'fail' takes a reason")])
def test_what_is_wrong_with_a_replacement_or_an_end_is_said(
    start: Start, clock: Clock, robot: Robot, edit: str, fault: str
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    robot.by_hand.add('motion')
    process, _ = steered(start, clock, PlanReply(True, ''))
    run = process.submit(f'{FLOW}  first: {{{MOTION}}}\n  other: {{{MOTION}}}\n')
    clock.run(0.1)
    for motion in robot.motions[:2]:
        motion.end()
    clock.run(0.5)
    before = run.flow.text_now(), process.journal.last_seq()
    with pytest.raises(LifecycleError) as caught:
        process.orchestrator.edit('f', parse_edit(edit.replace('M', MOTION)), 'ann', 'why')
    assert fault in str(caught.value)
    assert before == (run.flow.text_now(), process.journal.last_seq())


def test_an_edit_that_replaces_is_checked_without_a_running_flow(start: Start) -> None:
    flow = start().parse(FLOW)
    staged = check_edit(flow, parse_edit(GRASP))
    assert set(staged.after['place'] or ()) == {'grasp'}
    for edit, fault in (
            (GRASP.replace('pick', 'pikc'), "no action 'pikc'"),
            ('- update: {pick: {replaces: place}, place: {replaces: pick}}',
             'the edit changes it, too')):
        with pytest.raises(LifecycleError, match=fault):
            check_edit(flow, parse_edit(edit))


def test_a_flow_file_replaces_nothing(start: Start) -> None:
    with pytest.raises(LifecycleError, match='only an edit of a running flow can replace'):
        start().parse(FLOW.replace('after: place', 'after: place, replaces: pick'))


def test_a_person_replaces_in_a_flow_that_nobody_steers(
    start: Start, clock: Clock, robot: Robot
) -> None:
    refuse(robot, 'pick')
    process = start()
    robot.by_hand.add('motion')
    run = process.submit(f'{FLOW}  other: {{{MOTION}}}\n'.replace('steering: true\n', ''))
    clock.run(0.1)
    robot.motions[0].end()
    clock.run(1.0)
    assert outcomes(run)['place'] == outcomes(run)['tidy'] == 'skipped'
    robot.by_hand.clear()
    process.orchestrator.edit('f', parse_edit(
        f'- add:\n    n1: {{{MOTION}, replaces: pick}}\n'
        f'    n2: {{{MOTION}, replaces: place, after: n1}}\n'
        f'    n3: {{{MOTION}, replaces: tidy, after: n2}}\n'), 'ann', 'by hand')
    robot.motions[1].end()
    clock.run()
    assert run.state == 'FINISH' and run.summary['replaced'] == 3
