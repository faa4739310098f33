# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Status and blocked reason of each action in the ledger: those that its journal rows give."""

from __future__ import annotations

import asyncio
import contextlib

from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.fleet import LedgerUnavailable, open_ledger, SmartLedger
from action_lifecycle.fleet.rebuild import rebuild
from action_lifecycle.fleet.sync import bring
from action_lifecycle.graphs.packaged import packaged_graph
from action_lifecycle.journal import Entry, Journal, JournalReader, Projection
from action_lifecycle.journal.action_rows import entry_of, status_after, waits_entry
from action_lifecycle.lifecycle.action import Action
from action_lifecycle.lifecycle.spec import ActionSpec
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, task_status
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from .ledgers import with_ledger
from .test_sync import journal

__all__ = ['journal']  # a fixture

WAITS = ("'arm' is locked", 'approval_required: the flow is paused by ann')
CAUSES = ('', 'hm', 'input_required: which one?', 'approval_required', 'dependency: b')


class Moving(Action):
    """An action that is physical by its name."""

    def physical(self):
        return self.action_id == 'moves'


class Life:
    """Actions whose changes are journaled."""

    def __init__(self, journal):
        self.journal = journal
        self.actions = {}

    def action(self, name):
        if name not in self.actions:
            self.actions[name] = Moving(
                'flow', name, ActionSpec(), packaged_graph('action'), self)
        return self.actions[name]

    def transition(self, action, change):
        self.journal.append(entry_of(action, change.event, change.source, change.target,
                                     change.data, 7.0))

    def published(self, action, change):
        pass

    def step(self, name, choice, cause):
        """Make one of the changes that are possible, or block or release a waiting action."""
        action = self.action(name)
        details = {
            'execute': {'goal_id': 'g'}, 'repeat_motion': {'goal_id': 'g'},
            'motion_done': {'ended': 1.0}, 'confirmed': {'evidence': [{'fact': 1}]},
            'receive_fallback': {'strategy': 'again', 'next_fallback': 1},
            'receive_recipe': {'fragment': {}}, 'fail': {'error_code': 'REFUTED'}}
        events = sorted({one.event for one in
                         action.machine.graph.transitions_from(action.machine.state)})
        if action.state not in (ActionState.RECIPE_RECEIVED, ActionState.TERMINATED):
            events.append('wait')
        event = events[choice % len(events)]
        if event == 'wait':
            action.waits_for = '' if action.waits_for else WAITS[choice % len(WAITS)]
            self.journal.append(waits_entry('flow', name, action.waits_for, 7.0, action))
            return
        data = {'cause': cause, **details.get(event, {})}
        if event == 'terminate':
            failed = ('failed', 'canceled')[choice % 2]
            data['outcome'] = (
                'skipped' if action.state is ActionState.ASSIGNED
                else 'succeeded' if action.passed_completed else failed)
        with contextlib.suppress(Exception):  # a guard that says no
            action.machine.fire(event, **data)


def restored(journal, through):
    """Return status and reason of each action by the rows up to `through`."""
    class Until:

        def intact_rows(self, *, after=0, limit=None):
            return (row for row in journal.intact_rows(after=after) if row.seq <= through)
    return {one.action_id: (one.ledger_status.value, one.blocked_reason.partition(':')[0])
            for one in Projection(Until(), packaged_graph('action')).find()}


def recorded(backend, names):
    reader = open_ledger(backend.url).reader()
    try:
        found = {name: reader.record('flow', name) for name in names}
    finally:
        reader.close()
    return {name: (one['ledger_status'], one['blocked_reason'])
            for name, one in found.items() if one}


STEPS = st.lists(st.tuples(st.sampled_from(['moves', 'asks']), st.integers(0, 11),
                           st.sampled_from(CAUSES)), max_size=40)
ORDERS = st.lists(st.tuples(st.sampled_from(['apply', 'again', 'cut', 'rebuild', 'sync']),
                            st.integers(1, 6)), max_size=12)


@pytest.mark.parametrize('backend', [
    'memory', 'redis', pytest.param('sentinel', marks=pytest.mark.long),
    pytest.param('cluster', marks=pytest.mark.long)], indirect=True)
@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS, orders=ORDERS)
def test_ledger_has_the_status_of_the_restored_action_at_every_prefix(
        backend, tmp_path_factory, steps, orders):
    backend.clear()
    with Journal(tmp_path_factory.mktemp('status') / 'journal') as journal:
        life = Life(journal)
        for step in steps:
            life.step(*step)
        for name, (status, reason) in restored(journal, journal.last_seq()).items():
            action = life.actions[name]
            assert action.ledger_status.value == status
            assert action.blocked_reason.partition(':')[0] == reason
        rows = list(journal.rows())

        async def work(ledger):
            for order, count in [*orders, ('sync', 1)]:
                seq = (await ledger.cursor()).seq
                if order == 'apply':
                    await ledger.apply(rows[seq:seq + count])
                elif order == 'again':
                    await ledger.apply(rows[max(0, seq - count):seq + 1])
                elif order == 'cut':
                    await asyncio.gather(ledger.apply(rows[seq:seq + count]), backend.cut(),
                                         return_exceptions=True)
                    for _ in range(3):
                        with contextlib.suppress(LedgerUnavailable):
                            await ledger.cursor()
                elif order == 'rebuild':
                    await rebuild(journal.path, ledger)
                else:
                    await bring(journal, ledger, await ledger.cursor())
                seq = (await ledger.cursor()).seq
                found, expected = recorded(backend, life.actions), restored(journal, seq)
                assert found == {**dict.fromkeys(found, ('PENDING', '')), **expected}
            return seq
        assert with_ledger(backend, work) == len(rows)


def test_record_is_that_of_the_last_change_and_its_status(journal, backend):
    life = Life(journal)
    life.action('asks').machine.fire('start', cause='ready')
    life.action('asks').machine.fire('request_verification')
    life.action('asks').machine.fire('postpone', cause='boss is away')
    journal.append(Entry('flow', 'flow', event='finish', to_state='FINISH', final=True))
    journal.append(Entry('note', 'flow', 'asks', event='question_asked', final=True))
    rows = list(journal.rows())
    with_ledger(backend, lambda ledger: ledger.apply(rows))
    reader = open_ledger(backend.url).reader()
    found = reader.record('flow', 'asks')
    assert found == {
        **{name: '' if value is None else str(value) for name, value in rows[2]._asdict().items()},
        'final': '0', 'ledger_status': 'BLOCKED', 'blocked_reason': 'approval_required'}
    assert reader.record('flow', 'nothing') == {}
    reader.close()


def test_waiting_for_a_locked_resource_is_a_dependency_until_the_start(journal, backend):
    life = Life(journal)
    journal.append(waits_entry('flow', 'asks', "'arm' is locked: not seen to stop", 1.0))
    life.action('asks').machine.fire('start')
    journal.append(waits_entry('flow', 'moves', "'arm' is locked: not seen to stop", 2.0))
    journal.append(waits_entry('flow', 'moves', '', 3.0))
    rows = list(journal.rows())
    seen = []

    async def work(ledger):
        for row in rows:
            await ledger.apply([row])
            seen.append(recorded(backend, ['asks', 'moves']))
        assert await ledger.open_subjects() == [ledger.subject(rows[1])]
    with_ledger(backend, work)
    assert seen == [
        {'asks': ('PENDING', 'dependency')}, {'asks': ('IN_PROGRESS', '')},
        {'asks': ('IN_PROGRESS', ''), 'moves': ('PENDING', 'dependency')},
        {'asks': ('IN_PROGRESS', ''), 'moves': ('PENDING', '')}]


def test_note_that_an_action_waits_changes_nothing_else_of_its_record(journal, backend):
    machine = Life(journal).action('asks').machine
    machine.fire('terminate', outcome='skipped')
    machine.fire('reassign', cause='once more')
    journal.append(waits_entry('flow', 'asks', "'arm' is locked", 1.0))
    journal.append(waits_entry('flow', 'moves', "'arm' is locked", 1.0))
    rows = list(journal.rows())

    async def work(ledger):
        await ledger.apply(rows)
        assert await ledger.open_subjects() == [ledger.subject(rows[1])]
    with_ledger(backend, work)
    reader = open_ledger(backend.url).reader()
    found = reader.record('flow', 'asks')
    assert (found['event'], found['seq'], found['to_state']) == ('reassign', '2', 'assigned')
    assert (found['ledger_status'], found['blocked_reason']) == ('PENDING', 'dependency')
    assert reader.record('flow', 'moves') == {
        'flow_id': 'flow', 'action_id': 'moves', 'ledger_status': 'PENDING',
        'blocked_reason': 'dependency'}
    reader.close()


@pytest.mark.parametrize(('completes', 'status'), [(True, 'COMPLETED'), (False, 'FAILED')])
def test_stored_recipe_has_the_status_of_its_attempt(journal, backend, completes, status):
    machine = Life(journal).action('asks').machine
    machine.fire('start')
    if completes:
        machine.fire('request_verification')
        machine.fire('verified')
    else:
        machine.fire('fail', error_code='REFUTED')
    machine.fire('request_recipe')
    machine.fire('receive_recipe', fragment={})
    rows = list(journal.rows())
    with_ledger(backend, lambda ledger: ledger.apply(rows))
    assert recorded(backend, ['asks']) == {'asks': (status, '')}


def test_record_of_an_older_version_is_read_and_completed_by_the_next_change(
        journal, redis_server):
    life = Life(journal)
    life.action('asks').machine.fire('start')
    life.action('asks').machine.fire('request_verification')
    rows = list(journal.rows())
    key = 'al:{robot}:transition:flow:asks'

    async def work():
        ledger = open_ledger(redis_server.url)
        await ledger.apply(rows[:1])
        redis_server.client.hdel(key, 'ledger_status', 'blocked_reason')
        reader = ledger.reader()
        assert reader.record('flow', 'asks')['to_state'] == 'in_progress'
        assert 'ledger_status' not in reader.record('flow', 'asks')
        await ledger.apply(rows)
        assert reader.record('flow', 'asks')['ledger_status'] == 'VALIDATING'
        reader.close()
        await ledger.close()
    asyncio.run(work())


def test_question_of_a_session_is_input_required_in_journal_ledger_and_smart_ledger(
        backend, tmp_path):
    hooks.configure(tmp_path / 'sessions')
    try:
        smart = SmartLedger('42_100')
        hooks.register_ledger_for_session('42_100', smart)
        hooks.set_action_state('42_100', 'a', 'in_progress')
        assert hooks.block_for_user_input('42_100', 'a', 'which one?')
        with JournalReader(tmp_path / 'sessions') as reader:
            with_ledger(backend, lambda ledger: ledger.apply(list(reader.rows())))
            action = Projection(reader, packaged_graph('action')).get('42_100', 'a')
    finally:
        hooks.configure()
        hooks.forget_session('42_100')
    reader = open_ledger(backend.url).reader()
    found = reader.record('42_100', 'a')
    reader.close()
    assert (found['ledger_status'], found['blocked_reason']) == ('BLOCKED', 'input_required')
    assert action.blocked_reason == smart.tasks['a'].blocked_reason == 'input_required'


@pytest.mark.parametrize('cause', CAUSES)
@pytest.mark.parametrize('state', ActionState)
def test_reason_is_that_of_the_state_unless_the_cause_names_one(state, cause):
    for outcome in ('', *(one.value for one in ActionOutcome), 'nonsense'):
        status, reason = task_status(state.value, cause, outcome)
        assert (reason != '') == (status == 'BLOCKED')
        if status == 'BLOCKED' and cause not in ('', 'hm'):
            assert reason == cause.partition(':')[0]
    assert task_status('nowhere') == ('', '')


def test_row_of_any_content_has_a_status(journal):
    row = journal.append(Entry('transition', 'f', 'a', to_state='terminated', final=True))
    for data in '[]', '{', '{"outcome": 3}', 'null':
        assert status_after(row._replace(data_json=data)) == ('FAILED', '')
