# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What runs when: conditions between actions, late templates, deadlines, turns, metrics."""

from __future__ import annotations

import time
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow.files.loader import CyclicFlow, parse_flow
from action_lifecycle.flow.run.flow_run import FlowRun, SHOWN
from action_lifecycle.flow.run.metrics import metrics_table
from action_lifecycle.flow.scheduling.scheduler import AGING
from action_lifecycle.lifecycle.states import ErrorCode
import pytest

from .kills import restart
from .robot import Clock, MOTION, Robot, Start


def flow(*actions: str, head: str = '') -> str:
    return f'flow: f\nmax_motions: 9\n{head}actions:\n' + ''.join(
        f'  {name}: {{{MOTION}{extra}}}\n'
        for name, _, extra in (action.partition(';') for action in actions))


def outcomes(run: FlowRun) -> dict[str, str]:
    return {action.action_id: action.outcome.value if action.outcome else ''
            for action in run.actions}


# Conditions between actions

WHEN = "after: {a: {condition: 'z > 1 and attempts == 1'}}"


@pytest.mark.parametrize(('verdict', 'outcome', 'state'), [
    ('confirmed', 'succeeded', 'FINISH'), ('refuted', 'skipped', 'FAIL')])
def test_a_condition_is_judged_when_what_it_waits_for_has_ended(
    start: Start, clock: Clock, robot: Robot, verdict: str, outcome: str, state: str
) -> None:
    robot.verdicts['b', 'after'] = [verdict]
    run = start().submit(flow('a', f'b;, {WHEN}'))
    clock.run(1.0)
    assert not [question for question in robot.questions if question.request.name == 'after']
    clock.run()
    (question,) = [one for one in robot.questions if one.request.name == 'after']
    assert question.request.parameters == {
        'outcome': 'succeeded', 'attempts': 1, 'error_code': 'NONE',
        'duration': pytest.approx(1.1)}
    assert outcomes(run) == {'a': 'succeeded', 'b': outcome} and run.state == state


def test_what_can_not_be_told_is_waited_for_and_then_fails(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['b', 'after'] = ['stale'] * 3
    process = start()
    run = process.submit(flow('a', f'b;, {WHEN}', 'c;, after: b'))
    clock.run()
    assert outcomes(run) == dict.fromkeys('abc', 'succeeded')
    robot.verdicts['b', 'after'] = ['stale'] * 10_000
    run = process.submit(flow(
        'a', 'b;, retry: {times: 5}, after: {a: {condition: z > 1, within: 20}}',
        'c;, after: b'), 'g')
    clock.run(19.0)
    assert outcomes(run)['b'] == ''
    clock.run()
    assert outcomes(run) == {'a': 'succeeded', 'b': 'failed', 'c': 'skipped'}
    action = run.runners['b'].action
    assert action.error_code is ErrorCode.REQUIRE_UNKNOWN and action.attempt == 0
    assert robot.executed('b') == 1


def test_unknown_may_be_declared_to_fail_at_once(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['b', 'after'] = ['stale']
    run = start().submit(flow('a', 'b;, after: {a: {condition: z > 1, unknown: fail}}'))
    clock.run()
    assert outcomes(run) == {'a': 'succeeded', 'b': 'failed'}


def test_a_condition_is_judged_again_after_a_crash(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('after')
    process = start()
    process.submit(flow('a', f'b;, {WHEN}'))
    clock.run(2.0)
    process, (run,) = restart(start, process)
    robot.questions[-1].answer('confirmed')
    clock.run()
    assert run.state == 'FINISH' and robot.executed('b') == 1


def test_canceled_while_a_condition_is_judged_nothing_starts(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('after')
    process = start()
    run = process.submit(flow('a', f'b;, {WHEN}'))
    clock.run(2.0)
    process.orchestrator.cancel('f', 'ann', 'enough')
    robot.questions[-1].answer('confirmed')
    clock.run()
    assert outcomes(run) == {'a': 'succeeded', 'b': 'canceled'}
    assert robot.executed('b') == 0


# Late templates

LATE = (f'flow: f\nactions:\n  a: {{{MOTION}}}\n  b:\n    after: a\n'
        "    parameters: {width: '{{ results.a.facts.z * 2 }}', now: '{{ facts.z }}'}\n"
        "    motion: {server: arm, type: a/action/B, goal: {x: '{{ width + 1 }}', "
        "s: 'a took {{ results.a.attempts }}'}}\n    confirm: z > width\n")


def test_templates_read_results_and_facts_when_the_action_starts(
    start: Start, clock: Clock, robot: Robot
) -> None:
    run = start().submit(LATE)
    clock.run()
    assert run.state == 'FINISH'
    assert robot.motions[1].request.steps[0].goal == {'x': 2.0, 's': 'a took 1'}
    assert robot.motions[1].request.parameters == {'width': 1.0, 'now': 0.5}


def test_what_was_read_is_the_same_after_a_crash(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    process.submit(LATE)
    clock.run(1.5)
    robot.by_hand |= {'motion', 'facts'}
    clock.run(0.5)
    process, (run,) = restart(start, process)
    assert robot.motions[-1].request.resume
    assert robot.motions[-1].request.steps[0].goal == {'x': 2.0, 's': 'a took 1'}
    robot.motions[-1].end()
    clock.run()
    assert run.state == 'FINISH'


def test_a_fact_that_can_not_be_told_is_an_error_before_anything_moves(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('facts')
    run = start().submit(LATE)
    clock.run(2.0)
    robot.questions[-1].result(type(robot).unknown())  # type: ignore[attr-defined]
    clock.run()
    assert run.runners['b'].action.error_code is ErrorCode.REQUIRE_UNKNOWN
    assert robot.executed('b') == 0


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('results.a.facts', 'results.c.facts', "reads the result of 'c', which does not come before"),
    ('results.a.attempts', 'results.a.atempts', "no 'atempts'; did you mean 'attempts'?"),
    ('width + 1', 'widht + 1', "f.yaml:7:52: action 'b': template '{{ widht + 1 }}': 'widht' is "
     "undefined; did you mean 'width'?"),
    ('after: a', "timeout: '{{ facts.z }}'", "'facts' is only known when the action starts"),
    ('after: a', 'after: {a: sucess}', "no kind of dependency; did you mean 'success'?"),
    ('after: a', 'after: {a: {condition: z >}}', "after 'a' if 'z >'"),
    ('after: a', 'after: b', 'actions wait for one another: b → b'),
    ('facts.z }}', 'facts }}', 'must say which fact'),
    ('facts.z }}', 'facts[action] }}', 'must say which fact'),
    ('results.a.attempts', 'results', "reads the result of '', which does not come before"),
    ('width: ', 'results: 1, width: ', "'results' is not an identifier, or has a meaning"),
    ('after: a', "after: {a: {condition: '{{ facts.z }} > 1'}}", 'reads facts by their names'),
    ('    confirm: z > width', '    fallback: [{motion: {server: s, type: a/action/B, goal: '
     "{x: '{{ facts.z }}'}}}]\n    confirm: z > 0", ''),
])
def test_faults_are_told_before_anything_is_dispatched(old: str, new: str, message: str) -> None:
    if not message:
        parse_flow(LATE.replace(old, new), 'f.yaml')
        return
    with pytest.raises(DocumentError) as caught:
        parse_flow(LATE.replace(old, new), 'f.yaml')
    assert message in str(caught.value)
    assert isinstance(caught.value, CyclicFlow) == ('wait for one another' in message)


@pytest.mark.parametrize('template', [
    "{{ 'x'|center(50000000) }}", "{{ '%0*d'|format(50000000, 1) }}", '{{ range(99999999)|list }}',
    "{{ 'x' * 50000000 }}", '{{ [1] * 50000000 }}', '{{ 9 ** 99 }}', "{{ '%99999999d' % 1 }}",
    "{{ ''.join([]) }}", "{{ ''.__class__ }}", '{% for a in x %}{% endfor %}',
])
def test_templates_that_would_grow_are_refused_in_no_time(template: str) -> None:
    began = time.process_time()
    with pytest.raises(DocumentError):
        parse_flow(LATE.replace("'a took {{ results.a.attempts }}'", repr(template)), 'f.yaml')
    assert time.process_time() - began < 0.5


# Deadlines

def test_what_has_not_ended_by_its_deadline_fails_and_the_rest_goes_on(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    run = process.submit(flow(
        'a;, deadline: 5, retry: {times: 3}', 'b;, resources: [x]',
        'c;, resources: [x], deadline: 6', 'd;, after: {c: completion}'))
    clock.run(5.0)
    assert robot.motions[0].canceled
    robot.motions[0].end('canceled')
    clock.run(2.0)
    assert outcomes(run) == {'a': 'failed', 'b': '', 'c': 'failed', 'd': ''}
    assert {run.runners[name].action.error_code for name in 'ac'} == {ErrorCode.DEADLINE_EXCEEDED}
    for motion in robot.motions[1:]:
        motion.end()
    clock.run()
    assert outcomes(run) == {'a': 'failed', 'b': 'succeeded', 'c': 'failed', 'd': 'succeeded'}
    assert robot.executed('a') == 1 and robot.executed('c') == 0


def test_the_deadline_of_a_flow_counts_from_its_start_across_a_restart(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    process = start()
    process.submit(flow('a', 'b;, after: a', head='deadline: 100\n'))
    clock.run(60.0)
    process, (run,) = restart(start, process)
    clock.run(39.0)
    assert not robot.motions[-1].canceled
    clock.run(2.0)
    assert robot.motions[-1].canceled
    robot.motions[-1].end('canceled')
    clock.run()
    assert outcomes(run)['a'] == 'failed' and run.state == 'FAIL'


# Turns

def test_flows_of_higher_priority_go_first_and_none_waits_for_ever(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    one = flow('a;, resources: [arm]').replace('flow: f', 'flow: f')
    process.submit(one, 'first')
    process.submit(one, 'low')
    process.submit(one, 'high', priority=5)
    clock.run(3.5)
    assert [motion.request.flow_id for motion in robot.motions] == ['first', 'high', 'low']
    robot.motions.clear()
    process.submit(one, 'running')
    process.submit(one, 'old')
    for number in range(round(2.5 * AGING / 600.0)):
        robot.by_hand.add('motion')
        clock.run(600.0)
        process.submit(one, f'young{number}', priority=1)
        robot.by_hand.clear()
        robot.motions[-1].end() if not process.orchestrator.runs[
            robot.motions[-1].request.flow_id].ended else None
    assert 'old' in [motion.request.flow_id for motion in robot.motions]


def test_what_needs_two_resources_is_not_starved_by_those_that_need_one(
    start: Start, clock: Clock, robot: Robot
) -> None:
    process = start()
    run = process.submit(flow(
        *(f'x{i};, resources: [x]' for i in range(3)), *(f'y{i};, resources: [y]'
                                                         for i in range(3)),
        'both;, resources: [x, y], priority: 1').replace('max_motions: 9', 'max_motions: 2'))
    clock.run()
    order = [motion.request.action_id for motion in robot.motions]
    assert order.index('both') == 0 and run.state == 'FINISH'


def test_a_claim_that_comes_later_but_ranks_higher_goes_first(
    start: Start, clock: Clock, robot: Robot
) -> None:
    run = start().submit(flow(
        'a;, resources: [x]', 'b;, resources: [x]', 'c;, resources: [x, y], priority: 3, after: d',
        'd;, resources: [y]', 'e;, resources: [y]'))
    clock.run()
    order = [motion.request.action_id for motion in robot.motions]
    assert order.index('c') < order.index('b') and order.index('c') < order.index('e')
    assert run.state == 'FINISH'


# Metrics

def test_diamond_of_four_has_path_three_parallelism_and_width(
    start: Start, clock: Clock, robot: Robot
) -> None:
    run = start().submit(flow('a', 'b;, after: a', 'c;, after: a', 'd;, after: [b, c]'))
    clock.run()
    metrics = run.summary['metrics']
    assert (metrics['longest_path'], metrics['parallelism'], metrics['width']) == (3, 1.33, 2)
    assert metrics['work'] == 4 and metrics['attempts'] == 4 and metrics['retries'] == 0
    assert metrics['longest_path_s'] == pytest.approx(3.3)
    assert metrics['work_s'] == pytest.approx(4.4)
    assert metrics['parallelism_s'] == 1.33
    assert metrics['states']['executing_motion'] == pytest.approx(4.0)


def test_metrics_count_waits_retries_and_fallbacks_also_across_a_crash(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['b', 'confirm'] = ['refuted', 'refuted', 'confirmed']
    process = start()
    process.submit(flow('a;, resources: [x]', 'b;, resources: [x], fallback: [retry], '
                        'retry: {times: 1, jitter: 0}'))
    clock.run(1.5)
    process, (run,) = restart(start, process)
    robot.motions[-1].end()
    clock.run()
    metrics = run.summary['metrics']
    assert run.state == 'FINISH'
    assert (metrics['attempts'], metrics['retries'], metrics['fallbacks']) == (4, 1, 1)
    assert metrics['waited_s'] == pytest.approx(1.1) and metrics['longest_wait'] == 'b'
    table = metrics_table(metrics)
    assert '1.1 s, longest 1.1 s (b)' in table
    assert '4; retries: 1, fallbacks: 1' in table


# Size

def test_a_flow_with_many_long_errors_still_ends(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    run = start().submit(flow(*(f'a{i}' for i in range(90))).replace('s: 9', 's: 99'))
    clock.run(1.0)
    for motion in robot.motions:
        motion.end('failed', error_msg='x' * 10_000)
    clock.run()
    assert run.state == 'FAIL' and 'and 70 more' in run.error_msg


def test_of_many_actions_those_that_can_not_begin_are_counted_and_not_made(
    start: Start, clock: Clock, robot: Robot
) -> None:
    count = 2_000
    robot.by_hand.add('motion')
    process = start()
    text = 'flow: big\nmax_motions: 8\ndefaults: {confirm: z > 0}\nactions:\n' + ''.join(
        f'  a{i}: {{motion: {{server: s, type: a/action/B}}, '
        f'after: [{f"a{i - 8}" if i > 7 else ""}]}}\n' for i in range(count))
    run = process.orchestrator.submit(process.parse(text), 'f')
    assert len(run.runners.made()) == 8 and len(run.shown()) == 8 < SHOWN
    counts: Any = run.counts()
    assert counts['running'] == 8
    clock.run(0.1)
    process.orchestrator.cancel('f', 'ann', 'enough')
    for motion in robot.motions:
        motion.end('canceled')
    clock.run()
    assert run.counts()['canceled'] == count and run.ended
