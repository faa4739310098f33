# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""SmartLedger on a flow that a robot runs: its tasks are those of the synced journal."""

from __future__ import annotations

from action_lifecycle import lifecycle_hooks as hooks
from action_lifecycle.fleet import FlowTasks, LedgerError, LedgerRefused, open_ledger, SmartLedger
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.journal import Entry
from action_lifecycle.lifecycle.states import ActionState, LedgerTaskStatus
import pytest

from unit.docs.pages import examples
from unit.flow.robot import Clock, MOTION, Process, Robot

from .ledgers import with_ledger
from .test_sync import journal, write

__all__ = ['journal']  # a fixture

PICK = f"""flow: pick
actions:
  reach: {{{MOTION}, resources: [arm]}}
  grasp: {{{MOTION}, resources: [arm], after: [reach],
    fallback: [{{strategy: ask, question: Again?}}]}}
  lift: {{{MOTION}, resources: [arm], after: [grasp]}}
"""


@pytest.fixture
def process(tmp_path):
    clock = Clock()
    one = Process(tmp_path / 'robot', clock, Robot(clock))
    yield one
    one.journal.close()


def sync(backend, journal, robot='robot7'):
    async def work(ledger):
        await ledger.apply(list(journal.rows(after=(await ledger.cursor()).seq)))
    with_ledger(backend, work, robot=robot)


class Session:
    """A SmartLedger on a flow, closed at the end."""

    def __init__(self, backend, flow_id, robot='robot7'):
        self.reader = open_ledger(backend.url, robot).reader()
        self.ledger = SmartLedger(flow_id, FlowTasks(self.reader))

    def __enter__(self):
        return self.ledger

    def __exit__(self, *failed):
        self.reader.close()


def statuses(ledger):
    return {name: (task.status.value, task.blocked_reason) for name, task in ledger.tasks.items()}


def test_tasks_follow_a_flow_from_its_start_to_its_end(process, backend):
    process.robot.by_hand.add('motion')
    process.submit(PICK, 'pick-1')
    sync(backend, process.journal)
    with Session(backend, 'pick-1') as ledger:
        process.clock.run(1.0)
        sync(backend, process.journal)
        assert statuses(ledger) == {
            'reach': ('IN_PROGRESS', ''), 'grasp': ('PENDING', ''), 'lift': ('PENDING', '')}
        process.robot.motions[-1].end()
        process.clock.run(1.0)
        process.robot.verdicts['grasp', 'confirm'] = ['refuted']
        process.robot.motions[-1].end()
        process.clock.run(1.0)
        sync(backend, process.journal)
        assert statuses(ledger) == {
            'reach': ('COMPLETED', ''), 'grasp': ('BLOCKED', 'input_required'),
            'lift': ('PENDING', '')}
        rows = {row.action_id: row for row in process.journal.rows(kind='transition')}
        for name, task in ledger.tasks.items():
            if name != 'lift':
                assert task.updated == rows[name].wall_time
        process.orchestrator.cancel('pick-1', 'ann', 'enough')
        process.clock.run(5.0)
        sync(backend, process.journal)
        assert statuses(ledger) == {
            'reach': ('COMPLETED', ''), 'grasp': ('CANCELLED', ''), 'lift': ('CANCELLED', '')}
        assert [(one.event, one.claimant, one.token) for one in ledger.history('reach')] == [
            ('IN_PROGRESS', 'robot7', 1), ('IN_PROGRESS', 'robot7', 1),
            ('VALIDATING', 'robot7', 1), ('VALIDATING', 'robot7', 1), ('COMPLETED', 'robot7', 1),
            ('COMPLETED', 'robot7', 1)]
        assert len(ledger.history()) == len(list(process.journal.rows(kind='transition')))
        assert 'enough' in ledger.tasks['lift'].reason
    with Session(backend, 'pick-1', 'robot8') as other, Session(backend, 'pick-2') as another:
        assert other.tasks == another.tasks == {} and other.history() == []


def test_waiting_for_a_locked_resource_is_a_dependency(process, backend):
    process.robot.by_hand.add('motion')
    process.submit(PICK, 'pick-1')
    process.clock.run(1.0)
    process.orchestrator.cancel('pick-1', 'ann', 'enough')
    process.clock.run(5.0)
    process.submit(PICK, 'pick-2')
    process.clock.run(1.0)
    sync(backend, process.journal)
    with Session(backend, 'pick-2') as ledger:
        assert statuses(ledger)['reach'] == ('PENDING', 'dependency')
        assert ledger.tasks['reach'].reason == (
            "dependency: 'arm' is locked: pick-1/reach was not seen to stop")
        process.orchestrator.clear_locks(['arm'], 'ann', 'looked')
        process.clock.run(1.0)
        sync(backend, process.journal)
        assert statuses(ledger)['reach'] == ('IN_PROGRESS', '')


def test_what_people_hold_back_waits_for_approval(process, backend):
    process.robot.by_hand.add('motion')
    process.submit(PICK, 'pick-1')
    process.orchestrator.control.set_breakpoint('pick-1', 'grasp', 'ben')
    process.clock.run(1.0)
    process.orchestrator.control.pause('pick-1', 'ann', hold=True)
    process.robot.motions[-1].end('canceled')
    process.clock.run(1.0)
    sync(backend, process.journal)
    with Session(backend, 'pick-1') as ledger:
        assert statuses(ledger) == {
            'reach': ('IN_PROGRESS', 'approval_required'), 'grasp': ('PENDING', ''),
            'lift': ('PENDING', '')}
        assert ledger.tasks['reach'].reason == (
            'approval_required: stopped: the flow is held by ann')
        record = ledger._tasks.reader.record('pick-1', 'reach')
        assert (record['to_state'], record['ledger_status'], record['blocked_reason']) == (
            'executing_motion', 'IN_PROGRESS', 'approval_required')
        process.orchestrator.control.resume('pick-1', 'ann')
        process.clock.run(1.0)
        sync(backend, process.journal)
        assert statuses(ledger)['reach'] == ('IN_PROGRESS', '')
        process.robot.motions[-1].end('executed')
        process.clock.run(1.0)
        sync(backend, process.journal)
        assert statuses(ledger) == {
            'reach': ('COMPLETED', ''), 'grasp': ('PENDING', 'approval_required'),
            'lift': ('PENDING', '')}
        assert ledger.tasks['grasp'].reason == 'approval_required: breakpoint, set by ben'
        process.orchestrator.control.clear_breakpoint('pick-1', 'grasp', 'ben')
        process.clock.run(1.0)
        sync(backend, process.journal)
        assert statuses(ledger)['grasp'] == ('IN_PROGRESS', '')


def test_edits_add_and_remove_tasks(process, backend):
    process.robot.by_hand.add('motion')
    process.submit(PICK, 'pick-1')
    process.clock.run(1.0)
    process.orchestrator.edit('pick-1', parse_edit(
        f'- remove: [lift]\n- add: {{place: {{{MOTION}, after: [grasp]}}}}\n'
        '- update: {grasp: {priority: 2}}\n'), 'ben', 'not needed')
    process.clock.run(1.0)
    sync(backend, process.journal)
    with Session(backend, 'pick-1') as ledger:
        assert ledger.tasks.keys() == {'reach', 'grasp', 'place'}
    edited = [row.data for row in process.journal.rows(kind='flow') if row.event == 'edited']
    assert [(data['added'], data['removed']) for data in edited] == [(['place'], ['lift'])]


def test_writes_are_refused_with_the_reason(process, backend):
    process.submit(PICK, 'pick-1')
    sync(backend, process.journal)
    with Session(backend, 'pick-1') as ledger:
        for write_to in (
                lambda: ledger.claim('reach'),
                lambda: ledger.update_task_status('reach', LedgerTaskStatus.COMPLETED),
                lambda: ledger.update_task_status('reach', 'IN_PROGRESS', 'mine')):
            with pytest.raises(LedgerRefused, match=(
                    "task 'reach' is an action of flow 'pick-1' of robot 'robot7', whose journal "
                    'is its only source')):
                write_to()
        assert not ledger.release('reach') and not ledger.heartbeat('reach')
        assert ledger.owner('reach') is None and ledger.token('reach') == 0
        assert statuses(ledger)['reach'][0] == 'IN_PROGRESS'


def test_states_of_a_session_are_restored_from_a_flow(process, backend):
    process.robot.by_hand.add('motion')
    process.submit(PICK, 'pick-1')
    process.clock.run(1.0)
    sync(backend, process.journal)
    hooks.configure()
    with Session(backend, 'pick-1') as ledger:
        assert hooks.restore_action_states_from_ledger('42_100', ledger) == 1
    assert hooks.get_action_state('42_100', 'reach') is ActionState.IN_PROGRESS
    hooks.forget_session('42_100')


def test_flow_of_an_older_journal_has_the_actions_that_have_begun(journal, backend):
    journal.append(Entry('flow', 'flow', event='accepted', to_state='START',
                         data={'text': 'flow: f', 'name': 'f'}))
    write(journal, 0, 2, steps=2)
    sync(backend, journal)
    with Session(backend, 'flow') as ledger:
        assert statuses(ledger) == {'a0': ('VALIDATING', ''), 'a1': ('VALIDATING', '')}


def test_rows_before_and_behind_a_flow_are_not_read(journal, redis_server, monkeypatch):
    """In Redis a flow is found by the row that opened it."""
    class Backend:
        url = redis_server.url

    write(journal, 0, 400)
    journal.append(Entry('flow', 'mine', event='accepted', to_state='START',
                         data={'action_names': ['a', 'b']}))
    journal.append(Entry('transition', 'mine', 'a', 1, 'start', 'assigned', 'in_progress'))
    sync(Backend, journal)
    journal.append(Entry('flow', 'mine', event='fail', from_state='START', to_state='FAIL',
                         final=True))
    write(journal, 400, 400)
    sync(Backend, journal)
    with Session(Backend, 'mine') as ledger:
        pages = []
        client = ledger._tasks.reader._redis
        xrange = client.xrange
        monkeypatch.setattr(client, 'xrange', lambda *asked, **options: (
            pages.append(asked), xrange(*asked, **options))[1])
        assert ledger.tasks.keys() == {'a', 'b'}
        assert len(pages) == 1 and pages[0][1] == '1602-0'
        redis_server.client.hdel('al:{robot7}:flow:mine:', 'opened')  # of an older version
        assert ledger.tasks.keys() == {'a', 'b'} and len(pages) > 3


def test_example_of_the_page_prints_the_tasks(process, redis_server, capsys):
    class Backend:
        url = redis_server.url

    process.robot.by_hand.add('motion')
    process.submit(PICK, 'pick-1')
    process.clock.run(1.0)
    process.robot.motions[-1].end()
    process.clock.run(1.0)
    sync(Backend, process.journal)
    example, = (one.text for one in examples('python') if 'FlowTasks(' in one.text)
    exec(example.replace('redis://localhost:6379/0', redis_server.url), {})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines[:3]] == [
        ['reach', 'COMPLETED'], ['grasp', 'IN_PROGRESS'], ['lift', 'PENDING']]
    assert [line[1] for line in lines[3:]] == ['IN_PROGRESS', 'IN_PROGRESS']


def test_server_that_is_away_is_an_error():
    with pytest.raises(LedgerError, match='ledger: '):
        _ = SmartLedger('pick-1', FlowTasks(open_ledger('unix:///nowhere/s').reader())).tasks
