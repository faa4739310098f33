# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Engines: what tasks get and give, and what becomes of those that die or hang."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import os
from pathlib import Path
import queue
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

from action_lifecycle.engine import LifecycleError
from action_lifecycle.invoke import Engine, Job, local, LocalEngine, MAX_MESSAGE, Outcome
import pytest


def ask(
    engine: Engine, call: str, value: Any = None, limit: float | None = None, retries: int = 0,
    **more: Any
) -> Outcome:
    replies: queue.Queue[Outcome] = queue.Queue()
    name = f'tasks_of_tests:{call}' if call.isidentifier() else call
    engine.submit(Job(name, more.pop('input', None), {'actor_input': value, **more}, limit,
                      lambda: True, replies.put, retries))
    return replies.get(timeout=60)


def is_running(pid: int) -> bool:
    try:
        state = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in 'ZX'


@pytest.mark.parametrize('value', [
    None, True, 1.5, 'Grüße 🤖 \u202e \x00 \ud83d', [1, [2, {}]], {'a': {'b': None}}, b'\x00\xff',
    {'nested': [b'x']}])
def test_values_come_back_as_they_went(engine: Engine, value: Any) -> None:
    assert ask(engine, 'echo', value) == Outcome(value)


def test_tasks_run_in_other_processes_that_stay(local_engine: LocalEngine) -> None:
    pids = {ask(local_engine, 'os:getpgid', 0).value for _ in range(6)}
    assert pids <= set(local_engine.pids) and os.getpid() not in pids


def test_templates_in_the_input_are_filled_in_by_the_worker(engine: Engine) -> None:
    template = {'text': 'about {{ actor_input }}', 'kept': '{{ extra }}'}
    assert ask(engine, 'echo', 'cups', input=template, extra=[1, 2]).value == {
        'text': 'about cups', 'kept': [1, 2]}


def test_templates_in_data_stay_text_and_none_leaves_the_sandbox(engine: Engine) -> None:
    injected = "{{ ''.__class__ }}"
    assert ask(engine, 'echo', injected, input='{{ actor_input }}').value == injected
    assert 'TemplateError' in ask(engine, 'echo', 'x', input=injected).error


FAILURES = [
    ('fail', 'this', 'ValueError: no way with this'),
    ('leave', None, 'SystemExit: 3'),
    ('missing', None, "has no attribute 'missing'"),
    ('no.such.module:f', None, "No module named 'no'"),
    ('no_json', None, 'its answer is refused: it is no JSON'),
    ('not_a_number', None, 'its answer is refused: it is no JSON'),
    ('later', None, 'is async'),
    ('large', MAX_MESSAGE, 'its answer is refused: it has'),
    ('echo', 'x' * MAX_MESSAGE, 'its input is refused: it has'),
    ('echo', {1}, 'its input is refused: it is no JSON'),
    ('echo', {'$bytes': 'no base64'}, "a message can't be read"),
]


@pytest.mark.parametrize('call, value, error', FAILURES)
def test_a_failure_is_told(engine: Engine, call: str, value: Any, error: str) -> None:
    assert error in ask(engine, call, value).error


@pytest.mark.parametrize('call, value, error', FAILURES)
def test_a_failure_costs_no_process(
    local_engine: LocalEngine, call: str, value: Any, error: str
) -> None:
    ask(local_engine, 'echo')
    ask(local_engine, 'echo')
    before = set(local_engine.pids)
    ask(local_engine, call, value)
    assert before <= set(local_engine.pids)


def test_the_largest_answer_passes(engine: Engine) -> None:
    assert len(ask(engine, 'large', MAX_MESSAGE - 20).value) == MAX_MESSAGE - 20


def test_what_a_task_prints_does_not_disturb(engine: Engine) -> None:
    assert ask(engine, 'print_much', 1) == Outcome(1)


@pytest.mark.parametrize('call', ['die', 'die_and_leave_a_child'])
def test_a_killed_worker_is_told_and_replaced(engine: Engine, call: str) -> None:
    started = time.monotonic()
    assert ask(engine, call).error == 'its worker process was killed by signal 9'
    assert time.monotonic() - started < 10
    assert ask(engine, 'echo', 1) == Outcome(1)


def test_a_worker_that_dies_between_tasks_costs_none(
    eventually: Callable[..., Any]
) -> None:
    with LocalEngine(workers=1) as one:
        pid = ask(one, 'os:getpgid', 0).value
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: os.waitid(
            os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))  # all of its threads too
        assert ask(one, 'echo', 2) == Outcome(2)


def test_a_worker_that_stops_taking_its_input_is_killed(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, '_STALL', 1)
    with LocalEngine(workers=1) as one:
        pid = ask(one, 'os:getpgid', 0).value
        os.kill(pid, signal.SIGSTOP)
        error = 'its worker process stopped in the middle of a message'
        assert ask(one, 'echo', 'x' * (MAX_MESSAGE // 2)).error == error
        assert not is_running(pid)
        assert ask(one, 'echo', 1) == Outcome(1)


def test_a_task_that_may_be_repeated_is_until_it_works(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / 'tries'
    started = time.monotonic()
    assert ask(engine, 'works_the_third_time', str(path), retries=2) == Outcome(3)
    assert path.read_text() == 'tried\n' * 3
    assert time.monotonic() - started > 0.8 + 1.6  # back-off


def test_a_task_whose_worker_is_killed_is_repeated_only_as_often_as_it_may(
    engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / 'tries'
    error = 'its worker process was killed by signal 9'
    assert ask(engine, 'note_and_die', str(path), retries=1).error == error
    assert path.read_text() == 'tried\n' * 2
    assert ask(engine, 'note_and_die', str(path)).error == error
    assert path.read_text() == 'tried\n' * 3


def test_closing_ends_the_wait_for_the_next_try(eventually: Callable[..., Any], tmp_path: Path
                                                ) -> None:
    replies: queue.Queue[Outcome] = queue.Queue()
    one, path = LocalEngine(workers=1), tmp_path / 'tries'
    one.submit(Job('tasks_of_tests:works_the_third_time', None, {'actor_input': str(path)}, None,
                   lambda: True, replies.put, 100))
    eventually(path.exists)
    one.close()
    # the second one: it was closed before it had the answer of the first try
    assert replies.get(timeout=10).error in ('the engine was closed', 'ConnectionError: not yet')
    assert replies.empty()


def test_a_task_over_its_limit_is_killed_with_what_it_started(
    eventually: Callable[..., Any], engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / 'pids'
    outcome = ask(engine, 'hang', str(path), limit=4.0)
    assert outcome.error == 'it took longer than 4 s; its worker process was killed'
    for pid in map(int, path.read_text().split()):
        eventually(lambda pid=pid: not is_running(pid))


def test_a_worker_that_ends_itself_while_the_engine_stands_still_took_too_long(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalEngine(workers=1) as one:
        monkeypatch.setattr(local, 'time', SimpleNamespace(monotonic=lambda: 0.0))
        error = 'it took longer than 0.5 s; its worker process was killed'
        assert ask(one, 'time:sleep', 60, limit=0.5).error == error
        assert ask(one, 'echo', 1) == Outcome(1)


def test_a_worker_that_can_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'executable', '/bin/false')
    with LocalEngine(workers=1) as one:
        error = ask(one, 'echo').error
    assert error == 'no worker could be started: its worker process ended with exit code 1'


def test_closing_ends_the_processes_and_fails_what_is_not_done(
    eventually: Callable[..., Any], tmp_path: Path
) -> None:
    replies: queue.Queue[Outcome] = queue.Queue()
    one, path = LocalEngine(workers=1), tmp_path / 'pids'
    for _ in range(3):
        one.submit(Job('tasks_of_tests:hang', None, {'actor_input': str(path)}, None,
                       lambda: True, replies.put))
    pids = eventually(lambda: path.exists() and path.read_text().split())
    one.close()
    one.close()
    assert [replies.get(timeout=10).error for _ in range(3)] == ['the engine was closed'] * 3
    assert one.pids == ()
    for pid in map(int, pids):
        eventually(lambda pid=pid: not is_running(pid))
    with pytest.raises(LifecycleError, match='closed'):
        ask(one, 'echo')


def test_workers_end_when_the_process_of_the_engine_is_killed(
    eventually: Callable[..., Any], tmp_path: Path
) -> None:
    text = """
import sys, time
from action_lifecycle.invoke import Job, LocalEngine
engine = LocalEngine(workers=2)
engine.submit(Job('tasks_of_tests:hang', None, {'actor_input': sys.argv[1]}, 5.0,
                  lambda: True, lambda outcome: None))
engine.submit(Job('tasks_of_tests:echo', None, {'actor_input': 1}, None,
                  lambda: True, lambda outcome: None))
while len(engine.pids) < 2:
    time.sleep(0.01)
print(*engine.pids, flush=True)
time.sleep(60)
"""
    folder = str(Path(__file__).parent / 'tasks')
    path = tmp_path / 'pids'
    paths = os.pathsep.join([folder, *filter(None, sys.path)])
    robot = subprocess.Popen([sys.executable, '-c', text, str(path)], stdout=subprocess.PIPE,
                             env={**os.environ, 'PYTHONPATH': paths})
    assert robot.stdout is not None
    pids = [int(pid) for pid in robot.stdout.readline().split() if pid.isdigit()]
    eventually(path.exists)
    robot.kill()
    robot.wait()
    robot.stdout.close()
    assert len(pids) == 2
    for pid in pids:
        eventually(lambda pid=pid: not is_running(pid))
    with suppress(ProcessLookupError):
        os.kill(int(path.read_text().split()[1]), signal.SIGKILL)  # what the hanging task started


def test_a_local_worker_starts_without_redis_numpy_and_flows() -> None:
    done = subprocess.run(
        [sys.executable, '-c', 'import action_lifecycle.invoke.worker, sys; print(*sys.modules)'],
        capture_output=True, text=True, check=True, timeout=60, env={
            **os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
    loaded = {name for name in ('redis', 'numpy', 'celery', 'action_lifecycle.flow')
              if name in done.stdout.split()}
    assert not loaded
