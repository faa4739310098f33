# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""A process whose journal holds a job that can't run: it starts, answers, and hears SIGINT."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import signal
from typing import Any

from action_lifecycle.journal import Entry, Journal
from action_lifecycle_msgs.srv import CancelJob, ListJobs
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
import pytest

from .system import System

ENDS = 20.0  # s, for a process that needs one or two of them, on any machine


def job(job_id: str, spec: dict[str, Any]) -> list[Entry]:
    """Return the rows of a job as versions without bounds wrote them."""
    data = {
        'job_id': job_id, 'name': 'one', 'created': 1000.0, 'flow_id': '', 'action_id': '',
        'shift': 0.0, 'seen': 1000.0, 'taken': None, 'count': 0, 'owed': [], 'runs': 0,
        'missed': 0, 'last': None, 'running': [], 'last_flow_id': '', 'last_result': '',
        'ended_seq': 0, 'spec': spec}
    order = {'kind': 'yaml', 'flow': 'flow: one', 'source': '', 'parameters': {}, 'priority': 0,
             'requester': 'me', 'lease': '', 'recipe': ''}
    return [Entry(kind='job_order', action_id=job_id, event='created', data=order),
            Entry(kind='job', action_id=job_id, event='created', data=data)]


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    system = System(tmp_path)
    with Journal(system.journal_path) as journal:
        journal.append_many([
            *job('hangs', {'clock': 'ros', 'start_at': -1.0e15, 'every': 0.1}),
            *job('walks', {'clock': 'wall', 'start_at': '1900-01-01T00:00:00', 'every':
                           'FREQ=DAILY;BYHOUR=1,2,3,4,5,6,7,8,9;BYMINUTE=1,2,3,4,5,6,7,8,9'}),
            *job('later', {'clock': 'wall', 'start_at': '2090-01-01T00:00:00'}),
            Entry(kind='job', action_id='empty', event='created'),
            *job('order', {'clock': 'wall', 'every': 3600.0, 'start_at': '2020-01-01T00:00:00'}),
            Entry(kind='job_order', action_id='order', event='created', data={'hue': 'red'}),
            Entry(kind='plan', action_id='asked', event='requested', data={'order': 5}),
            Entry(kind='note', flow_id='f', event='question_asked', final=True)])
    yield system
    system.close()


def call(system: System, kind: Any, name: str, **fields: Any) -> Any:
    """Call a service until it answers: one that has just started may lose an answer."""
    client = system.client(kind, f'action_lifecycle/{name}')
    for _ in range(20):
        future = client.call_async(kind.Request(**fields))
        try:
            return system.until(lambda future=future: future.done() and future.result(),
                                3.0, name)
        except AssertionError:
            client.remove_pending_request(future)
    raise AssertionError(f'{name} does not answer\n{system.logs()}')


def is_active(system: System) -> bool:
    return bool(call(system, GetState, 'get_state').current_state.id
                == State.PRIMARY_STATE_ACTIVE)


def test_a_node_with_jobs_that_can_not_run_starts_answers_and_ends(system: System) -> None:
    system.start('action_lifecycle_node', use_sim_time=False)
    system.until(lambda: is_active(system), 60.0, 'active')
    jobs = {one.id: one for one in call(system, ListJobs, 'list_jobs').jobs}
    assert set(jobs) == {'hangs', 'walks', 'later', 'empty', 'order'}
    for name in ('hangs', 'walks', 'empty'):
        assert jobs[name].schedule.startswith('set aside: row ')
    assert '-1e+15' in jobs['hangs'].schedule and 'start_at' in jobs['walks'].schedule
    assert jobs['later'].next.sec == 2**31 - 1
    system.until(lambda: {one.id: one for one in call(system, ListJobs, 'list_jobs').jobs}[
        'order'].last_result == 'failed', 20.0, 'the run without a usable order is told of')
    canceled = call(system, CancelJob, 'cancel_job', id='hangs', actor='me', reason='enough')
    assert canceled.accepted, canceled.error_msg
    assert system.stop('action_lifecycle_node', signal.SIGINT, ENDS) < ENDS
    assert "request 'asked' is set aside" in system.logs()

    system.start('action_lifecycle_node', use_sim_time=False)
    system.until(lambda: is_active(system), 60.0, 'active again')
    assert 'hangs' not in {one.id for one in call(system, ListJobs, 'list_jobs').jobs}
    assert system.stop('action_lifecycle_node', signal.SIGINT, ENDS) < ENDS
