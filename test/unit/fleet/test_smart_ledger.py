# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Claims, statuses and history of a session's tasks, the same in memory and in Redis."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.fleet import LedgerError, RedisTasks
from action_lifecycle.fleet.smart_ledger import MemoryTasks, Owner, SmartLedger
from action_lifecycle.lifecycle.states import ActionState, LedgerTaskStatus
import pytest


@pytest.fixture(params=['memory', 'redis'])
def tasks(request):
    if request.param == 'memory':
        yield MemoryTasks()
        return
    server = request.getfixturevalue('redis_server')
    kept = RedisTasks(server.url)
    yield kept
    kept.close()


def events(ledger, task_id='a'):
    return [one.event for one in ledger.history(task_id)]


def test_second_claimant_gets_false_and_the_owner_stays(tasks):
    first = SmartLedger('42_100', tasks)
    second = SmartLedger('42_100', tasks, claimant='43_100')
    assert (first.user_id, first.prompt_id) == ('42', '100')
    assert first.claim('a')
    assert not second.claim('a')
    assert second.owner('a') == Owner('42', '100')
    assert first.claim('a')  # ours already
    assert first.update_task_status('a', LedgerTaskStatus.COMPLETED)
    assert first.owner('a') is None
    assert events(first) == ['claimed', 'COMPLETED', 'released']
    assert second.claim('a')
    assert second.owner('a') == Owner('43', '100')


def test_what_another_has_claimed_can_not_be_changed_or_released(tasks):
    first, second = SmartLedger('42_100', tasks), SmartLedger('42_100', tasks)
    assert first.update_task_status('a', 'IN_PROGRESS')
    assert not second.update_task_status('a', 'COMPLETED')
    assert not second.update_task_status('a', 'IN_PROGRESS')
    assert not second.release('a')
    assert not second.heartbeat('a')
    assert first.tasks['a'].status is LedgerTaskStatus.IN_PROGRESS
    assert first.token('a') and not second.token('a')


def test_holder_whose_lease_lapsed_is_fenced_by_a_higher_token(tasks):
    first, second = SmartLedger('42_100', tasks, lease=0.05), SmartLedger('42_100', tasks)
    assert first.claim('a')
    old = first.token('a')
    deadline = time.monotonic() + 5
    while not second.claim('a'):
        assert time.monotonic() < deadline
    assert second.token('a') > old
    assert not first.heartbeat('a')
    assert not first.update_task_status('a', 'COMPLETED')
    assert not first.release('a')
    assert events(second) == ['claimed', 'lapsed', 'claimed']
    assert second.update_task_status('a', 'COMPLETED')  # which releases it
    assert not first.update_task_status('a', 'FAILED')


def test_heartbeat_keeps_a_lease(tasks):
    for number in range(100, 105):  # anew when it may have lapsed because all stood still
        session = f'42_{number}'
        first, second = SmartLedger(session, tasks, lease=0.5), SmartLedger(session, tasks)
        began = renewed = time.monotonic()
        assert first.claim('a')
        token = first.token('a')
        while True:
            now = time.monotonic()
            kept = first.heartbeat('a'), second.claim('a'), first.token('a')
            if time.monotonic() - renewed >= 0.5:
                break
            assert kept == (True, False, token)
            if now - began > 1.2:
                return
            renewed = now
            time.sleep(0.05)
    pytest.fail('the machine stood still in each try')


def test_one_of_many_claimants_wins(tasks):
    ledgers = [SmartLedger('42_100', tasks) for _ in range(8)]
    won = []
    threads = [threading.Thread(target=lambda one=one: won.append(one.claim('a')))
               for one in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won.count(True) == 1


def test_sessions_do_not_share_tasks(tasks):
    one, other = SmartLedger('42_100', tasks), SmartLedger('42_101', tasks)
    assert one.update_task_status('a', 'IN_PROGRESS')
    assert other.tasks == {} and other.claim('a')


@pytest.mark.parametrize(('reason', 'expected'), [
    ('dependency: b', 'dependency'), ('input_required', 'input_required'),
    ('approval_required: boss', 'approval_required'), ('hm', 'input_required')])
def test_blocked_task_says_what_it_waits_for(tasks, reason, expected):
    ledger = SmartLedger('42_100', tasks)
    ledger.update_task_status('a', 'BLOCKED', reason)
    assert ledger.tasks['a'].blocked_reason == expected
    assert ledger.tasks['a'].reason == reason
    ledger.update_task_status('a', 'IN_PROGRESS', reason)
    assert ledger.tasks['a'].blocked_reason == ''


def test_unreachable_server_is_an_error_that_says_so():
    with pytest.raises(LedgerError, match='ledger: '):
        SmartLedger('42_100', RedisTasks('unix:///nowhere/s')).claim('a')


@pytest.fixture
def session(tasks):
    hooks.configure()
    hooks.forget_session('42_100')
    ledger = SmartLedger('42_100', tasks)
    hooks.register_ledger_for_session('42_100', ledger)
    yield ledger
    hooks.forget_session('42_100')


def walk(*states):
    for state in states:
        hooks.set_action_state('42_100', 'a', ActionState(state))


def test_pending_action_that_completes_ends_as_completed(session):
    walk('in_progress', 'status_verification_requested', 'pending')
    assert session.tasks['a'].status is LedgerTaskStatus.BLOCKED
    walk('completed', 'terminated')
    assert session.tasks['a'].status is LedgerTaskStatus.COMPLETED
    assert events(session).count('claimed') == events(session).count('released') == 1


def test_retried_action_ends_as_completed_and_a_failed_one_as_failed(session):
    walk('in_progress', 'error', 'in_progress', 'status_verification_requested', 'completed',
         'terminated')
    assert session.tasks['a'].status is LedgerTaskStatus.COMPLETED
    walk('assigned', 'in_progress', 'error', 'recipe_requested', 'recipe_received', 'terminated')
    assert session.tasks['a'].status is LedgerTaskStatus.FAILED
    assert session.owner('a') is None


def test_states_come_back_from_the_ledger(session, tasks):
    walk('in_progress', 'status_verification_requested', 'pending')
    hooks.forget_session('42_100')
    assert hooks.restore_action_states_from_ledger('42_100', SmartLedger('42_100', tasks)) == 1
    assert hooks.get_action_state('42_100', 'a') is ActionState.PENDING


def test_package_has_its_public_names_and_imports_redis_only_when_asked():
    code = ('import sys; import action_lifecycle.ledger as ledger; '
            'assert "redis" not in sys.modules; '
            '[getattr(ledger, name) for name in ledger.__all__]')
    subprocess.run([sys.executable, '-c', code], check=True,
                   env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
