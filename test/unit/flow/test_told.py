# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""An answer of a planner may use only what the request told it of."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow.files.loader import load_flow, parse_flow
from action_lifecycle.flow.planning.asker import PlanReply
from action_lifecycle.flow.planning.told import check_flow, Told
import pytest

from .robot import Clock, Robot, Start
from .test_planning import GOOD, Life, Service
from .test_steering import FLOW as STEERED
from .test_steering import steered

ALL = Told(
    things=['arm a/action/B resources: arm', 'light a/srv/C', 'cmd a/msg/D', 'horn tool',
            'checks:look job', 'judge a/srv/V', 'seen checker'], facts=['z', 'parts'])
PERMITTED = Told(things=[
    *(ALL.things or []), 'confirm_unseen:allow:z permission', 'foreign_goals:allow:arm permission',
    'leg a/action/B'], facts=ALL.facts)
MOVE = 'motion: {server: arm, type: a/action/B}, confirm: z > 0'


def faults(action: str, told: Told = ALL, *, more: str = '') -> str:
    """Return the faults of a flow with this action; '' if there are none."""
    flow = parse_flow(f'flow: f\n{more}actions:\n  a: {{{action}}}\n', 'f.yaml')
    try:
        check_flow(flow, told)
    except DocumentError as error:
        return str(error)
    return ''


@pytest.mark.parametrize('action', [
    f'{MOVE}, confirm_unseen: allow', f'{MOVE} and z < limit, confirm_unseen: allow, '
    'parameters: {limit: 1}',
    'motion: {server: arm, type: a/action/B, foreign_goals: allow}, confirm: z > 0',
    MOVE, 'motion: {server: /arm, type: a/action/B}, confirm: z > 0', 'tool: {name: horn}',
    'call: {service: light, type: a/srv/C, success: done.ok}',
    'publish: {topic: cmd, type: a/msg/D}', 'job: {invoke: "checks:look"}',
    f'{MOVE}, parameters: {{limit: 1}}, require: z < limit',
    f'{MOVE}, verify: [sensor, operator, {{by: checker, checker: seen}}]',
    f'{MOVE}, verify: {{by: service, service: judge, type: a/srv/V, verdict: ok}}',
    f'{MOVE}, repeat: {{times: 3, until: attempts > 1 and z > iteration}}',
    'for_each: {n: "{{ facts.parts }}"}, tool: {name: horn, arguments: {n: "{{ n }}"}}',
    'for_each: {n: "{{ facts.parts }}"}, motion: {server: arm, type: a/action/B, '
    'goal: {x: "{{ n.x }}"}, timeout: "{{ n.t }}"}, confirm: z > 0',
    'flow: {flow: {flow: inner, actions: {b: {tool: {name: horn}}}}}',
])
def test_what_it_was_told_of_may_be_used(action: str) -> None:
    assert faults(action, PERMITTED) == ''


@pytest.mark.parametrize('action, told', [
    ('motion: {server: arm, type: a/action/B}, confirm: [z > 0, parts > 1], confirm_unseen: allow',
     "there is no permission 'confirm_unseen:allow:parts' among those that the planner was told "
     'of: confirm_unseen:allow:z'),
    ('motion: {server: leg, type: a/action/B, foreign_goals: allow}, confirm: z > 0',
     "there is no permission 'foreign_goals:allow:leg'")])
def test_a_check_is_loosened_only_for_what_it_was_told_of(action: str, told: str) -> None:
    assert told in faults(action, PERMITTED)


def test_without_a_list_of_things_a_check_is_not_loosened() -> None:
    assert faults(MOVE, Told()) == ''
    assert "no permission 'confirm_unseen:allow:z'" in faults(
        f'{MOVE}, confirm_unseen: allow', Told())


@pytest.mark.parametrize('action, told', [
    ('motion: {server: leg, type: a/action/B}, confirm: z > 0',
     "f.yaml:3:16: action 'a', motion.0.server: there is no action server 'leg' of type "
     "'a/action/B' among those that the planner was told of: arm"),
    ('motion: {server: arm, type: a/action/X}, confirm: z > 0',
     "there is no action server 'arm' of type 'a/action/X' among those that the planner was told "
     'of: arm a/action/B'),
    ('call: {service: lamp, type: a/srv/C}', "action 'a', call.0.service: there is no service"),
    ('publish: {topic: cmd_vel, type: a/msg/D}', "publish.0.topic: there is no topic 'cmd_vel'"),
    (f'{MOVE}, confirm_unseen: allow', "action 'a', confirm_unseen: there is no permission "
     "'confirm_unseen:allow:z' among those that the planner was told of: none"),
    ('motion: {server: arm, type: a/action/B, foreign_goals: allow}, confirm: z > 0',
     "motion.0.foreign_goals: there is no permission 'foreign_goals:allow:arm'"),
    ('tool: {name: siren}', "action 'a', tool.0.name: there is no tool 'siren' among those that "
     'the planner was told of: horn'),
    ('job: {invoke: ["checks:look", "os:system"]}', "job.0.invoke: there is no job 'os:system'"),
    ('graph: {graph: errand}', "graph.0.graph: there is no graph 'errand' among those that the "
     'planner was told of: none'),
    (f'{MOVE} and q', "action 'a', confirm.0: there is no fact 'q' among those that the planner "
     'was told of: z, parts'),
    (f'{MOVE}, require: q > 0', "require.0: there is no fact 'q'"),
    (f'{MOVE}, maintain: q > 0', "maintain.0: there is no fact 'q'"),
    (f'{MOVE}, stopped: q > 0', "stopped.0: there is no fact 'q'"),
    (f'{MOVE}, repeat: {{times: 3, until: q > 0}}', 'repeat.until.condition: there is no fact'),
    ('publish: {topic: cmd, type: a/msg/D, rate: 5, until: q > 0}',
     "publish.0.until: there is no fact 'q'"),
    ('motion: {server: arm, type: a/action/B, goal: {x: {expr: q + 1}}}, confirm: z > 0',
     "there is no fact 'q'"),
    ('motion: {server: arm, type: a/action/B, goal: {x: "{{ facts.q }}"}}, confirm: z > 0',
     "there is no fact 'q'"),
    ('for_each: {n: "{{ facts.q }}"}, tool: {name: horn}', "there is no fact 'q'"),
    ('for_each: {n: "{{ facts.parts }}"}, tool: {name: siren}', "there is no tool 'siren'"),
    ('for_each: {n: "{{ facts.parts }}"}, call: {service: "{{ n }}", type: a/srv/C}',
     "there is no service '{{ n }}'"),
    ('for_each: {n: "{{ facts.parts }}"}, motion: {server: arm, type: a/action/B}, '
     'confirm: "{{ n }} > 3"', '{{ n }} > 3: it can not be compared'),
    ('for_each: {n: [1, 2]}, tool: {name: siren}', "there is no tool 'siren'"),
    ('flow: {flow: {flow: i, actions: {b: {tool: {name: siren}}}}}', "there is no tool 'siren'"),
    (f'{MOVE}, fallback: [{{motion: {{server: leg, type: a/action/B}}}}]',
     "there is no action server 'leg'"),
    (f'{MOVE}, fallback: [{{strategy: action, confirm: q > 0}}]', "there is no fact 'q'"),
    (f'{MOVE}, fallback: [{{strategy: ask, options: {{x: {{tool: {{name: siren}}}}}}}}]',
     "there is no tool 'siren'"),
    (MOVE + ', fallback: [{flow: {flow: {flow: i, actions: {b: {tool: {name: siren}}}}}}]',
     "there is no tool 'siren'"),
    ('parameters: {s: arm}, motion: {server: "{{ s }}", type: a/action/B}, confirm: z > 0, '
     'fallback: [{strategy: retry, parameters: {s: leg}}]', "there is no action server 'leg'"),
    (f'{MOVE}, verify: {{by: service, service: light, type: a/srv/V, verdict: ok}}',
     "verify.0.service: there is no service 'light'"),
    (f'{MOVE}, verify: {{by: checker, checker: other}}', "there is no checker 'other'"),
    (f'{MOVE}, verify: {{by: operator, question: "{{{{ facts.q }}}}?"}}', "there is no fact 'q'"),
])
def test_what_it_was_not_told_of_is_refused_wherever_it_stands(action: str, told: str) -> None:
    assert told in faults(action)


def test_a_flow_in_another_file_is_compared_too(tmp_path: Path) -> None:
    (tmp_path / 'inner.yaml').write_text('flow: i\nactions:\n  b: {tool: {name: siren}}\n')
    (tmp_path / 'f.yaml').write_text('flow: f\nactions:\n  a: {flow: inner.yaml}\n')
    with pytest.raises(DocumentError, match="inner.yaml:3:.*there is no tool 'siren'"):
        check_flow(load_flow(tmp_path / 'f.yaml'), ALL)


def test_an_empty_list_permits_nothing_and_an_unknown_one_is_not_compared() -> None:
    assert 'no action server' in faults(MOVE, Told(things=[]))
    assert 'no fact' in faults(MOVE, Told(facts=[]))
    assert faults(MOVE, Told()) == ''


@pytest.mark.parametrize('used, namespace, right', [
    ('arm', '/one', True), ('/one/arm', '/one', True), ('/arm', '/one', False),
    ('/arm', '/', True)])
def test_a_relative_name_is_that_of_the_namespace(used: str, namespace: str, right: bool) -> None:
    told = Told(things=['arm a/action/B'], namespace=namespace)
    action = f'motion: {{server: {used}, type: a/action/B}}, confirm: z > 0'
    assert (faults(action, told) == '') is right


def told_arm(answer: str) -> PlanReply:
    """Return an answer to a request that told of the server and the fact of GOOD."""
    return PlanReply(True, answer, told=Told(things=['arm a/action/B'], facts=['z']))


def test_a_new_flow_is_sent_back_with_what_it_may_use(start: Start, clock: Clock) -> None:
    life = Life(start(), Service(
        clock, told_arm(GOOD.replace('arm', 'leg')), told_arm(GOOD.replace('z >', 'y >')),
        told_arm(GOOD)))
    life.begin()
    clock.run(30.0)
    (_, server), (_, fact) = life.service.asked[1:]
    assert "there is no action server 'leg'" in server[0]
    assert "there is no fact 'y' among those that the planner was told of" in fact[0]
    assert life.process.orchestrator.runs['f'].state == 'FINISH'


def test_an_answer_from_before_a_restart_is_compared_with_what_was_told_then(
    start: Start, clock: Clock
) -> None:
    life = Life(start(), Service(clock, told_arm(GOOD.replace('arm', 'leg'))))
    life.begin()
    clock.run(1.0)
    assert life.events()[-1] == 'answered'
    life.process.kill()
    life = Life(start(), Service(clock, told_arm(GOOD)))
    life.planner.restore()
    clock.run(30.0)
    assert "there is no action server 'leg'" in life.service.asked[0][1][0]
    assert life.process.orchestrator.runs['f'].state == 'FINISH'


@pytest.mark.parametrize('edit, told', [
    ('- add: {d: {motion: {server: leg, type: a/action/B}, confirm: z > 0}}',
     "edit by planner:1:22: action 'd', motion.0.server: there is no action server 'leg'"),
    ('- add: {d: {replaces: b, confirm: q > 0}}',
     "action 'd', confirm.0: there is no fact 'q' among those that the planner was told of: z"),
    ('- update: {c: {fallback: [{tool: {name: siren}}]}}', "there is no tool 'siren'"),
    (f'- add: {{d: {{{MOVE}, verify: {{by: checker, checker: any}}}}}}', 'no checker'),
    ('- add: {d: {flow: {flow: {flow: i, actions: {e: {tool: {name: siren}}}}}}}',
     "there is no tool 'siren'")])
def test_an_edit_is_compared_too(
    start: Start, clock: Clock, robot: Robot, edit: str, told: str
) -> None:
    robot.verdicts['b', 'confirm'] = ['refuted']
    process, planner = steered(start, clock, told_arm(edit), told_arm('- remove: c'))
    run = process.submit(STEERED)
    clock.run()
    assert told in planner.asked[1][1][0]
    assert run.ended and run.summary['edits'] == 1 and robot.executed('d') == 0


def test_an_edit_may_use_what_the_flow_uses(start: Start, clock: Clock, robot: Robot) -> None:
    nothing = Told(things=[], facts=[])
    process, _ = steered(start, clock, PlanReply(True, f'- add: {{d: {{{MOVE}}}}}', told=nothing))
    run = process.submit(STEERED)
    clock.run()
    assert run.state == 'FINISH' and robot.executed('d') == 1
