# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""People and other judges over real DDS: answers in a terminal, nodes that are killed."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import signal
import subprocess
import time
from typing import Any

from action_lifecycle_msgs.srv import Verify
import pytest
from std_srvs.srv import SetBool, Trigger

from .forked import Forked
from .system import System

ASKS = """\
flow: asks
actions:
  look:
    confirm: {condition: gap > 9.0, within: 1.0, max_age: 5.0}
    fallback:
      - strategy: ask
        question: 'The gap is {{ facts.gap|round(2) }} m: {{ error }}'
        timeout: 300
        default: leave it
        options:
          once more: {confirm: {condition: gap > -1.0, within: 5.0}}
          leave it: give_up
"""
JUDGES = """\
flow: judged
actions:
  look:
    confirm: {condition: gap > -1.0, within: 5.0}
    ask_again: 0.3
    verify:
      - {by: service, service: judge/trigger, type: std_srvs/srv/Trigger}
      - by: service
        service: judge/set_bool
        type: std_srvs/srv/SetBool
        request: {data: '{{ facts.gap > -1 }}'}
        verdict: "'completed' if success else 'pending'"
      - {by: service, service: judge/verify}
      - {by: checker, checker: of_tests}
      - {by: operator, question: 'Does {{ action }} look done?', timeout: 120}
"""
WAITS = """\
flow: waits
actions:
  look: {confirm: {condition: gap > 9.0, within: 0.2}, retry: {times: 3, delay: 300}}
  then: {after: look, confirm: gap > -1.0}
  last: {after: look, confirm: gap > -1.0}
"""
JOB = """\
flow: later
schedule: {clock: wall, start_at: 2090-01-01T00:00:00}
actions:
  look: {confirm: gap > -1.0}
"""
CHECKER = """\
from action_lifecycle.lifecycle.ports import Verdict


def check(request):
    return Verdict('completed', f'saw {len(request.evidence)}')
"""


@pytest.fixture(scope='module')
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    system = System(tmp_path_factory.mktemp('operators'))
    installed = system.folder / 'installed'
    folder = installed / 'checker_of_tests-1.0.dist-info'
    folder.mkdir(parents=True)
    (installed / 'checker_of_tests.py').write_text(CHECKER)
    (folder / 'METADATA').write_text(
        'Metadata-Version: 2.1\nName: checker-of-tests\nVersion: 1.0\n')
    (folder / 'entry_points.txt').write_text(
        '[action_lifecycle.checkers]\nof_tests = checker_of_tests:check\n')
    system.environment['PYTHONPATH'] = f"{installed}:{system.environment.get('PYTHONPATH', '')}"
    system.start_all()
    yield system
    system.close()


def run(system: System, text: str, flow_id: str) -> Forked:
    path = system.folder / f'{flow_id}.yaml'
    path.write_text(text)
    return system.run(path, '--flow-id', flow_id)


def questions(system: System, flow_id: str) -> list[dict[str, Any]]:
    listed = system.shell('operator', '--list', '--flow', flow_id, '--wait', '20')
    assert listed.returncode == 0, listed.stderr + system.logs()
    found: list[dict[str, Any]] = json.loads(listed.stdout)
    return found


def answer(system: System, *arguments: str) -> subprocess.CompletedProcess[str]:
    return system.shell('operator', '--actor', 'anna', '--wait', '20', *arguments)


def test_a_question_outlives_the_killed_node_and_is_answered_once(system: System) -> None:
    process = run(system, ASKS, 'asks-1')
    (before,) = questions(system, 'asks-1')
    assert before['question'].startswith('The gap is 0.0') and '> 9.0 is false' in \
        before['question']
    assert before['options'] == ['once more', 'leave it'] and before['default'] == 'leave it'
    system.kill('action_lifecycle_node')
    system.start('action_lifecycle_node')
    system.until(lambda: system.node.count_publishers(
        'action_lifecycle/operator_requests'), 20, 'the node is back')
    (after,) = questions(system, 'asks-1')
    assert (after['id'], after['deadline'], after['question']) == (
        before['id'], before['deadline'], before['question'])
    refused = answer(system, '--flow', 'asks-1', '--answer', 'one more')
    assert refused.returncode == 2 and "did you mean 'once more'?" in refused.stderr
    taken = answer(system, '--flow', 'asks-1', '--answer', '1', '--comment', 'dry now')
    assert taken.returncode == 0, taken.stderr
    row = system.until_state('look', 'terminated')
    assert row.data['outcome'] == 'succeeded'
    received = [row for row in system.rows(flow_id='asks-1') if row.event == 'receive_fallback']
    assert [(row.actor, row.data['answer']) for row in received] == [('anna', 'once more')]
    told, _ = process.communicate(timeout=40)  # the node that took its goal was killed
    asks = f"asks-1/look asks a person: '{before['question']}' (once more, leave it), " \
        "within 300 s (then 'leave it'); answer: action_lifecycle operator"
    assert asks in told and asks in system.logs(), told
    assert process.returncode == 0 and 'waiting for it to go on with the flow asks-1' in told, told
    lines = [line for line in told.splitlines() if line.startswith('look ')]
    assert len(lines) == len(set(lines)) and 'in_progress' in ' '.join(lines), told
    assert any('-> error' in line and '> 9.0 is false' in line for line in lines), told
    assert lines[-1].startswith('look             #1 succeeded after ') or \
        lines[-1].startswith('look             #2 succeeded after '), told
    assert 'safety READY' in told and 'verified 1 of 1, recovered ' in told, told
    late = system.shell('operator', '--flow', 'asks-1', '--answer', 'leave it', '--wait', '3')
    # Whether the command still hears the question depends on DDS; no second answer is taken.
    said = {3: 'no such question', 2: f"request '{before['id']}' was answered by anna already"}
    assert said[late.returncode] in late.stderr
    assert [row for row in system.rows(flow_id='asks-1')
            if row.event == 'receive_fallback'] == received
    for source in ((), ('--journal', str(system.journal_path))):
        told = system.shell('dialogue', 'asks-1', *source)
        lines = [line.split(None, 1)[1] for line in told.stdout.splitlines()]
        assert lines[0].startswith('assistant  look: The gap is 0.0'), told.stdout + told.stderr
        assert 'user       once more (anna): dry now' in lines
        assert lines[-1] == 'assistant  1 of 1 actions succeeded'


def test_all_judges_are_asked_and_a_person_is_asked_over_a_kill(system: System) -> None:
    asked: list[str] = []

    def trigger(request: Any, response: Any) -> Any:
        asked.append('trigger')
        return Trigger.Response(success=True, message='fine')

    def set_bool(request: Any, response: Any) -> Any:
        asked.append(f'set_bool {request.data}')
        return SetBool.Response(success=asked.count('set_bool True') > 1, message='wait')

    def verify(request: Any, response: Any) -> Any:
        asked.append(f'verify {request.action_id} {len(request.evidence)}')
        return Verify.Response(verdict='completed', reason='seen')

    servers = [system.node.create_service(kind, f'judge/{name}', callback)
               for kind, name, callback in ((Trigger, 'trigger', trigger),
                                            (SetBool, 'set_bool', set_bool),
                                            (Verify, 'verify', verify))]
    process = run(system, JUDGES, 'judged-1')
    system.until(lambda: 'set_bool True' in asked, 30, 'the service is asked')
    (question,) = listed(system, 'judged-1')
    assert question['question'] == 'Does look look done?'
    assert question['options'] == ['yes', 'not yet', 'no']
    assert answer(system, '--flow', 'judged-1', '--answer', 'yes').returncode == 0
    system.until(lambda: any(row.to_state == 'pending' for row in system.rows(flow_id='judged-1')),
                 20, 'one of them needs more time')
    system.until(lambda: asked.count('set_bool True') > 1, 20, 'it is asked again')
    system.kill('action_lifecycle_node')
    system.start('action_lifecycle_node')
    process.kill()
    process.wait(20)
    system.until(lambda: asked.count('set_bool True') > 2, 20, 'it is asked after the restart')
    (question,) = listed(system, 'judged-1')
    done = Forked(['action_lifecycle', 'operator', '--actor', 'berta', '--once'],
                  system.environment, subprocess.PIPE, stdin=subprocess.PIPE)
    assert done.stdin is not None
    output = ''
    done.stdin.write('1 all in its place\n')
    done.stdin.flush()
    system.until(lambda: done.poll() is not None, 30, 'the operator has answered')
    output = done.stdout.read() if done.stdout else ''
    assert done.returncode == 0 and 'answered: yes' in output, output
    row = system.until_state('look', 'terminated')
    assert row.data['outcome'] == 'succeeded'
    verified = [row for row in system.rows(flow_id='judged-1') if row.event == 'verified']
    assert verified[0].data['evidence']
    for server in servers:
        system.node.destroy_service(server)


def listed(system: System, flow_id: str) -> list[dict[str, Any]]:
    """Return the open questions, serving what the test offers meanwhile."""
    process = Forked(
        ['action_lifecycle', 'operator', '--list', '--flow', flow_id, '--wait', '20'],
        system.environment, subprocess.PIPE)
    system.until(lambda: process.poll() is not None, 40, 'the list')
    text = process.stdout.read() if process.stdout else ''
    found: list[dict[str, Any]] = json.loads(text)
    return found


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('std_srvs/srv/Trigger', 'std_srvs/srv/Triger', "did you mean 'std_srvs/srv/Trigger'?"),
    ('request: {data:', 'request: {dat:', "unknown field 'dat'; did you mean 'data'?"),
    ('if success else', 'if succes else', "'succes' is no field of the response; did you mean"),
    ('checker: of_tests', 'checker: of_test', "there is no checker 'of_test'; did you mean"),
])
def test_a_judge_that_is_not_there_is_told_before_anything_begins(
    system: System, old: str, new: str, message: str
) -> None:
    def ended() -> bool:
        return all(row.final for row in {
            row.flow_id: row for row in system.rows(kind='flow')}.values())

    system.until(ended, 20, 'the flows before it have ended')
    before = len(system.rows())
    process = run(system, JUDGES.replace(old, new), 'refused')
    output, _ = process.communicate(timeout=40)
    assert process.returncode == 2 and message in ' '.join(output.split()), output
    assert len(system.rows()) == before


def test_ctrl_c_ends_the_terminal_cleanly(system: System) -> None:
    process = Forked(['action_lifecycle', 'operator'], system.environment,
                     subprocess.PIPE, stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert 'Ctrl-C ends' in process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0
    assert 'Traceback' not in process.stdout.read()


def test_without_a_node_that_asks_it_says_so(system: System, tmp_path: Path) -> None:
    answered = system.shell('operator', '--namespace', 'nobody', '--list', '--wait', '1')
    assert answered.returncode == 3 and 'no node that asks' in answered.stderr


def by_json(system: System, *arguments: str) -> Any:
    done = system.shell(*arguments, '--json', '--wait', '20')
    assert done.returncode == 0, done.stderr + system.logs()
    return json.loads(done.stdout)


def events(system: System, flow_id: str, event: str) -> list[tuple[str, str, str]]:
    return [(row.action_id, row.actor, row.cause)
            for row in system.rows(flow_id=flow_id, kind='transition') if row.event == event]


def test_an_action_is_tried_again_a_flow_edited_and_canceled_from_the_shell(
    system: System, tmp_path: Path
) -> None:
    with open(tmp_path / 'told', 'w') as told:
        path = system.folder / 'waits.yaml'
        path.write_text(WAITS)
        process = system.run(path, '--flow-id', 'waits-1', stdout=told)
    system.until(lambda: events(system, 'waits-1', 'fail'), 40, 'the first try has failed')
    tried = system.shell('retry', 'look', '--actor', 'anna', '--reason', 'dry now')
    assert tried.returncode == 0, tried.stderr
    assert tried.stdout.startswith('waits-1/look: ')
    assert events(system, 'waits-1', 'retry') == [('look', 'anna', 'dry now')]
    system.until(lambda: len(events(system, 'waits-1', 'fail')) == 2, 20, 'the second, too')
    refused = system.shell('retry', 'waits-1/then')
    assert refused.returncode == 2 and "'retry'" in refused.stderr, refused.stderr
    unknown = system.shell('retry', 'lok')
    assert unknown.returncode == 3 and "no action 'lok'" in unknown.stderr

    edit = tmp_path / 'edit.yaml'
    edit.write_text('- remove: [look]\n')
    refused = system.shell('edit', 'waits-1', str(edit))
    assert refused.returncode == 2, refused.stdout
    assert f"{edit}:1:12: action 'look' is at work" in refused.stderr, refused.stderr
    edit.write_text('- remove: [last]\n')
    edited = system.shell('edit', 'waits-1', str(edit), '--actor', 'anna', '--reason', 'enough')
    assert edited.returncode == 0 and 'edited: row' in edited.stdout, edited.stderr
    (row,) = (row for row in system.rows(flow_id='waits-1') if row.event == 'edited')
    assert (row.actor, row.cause) == ('anna', 'enough')

    shown = by_json(system, 'status', 'waits-1')
    assert [action['action_id'] for action in shown['actions']] == ['look', 'then']
    unknown = system.shell('cancel', 'nobody')
    assert unknown.returncode == 3 and "no flow 'nobody'" in unknown.stderr
    canceled = system.shell('cancel', 'waits-1', '--actor', 'anna')
    assert canceled.returncode == 0 and 'flow waits-1 canceled' in canceled.stdout, canceled.stderr
    assert [row.actor for row in system.rows(flow_id='waits-1')
            if row.event == 'cancel_flow'] == ['anna']
    assert process.wait(20) == 1
    again = system.shell('cancel', 'waits-1')
    assert again.returncode == 0, again.stderr


def test_an_action_is_canceled_and_a_question_answered_from_the_shell(system: System) -> None:
    process = run(system, ASKS, 'asks-2')
    (question,) = by_json(system, 'respond', '--flow', 'asks-2')
    assert question['options'] == ['once more', 'leave it'] and question['left'] is None or \
        0 < question['left'] <= 300
    listed = system.shell('respond', '--flow', 'asks-2')
    assert 'once more, leave it' in listed.stdout, listed.stdout
    wrong = system.shell('respond', 'twice', '--flow', 'asks-2')
    assert wrong.returncode == 2 and 'is not one of the options' in wrong.stderr
    status = by_json(system, 'status')
    assert [item['id'] for item in status['questions']] == [question['id']]
    assert status['nodes'] == {
        'world_model_bridge': 'active', 'ledger': 'active', 'action_lifecycle': 'active'}
    system.kill('world_model_bridge')
    system.start('world_model_bridge')
    assert process.stdout is not None
    while 'the world model bridge was restarted' not in process.stdout.readline():
        assert process.poll() is None, system.logs()
    taken = system.shell('respond', '1', '--flow', 'asks-2', '--actor', 'anna')
    assert taken.returncode == 0, taken.stderr
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 0, told
    ended = system.shell('cancel', 'asks-2')
    assert ended.returncode == 2 and 'has ended already: FINISH' in ended.stderr

    process = run(system, ASKS, 'asks-3')
    by_json(system, 'respond', '--flow', 'asks-3')
    canceled = system.shell('cancel', 'asks-3/look', '--actor', 'anna', '--reason', 'no part')
    assert canceled.returncode == 0 and canceled.stdout.startswith('asks-3/look: '), \
        canceled.stderr
    assert process.wait(40) == 1
    assert [(row.actor, row.cause) for row in system.rows(flow_id='asks-3', kind='transition')
            if row.data.get('error_code') == 'CANCELED'] == [('anna', 'no part')]


def test_the_end_of_a_flow_is_told_by_a_command_that_slept_over_it(system: System) -> None:
    process = run(system, ASKS, 'asks-4')
    by_json(system, 'respond', '--flow', 'asks-4')
    process.send_signal(signal.SIGSTOP)
    system.kill('action_lifecycle_node')
    system.start('action_lifecycle_node')
    by_json(system, 'respond', '--flow', 'asks-4')
    assert system.shell('respond', '1', '--flow', 'asks-4').returncode == 0
    system.until(lambda: any(row.final for row in system.rows(flow_id='asks-4', kind='flow')),
                 30, 'the flow has ended')
    system.kill('action_lifecycle_node')
    system.start('action_lifecycle_node')  # it knows of no flow that runs
    process.send_signal(signal.SIGCONT)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert 'verified 1 of 1, recovered 1, failed 0' in told, told
    assert 'look             #2 succeeded after ' in told, told


def test_jobs_are_listed_and_taken_away_from_the_shell(system: System) -> None:
    run(system, JOB, 'nightly').wait(40)
    (job,) = by_json(system, 'jobs')
    assert (job['id'], job['flow'], job['clock'], job['runs']) == ('nightly', 'later', 'wall', 0)
    assert 'nightly' in system.shell('jobs').stdout
    status = system.shell('status')
    assert 'next: nightly at 2090-01-0' in status.stdout or '2038' in status.stdout, status.stdout
    canceled = system.shell('cancel', '--job', 'nightly', '--reason', 'enough')
    assert canceled.returncode == 0, canceled.stderr
    assert by_json(system, 'jobs') == []
    gone = system.shell('cancel', '--job', 'nightly')
    assert gone.returncode == 3 and "no scheduled job 'nightly'" in gone.stderr


def test_a_stop_is_shown_and_cleared_from_the_shell(system: System) -> None:
    def press(pressed: bool) -> None:
        client = system.client(SetBool, 'estop/set')
        system.until(client.service_is_ready, 20, 'estop/set')
        answer = client.call_async(SetBool.Request(data=pressed))
        system.until(answer.done, 20, 'the e-stop')

    def state() -> Any:
        return by_json(system, 'safety')['state']

    assert state() == 'READY'
    press(True)
    system.until(lambda: state() == 'STOPPED', 30, 'the stop')
    shown = system.shell('safety')
    assert shown.stdout.startswith('STOPPED: ') and 'cleared now' in shown.stdout, shown.stdout
    assert 'STOPPED: ' in system.shell('status').stdout
    refused = system.shell('clear-stop', '--actor', 'anna')
    assert refused.returncode == 2, refused.stdout
    wrong = system.shell('clear-stop', 'arn')
    assert wrong.returncode == 2 and "'arn' is not locked" in wrong.stderr
    press(False)
    system.until(lambda: 'then: action_lifecycle clear-stop' in system.shell('safety').stdout, 30,
                 'that it can be cleared')
    system.until(lambda: system.shell(
        'clear-stop', '--actor', 'anna', '--reason', 'seen').returncode == 0, 30, 'cleared')
    system.until(lambda: state() == 'READY', 30, 'ready again')
