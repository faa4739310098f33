# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A journal that vanished between two starts is a question; nothing starts in its successor."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import os
from pathlib import Path
import sqlite3
import subprocess
import sys
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.journal import Entry, Journal, JournalError, JournalReader
from action_lifecycle.nodes.action.earlier_journal import open_journal, signs_of_an_earlier_one
from action_lifecycle.nodes.action.node import ActionLifecycleNode
from action_lifecycle.traces.contents import TraceKey
from action_lifecycle.traces.store import TraceStore
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import LedgerSync
import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from unit.fleet.redis_server import RedisServer
from unit.fleet.test_sync import apply

from .ending import destroy
from .test_ledger_sync import Rig
from .test_parameters import context, make

__all__ = ['context', 'make']  # fixtures
SUCCESS = TransitionCallbackReturn.SUCCESS


def used(path: Path) -> None:
    with Journal(path) as journal:
        journal.append(Entry('note'))


def deleted(path: Path) -> None:
    path.unlink()


def all_deleted(path: Path) -> None:
    """Delete all files of the journal; the bridge's files stay."""
    for file in path.parent.glob(f'{path.name}*'):
        file.unlink()
    traces_of_an_action(path.with_name('robot.traces'))


def with_boxes(path: Path) -> None:
    for file in path.parent.glob(f'{path.name}*'):
        file.unlink()
    box_of_an_action(path.with_name('robot.boxes'))


def with_wal(path: Path) -> None:
    """Leave what a journal has in its WAL only."""
    for file in path.parent.glob(f'{path.name}*'):
        file.unlink()
    path.with_name('robot.journal-wal').write_bytes(b'x' * 32)


def with_recipes(path: Path) -> None:
    for file in path.parent.glob(f'{path.name}*'):
        file.unlink()
    path.with_name('robot.recipes').mkdir()
    path.with_name('robot.recipes').joinpath('place.json').touch()


def renamed(path: Path) -> None:
    path.rename(path.with_name('away'))


VANISHED: dict[Callable[[Path], object], str] = {
    deleted: r'robot\.journal\.lock is there',
    renamed: r'robot\.journal\.lock is there',
    lambda path: os.truncate(path, 0): 'the file is empty',
    all_deleted: r'robot\.traces has evidence of actions',
    with_boxes: r'robot\.boxes is not empty',
    with_wal: r'robot\.journal-wal is there',
    with_recipes: r'robot\.recipes is not empty'}


@pytest.mark.parametrize('vanish', VANISHED)
def test_an_empty_journal_is_not_begun_where_there_was_one(
    vanish: Callable[[Path], object], tmp_path: Path, make: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'robot.journal'
    used(path)
    vanish(path)
    node = make(ActionLifecycleNode, journal_path=str(path))
    assert node.trigger_configure() != SUCCESS
    error = capfd.readouterr().err
    assert 'there is no journal, but there was one' in error and 'new_journal:=true' in error
    assert 'Traceback' not in error and not (path.exists() and path.stat().st_size)
    node = make(ActionLifecycleNode, journal_path=str(path), new_journal=True)
    assert node.trigger_configure() == SUCCESS
    with JournalReader(path) as reader:
        lock, = reader.open_rows('lock')
        assert lock.action_id == '*' and 'is not known' in lock.cause
    assert node.trigger_cleanup() == SUCCESS
    with open_journal(path, {}, False) as journal:  # the question is answered
        assert journal.open_rows('lock') == [lock]


@pytest.mark.parametrize(('vanish', 'sign'), VANISHED.items())
def test_what_shows_it_is_named(
    vanish: Callable[[Path], object], sign: str, tmp_path: Path
) -> None:
    path = tmp_path / 'robot.journal'
    used(path)
    assert signs_of_an_earlier_one(path) == []
    vanish(path)
    with pytest.raises(Exception, match=sign):
        open_journal(path, {}, False)


def test_traces_that_the_bridge_is_just_creating_show_nothing(tmp_path: Path) -> None:
    """The nodes start side by side: its file has a page before it has tables."""
    path = tmp_path / 'robot.traces'
    with contextlib.closing(sqlite3.connect(path)) as store:
        store.execute('PRAGMA journal_mode = WAL')
        assert path.stat().st_size
        assert signs_of_an_earlier_one(tmp_path / 'robot.journal') == []
        store.execute('CREATE TABLE other (x)')
    assert signs_of_an_earlier_one(tmp_path / 'robot.journal') == ['robot.traces is there']


def traces_of_an_action(path: Path) -> None:
    store = TraceStore(path)
    store.begin(TraceKey('f', 'pick', 1), 1.0)
    store.close()


def box_of_an_action(path: Path) -> None:
    path.mkdir()
    path.joinpath('20261128T120000.000Z-f-pick.mcap').touch()


@pytest.mark.parametrize(('parameter', 'fill'), [
    ('trace_file', traces_of_an_action), ('black_box.folder', box_of_an_action)])
def test_traces_and_boxes_elsewhere_show_it_too(
    parameter: str, fill: Callable[[Path], object], tmp_path: Path, make: Any,
    capfd: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path / 'elsewhere')
    path = tmp_path / 'new' / 'robot.journal'
    given = {'journal_path': str(path), parameter: str(tmp_path / 'elsewhere')}
    assert make(ActionLifecycleNode, **given).trigger_configure() != SUCCESS
    assert 'there was one: elsewhere ' in capfd.readouterr().err
    given[parameter] = str(tmp_path / 'nothing')
    node = make(ActionLifecycleNode, **given)
    assert node.trigger_configure() == node.trigger_cleanup() == SUCCESS


REFUSED, CONNECTED, DISCONNECTED = (
    LedgerSync.REFUSED, LedgerSync.CONNECTED, LedgerSync.DISCONNECTED)


@pytest.mark.parametrize(('told', 'locks'), [
    ([(REFUSED, 7), (REFUSED, 7)], 1),
    ([(CONNECTED, 7), (REFUSED, 7)], 1),  # latched: the state of before
    ([(DISCONNECTED, 0), (CONNECTED, 0), (CONNECTED, 1), (REFUSED, 1)], 0),  # a key was changed
    ([(REFUSED, 0)], 0)])
def test_the_ledger_shows_it(
    told: list[tuple[int, int]], locks: int, tmp_path: Path, make: Any
) -> None:
    node = make(ActionLifecycleNode, journal_path=str(tmp_path / 'robot.journal'))
    assert node.trigger_configure() == SUCCESS
    for state, seq in told:
        if (state, seq) == (CONNECTED, 1):
            node.journal.append(Entry('note'))
        node.ledger._update(LedgerSync(state=state, ledger_seq=seq))
    found = node.journal.open_rows('lock')
    assert len(found) == locks
    assert all(row.action_id == '*' and 'the ledger of the fleet has 7 rows' in row.cause
               for row in found)
    assert node.trigger_cleanup() == SUCCESS


WRITTEN = """
import os, sys
from action_lifecycle.journal import Entry, Journal
journal = Journal(sys.argv[1])
journal._checkpoints.stop()
for _ in range(int(sys.argv[2])):
    journal.append(Entry('note', data={'text': 'x' * 300}))
    if journal.last_seq() == 20:
        journal._checkpoint()
journal.barrier().result(5)
os._exit(0)
"""


def killed(path: Path, rows: int) -> None:
    """Write a journal by a process that is killed; its rows from the 21st on are in its WAL."""
    subprocess.run([sys.executable, '-c', WRITTEN, str(path), str(rows)], check=True)


def wal_deleted(path: Path) -> None:
    Path(f'{path}-wal').unlink()


def deleted_but_for_the_database(path: Path) -> None:
    for suffix in ('-wal', '-shm'):
        Path(f'{path}{suffix}').unlink()


def older_copy(path: Path) -> None:
    for file in path.parent.glob(f'{path.name}-*'):
        file.unlink()
    with Journal(path.with_name('copy')) as journal:
        journal.append_many([Entry('note')] * 3)
    path.with_name('copy').replace(path)


def other_robots(path: Path) -> None:
    older_copy(path)
    with Journal(path) as journal:
        journal.append_many([Entry('note')] * 100)


LOST: dict[Callable[[Path], object], tuple[int, str]] = {
    wal_deleted: (5, 'row 5 was written, but the last one is 0'),
    deleted_but_for_the_database: (30, 'row 30 was written, but the last one is 20'),
    lambda path: os.truncate(f'{path}-wal', 0): (30, 'the last one is 20'),
    lambda path: os.truncate(f'{path}-wal', 4096): (5, 'the last one is 0'),
    older_copy: (30, 'row 30 was written, but the last one is 3'),
    other_robots: (30, 'row 30 is not the one that was written')}


@pytest.mark.parametrize('lose', LOST)
def test_rows_that_got_lost_between_two_starts_are_a_question(
    lose: Callable[[Path], object], tmp_path: Path
) -> None:
    path, (rows, why) = tmp_path / 'robot.journal', LOST[lose]
    killed(path, rows)
    with pytest.MonkeyPatch.context() as patch:  # what else writes journals here notes no rows
        patch.setattr('action_lifecycle.journal.journal.note_last_row', lambda *_: None)
        lose(path)
    for _ in range(2):
        with pytest.raises(LifecycleError, match=why):
            open_journal(path, {}, False)
    with open_journal(path, {}, True) as journal:
        lock, = journal.open_rows('lock')
        assert lock.action_id == '*' and why in lock.cause
    for new in (False, True):  # the question is answered
        with open_journal(path, {}, new) as journal:
            assert list(journal.open_rows('lock')) == [lock]


def test_a_journal_that_has_all_its_rows_is_no_question(tmp_path: Path) -> None:
    path = tmp_path / 'robot.journal'
    for rows in (1, 30, 30):  # killed each time
        killed(path, rows)
        open_journal(path, {}, False).close()
    with open_journal(path, {}, False) as journal:
        journal.append_many([Entry('note', final=True)] * 9)
        journal.barrier().result(5)
        journal.compact(synced_to=journal.last_seq())
    with open_journal(path, {}, False) as journal:
        assert journal.last_seq() == 71
    Path(f'{path}.lock').write_text('pid 1 on host of an earlier version')
    open_journal(path, {}, False).close()


def test_a_journal_that_has_rows_is_not_new(tmp_path: Path, make: Any) -> None:
    """Rows of others in the ledger are told as before, and lock nothing."""
    used(tmp_path / 'robot.journal')
    node = make(ActionLifecycleNode, journal_path=str(tmp_path / 'robot.journal'))
    assert node.trigger_configure() == SUCCESS
    node.ledger._update(LedgerSync(state=REFUSED, ledger_seq=7))
    assert node.journal.open_rows('lock') == []
    assert node.trigger_cleanup() == SUCCESS


@pytest.mark.parametrize('rows', [0, 3])
def test_rows_in_redis_lock_the_new_journal_of_a_robot(tmp_path: Path, rows: int) -> None:
    server, path = RedisServer(), tmp_path / 'robot.journal'
    with Journal(path) as journal:
        for _ in range(rows):
            journal.append(Entry('note'))
        apply(server, list(journal.rows()), path)
    for file in tmp_path.glob('robot.journal*'):
        file.unlink()
    rig = Rig(path, server.url)
    node = ActionLifecycleNode(context=rig.context, parameter_overrides=[
        Parameter('journal_path', value=str(path))])
    try:
        rig.executor.add_node(node)
        assert node.start()  # with nothing known of the ledger
        assert node.orchestrator is not None and not node.orchestrator.resources.locked
        assert rig.node.start()
        rig.until(lambda: rig.told.state == (REFUSED if rows else CONNECTED))
        if rows:
            assert (rig.told.ledger_seq, rig.told.backlog) == (rows, 0)
            rig.until(lambda: '*' in node.orchestrator.resources.locked)
        else:  # a message of the sync that knows the rows of this journal
            node.journal.append(Entry('note'))
            rig.until(lambda: rig.told.ledger_seq == 1)
            assert not node.orchestrator.resources.locked
        with JournalReader(path) as reader:
            assert [row.action_id for row in reader.open_rows('lock')] == ['*'] * (rows > 0)
    finally:
        node.trigger_shutdown()
        rig.executor.remove_node(node)
        destroy(node)
        rig.close()
        server.close()


def test_first_start_of_a_robot_needs_no_answer(tmp_path: Path) -> None:
    """The bridge may have made its files already."""
    path = tmp_path / 'robot.journal'
    TraceStore(tmp_path / 'robot.traces').close()
    (tmp_path / 'robot.boxes').mkdir()
    (tmp_path / 'robot.stop').touch()
    for new in (False, True):
        with open_journal(path, {}, new) as journal:
            assert journal.open_rows('lock') == []


def test_link_to_a_journal_is_followed(tmp_path: Path) -> None:
    path = tmp_path / 'disk' / 'robot.journal'
    path.parent.mkdir()
    used(path)
    link = tmp_path / 'link.journal'
    link.symlink_to(path)
    with open_journal(link, {}, False) as journal:
        assert journal.last_seq() == 1


def test_no_planner_is_asked_while_nothing_can_be_recorded(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make(ActionLifecycleNode, journal_path=str(tmp_path / 'robot.journal'), planner='plan')
    assert node.trigger_configure() == node.trigger_activate() == SUCCESS
    monkeypatch.setattr('action_lifecycle.journal.journal.ROOM', 2**62)
    taken = node.flows._take(ExecuteFlow.Goal(flow='tidy up', kind='request'), None)
    with pytest.raises(JournalError, match='the disk is full'):
        taken.send(None)
    assert not node.flows.planner.open and not list(node.journal.rows(kind='plan'))
    assert node.trigger_deactivate() == node.trigger_cleanup() == SUCCESS
