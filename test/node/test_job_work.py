# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Actions that run tasks in other processes, with real nodes, workers and broker."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
from typing import Any

from action_lifecycle_msgs.msg import ErrorCode
from lifecycle_msgs.msg import Transition
import pytest
from unit.invoke.celery_rig import CeleryRig
from unit.invoke.test_engines import is_running

from .work_rig import WorkRig


@pytest.fixture(scope='module')
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkRig]:
    rig = WorkRig(tmp_path_factory.mktemp('jobs'))
    yield rig
    rig.close()


@pytest.fixture(scope='module')
def broker() -> Iterator[CeleryRig]:
    pytest.importorskip('celery')
    broker = CeleryRig()
    yield broker
    broker.close()


@pytest.fixture(scope='module')
def celery(tmp_path_factory: pytest.TempPathFactory, broker: CeleryRig) -> Iterator[WorkRig]:
    broker.start_worker(redeliver_after=1.0)
    rig = WorkRig(tmp_path_factory.mktemp('celery_jobs'), engine='celery', broker=broker.url)
    yield rig
    rig.close()


@pytest.fixture(params=['local', 'celery'])
def rig(request: pytest.FixtureRequest) -> WorkRig:
    """Each engine after the other: what holds for one holds for both."""
    rig: WorkRig = request.getfixturevalue(request.param)
    return rig


def task(name: str, **more: Any) -> str:
    return json.dumps({'call': f'tasks_of_tests:{name}', **more})


def job(invoke: str, more: str = '', input_: Any = None) -> str:
    return f'a: {{job: {{invoke: {invoke}, input: {json.dumps(input_)}}}{more}}}'


def lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_the_output_is_a_result_that_later_actions_read(rig: WorkRig) -> None:
    name = rig.new_id()
    result = rig.result(name, (
        "a:\n  parameters: {unit: mm}\n  job:\n    invoke: ['tasks_of_tests:split', {map: "
        "{call: 'tasks_of_tests:echo', input: '{{ actor_input }} {{ map_index }} {{ unit }}'}, "
        "over: '{{ actor_input.parts }}'}]\n    input: nut bolt\n"
        "b: {after: a, job: {invoke: 'tasks_of_tests:shout', "
        "input: '{{ results.a.result[1] }}'}}"))
    assert result.error_code == ErrorCode.NONE, result.error_msg
    assert rig.row(name, 'request_verification').data['result'] == 'BOLT 1 MM'
    assert [row.to_state for row in rig.rows(name) if row.action_id == 'a'] == [
        'in_progress', 'status_verification_requested', 'completed', 'terminated']


def test_progress_is_shown_while_it_runs(rig: WorkRig, tmp_path: Path) -> None:
    name = rig.new_id()
    rig.send(name, job(json.dumps([
        'tasks_of_tests:echo', 'tasks_of_tests:wait_for']), input_=str(tmp_path / 'go')))
    rig.until(lambda: name in rig.status and rig.status[name].progress > 0.3, 30.0, 'progress')
    status = rig.status[name]
    assert (status.step_kind, status.progress_text) == ('job', '2 of 3')
    (tmp_path / 'go').touch()
    assert rig.end_of(name).data['outcome'] == 'succeeded'


@pytest.mark.parametrize('invoke, more, given, code, message', [
    (task('fail'), '', 'x', 'WORK_FAILED', 'ValueError: no way with x'),
    (task('die'), '', None, 'WORK_FAILED', 'was killed by signal 9'),
    (task('hang', time_limit=1), '', '', 'WORK_FAILED', 'it took longer than 1 s'),
    (task('hang'), ', timeout: 2.0', '', 'DEADLINE_EXCEEDED', ''),
    (task('echo'), ', confirm: {condition: level > 5, within: 0.5}', 1, 'REFUTED', ''),
])
def test_it_fails(
    rig: WorkRig, invoke: str, more: str, given: Any, code: str, message: str
) -> None:
    name = rig.new_id()
    rig.send(name, job(invoke, more, given))
    row = rig.end_of(name)
    assert row.data['outcome'] == 'failed'
    failed = rig.row(name, 'fail')
    assert failed.data['error_code'] == code and message in failed.data['error_msg']


def test_a_job_that_takes_too_long_is_canceled(rig: WorkRig, tmp_path: Path) -> None:
    name = rig.new_id()
    pids = tmp_path / 'pids'
    rig.send(name, 'a: {job: {invoke: ["tasks_of_tests:hang"], time_limit: 5.0, '
             f'input: {pids}}}}}')
    rig.until(pids.exists, 30.0, 'the task runs')
    rig.end_of(name)
    failed = rig.row(name, 'fail')
    assert failed.data['error_code'] in ('MOTION_TIMEOUT', 'WORK_FAILED')
    assert 'longer than 5 s' in failed.data['error_msg'] \
        or 'no output within 5 s' in failed.data['error_msg']
    assert not any(map(is_running, map(int, pids.read_text().split())))


def test_a_cancel_kills_the_task_before_the_action_ends(rig: WorkRig, tmp_path: Path) -> None:
    name = rig.new_id()
    pids = tmp_path / 'pids'
    handle = rig.send(name, job(task('hang'), ', stop_timeout: 10.0', str(pids)))
    rig.until(pids.exists, 30.0, 'the task runs')
    handle.cancel_goal_async()
    assert rig.end_of(name).data['outcome'] == 'canceled'
    assert not any(map(is_running, map(int, pids.read_text().split())))
    assert 'gives no answer' not in rig.row(name, 'fail').data.get('error_msg', '')


@pytest.mark.parametrize('fields, fault', [
    ('invoke: nonsense', "test.yaml:4:11: action 'a', job: invoke: expected module:function, got "
     "'nonsense'"),
    ('invoke: {call: "m:f", tries: 3}', "unknown field 'tries'"),
    ('invoke: "m:f", time_limit: -1', "field 'job.time_limit': expected at least 0, got -1"),
    ('input: 3', "missing field 'invoke'"),
    ('invoke: ["os:system"], input: "true"', "'os:system': functions of 'os' are not called by "
     'flows, unless the parameter job_modules names it'),
    ('invoke: {x: "action_lifecycle.cli:main"}', "functions of 'action_lifecycle' are not called"),
])
def test_faults_are_found_before_anything_runs(local: WorkRig, fields: str, fault: str) -> None:
    result = local.result(local.new_id(), f'a:\n  job: {{{fields}}}')
    assert result.error_code == ErrorCode.FLOW_INVALID and fault in result.error_msg


def test_a_module_that_local_workers_do_not_have_is_found_before_anything_runs(
    local: WorkRig
) -> None:
    result = local.result('module', 'a:\n  job: {invoke: [no_such_package.x:f]}')
    assert "test.yaml:4:11: action 'a', job: no module 'no_such_package'" in result.error_msg


def test_killed_in_a_task_of_the_local_engine_it_runs_again(
    local: WorkRig, tmp_path: Path
) -> None:
    path = tmp_path / 'tries'
    local.send('again', job(task('note_and_wait_for'), '', str(path)))
    local.until(lambda: lines(path), 30.0, 'the task runs')
    local.kill()
    (tmp_path / 'tries.go').touch()
    local.start_node()
    assert local.end_of('again').data['outcome'] == 'succeeded'
    assert local.row('again', 'request_verification').data['result'] == 2


def test_killed_in_a_task_that_must_not_be_repeated_the_sensors_are_asked(
    local: WorkRig, tmp_path: Path
) -> None:
    path = tmp_path / 'tries'
    local.send('once', (
        'a:\n  job: {invoke: "tasks_of_tests:note_and_wait_for", repeat_lost: false, '
        f'input: {path}}}\n  confirm: level > 0.5\n  on_resume: confirm'))
    local.until(lambda: lines(path), 30.0, 'the task runs')
    local.kill()
    local.start_node()
    assert local.end_of('once').data['outcome'] == 'succeeded'
    assert lines(path) == 1


@pytest.mark.long  # the lease of a killed worker has to lapse
@pytest.mark.parametrize('killed', ['node', 'worker, node', 'node, worker', 'node, broker'])
def test_killed_in_any_order_the_output_arrives_once(
    celery: WorkRig, broker: CeleryRig, tmp_path: Path, killed: str
) -> None:
    name = celery.new_id()
    before, path = tmp_path / 'before', tmp_path / 'tries'
    celery.send(name, 'a:\n  job:\n    invoke:\n      - {call: "tasks_of_tests:note", input: '
                f'{before}}}\n      - {{call: "tasks_of_tests:note_and_wait_for", input: {path}}}'
                f'\n      - [{task("echo")}, {task("echo")}]')
    celery.until(lambda: lines(path), 30.0, 'the second task runs')
    for victim in killed.split(', '):
        if victim == 'node':
            celery.kill()
        elif victim == 'worker':
            broker.kill_workers()
        else:
            broker.server.kill()
            broker.server.start()
    (tmp_path / 'tries.go').touch()
    if 'worker' in killed:
        broker.start_worker(redeliver_after=1.0)
    celery.start_node()
    assert celery.end_of(name).data['outcome'] == 'succeeded'
    ended = [row for row in celery.rows(name) if row.event == 'request_verification']
    assert [row.data['result'] for row in ended] == [lines(path)]
    assert (lines(before), lines(path)) == (1, 2 if 'worker' in killed else 1)


@pytest.mark.long
def test_the_output_from_while_the_node_was_away_arrives(
    celery: WorkRig, tmp_path: Path
) -> None:
    path = tmp_path / 'tries'
    celery.send('away', job(task('note_and_wait_for'), '', str(path)))
    celery.until(lambda: lines(path), 30.0, 'the task runs')
    celery.kill()
    (tmp_path / 'tries.go').touch()
    celery.start_node()
    assert celery.end_of('away').data['outcome'] == 'succeeded' and lines(path) == 1


def test_a_job_that_ends_while_the_node_is_not_active_is_done_when_it_is(
    local: WorkRig, tmp_path: Path
) -> None:
    name, path = local.new_id(), tmp_path / 'tries'
    ended = tmp_path / 'ended'
    local.send(name, job(f'[{task("note_and_wait_for")}, {task("note", input=str(ended))}]', '',
                         str(path)))
    local.until(lambda: lines(path), 30.0, 'the task runs')
    local.transition(Transition.TRANSITION_DEACTIVATE)
    (tmp_path / 'tries.go').touch()
    local.until(ended.exists, 30.0, 'the job ends')
    local.transition(Transition.TRANSITION_ACTIVATE)
    assert local.end_of(name).data['outcome'] == 'succeeded' and lines(path) == 1
