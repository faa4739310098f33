# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action node compacts its journal by itself, as far as Redis has it, beside all else."""

from __future__ import annotations

import threading
import time

from action_lifecycle.fleet import RedisReader
from action_lifecycle.journal import Entry, Journal, verify_journal
from action_lifecycle.nodes.action.node import ActionLifecycleNode
from action_lifecycle.nodes.ledger.node import LedgerNode
from action_lifecycle.ros.node.executor import make_executor
from isolation import domain_id
import pytest
import rclpy
from rclpy.context import Context
from rclpy.parameter import Parameter
from unit.fleet.redis_server import RedisServer

from .ending import destroy

WALK = (('start', 'assigned', 'in_progress'),
        ('request_verification', 'in_progress', 'status_verification_requested'),
        ('verified', 'status_verification_requested', 'completed'),
        ('terminate', 'completed', 'terminated'))
KEEP = 500


def life(number, steps=4):
    """Return the changes of an action of an application's own session."""
    return [Entry('transition', 'session', f'a{number}', 1, event, source, target,
                  data={'outcome': 'succeeded'} if event == 'terminate' else {},
                  final=target == 'terminated')
            for event, source, target in WALK[:steps]]


class Rig:

    def __init__(self, path, url, **parameters):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor = make_executor('auto', self.context)
        given = [Parameter('journal_path', value=str(path)), *(
            Parameter(name, value=value) for name, value in parameters.items())]
        self.action = ActionLifecycleNode(context=self.context, parameter_overrides=given)
        self.ledger = LedgerNode(context=self.context, parameter_overrides=[
            given[0], Parameter('ledger_url', value=url)])
        for node in (self.action, self.ledger):
            self.executor.add_node(node)
            assert node.start()

    def until(self, done, timeout=30.0):
        deadline = time.monotonic() + timeout
        while not done():
            assert time.monotonic() < deadline, self.ledger.status
            self.executor.spin_once(timeout_sec=0.05)

    def close(self):
        for node in (self.action, self.ledger):
            node.trigger_shutdown()
            destroy(node)
        self.executor.shutdown()
        self.context.try_shutdown()


@pytest.fixture
def server():
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / 'journal'
    with Journal(path) as journal:
        journal.append_many(life(0, steps=2))  # stays open
        journal.append_many(entry for number in range(1, 1000) for entry in life(number))
    return path


def test_what_redis_has_is_compacted_and_the_rest_stays(path, server):
    rig = Rig(path, server.url, compact_keep=KEEP)
    try:
        journal = rig.action.journal
        rig.until(lambda: rig.ledger.status.ledger_seq == journal.last_seq())
        number = 1000
        while journal.snapshot() is None or rig.action.ledger._compactor._thread.is_alive():
            journal.append_many(life(number))  # the executor appends meanwhile
            number += 1
            rig.executor.spin_once(timeout_sec=0.01)
        through = journal.snapshot().data['through']
        left = [row.action_id for row in journal.rows()]
        assert left.count('a0') == 2 and 'a1' not in left
        assert f'a{number - 1}' in left and len(left) < 4 * number - 900
        assert through <= journal.last_seq() - KEEP
        rig.until(lambda: rig.ledger.status.ledger_seq == journal.last_seq())
        reader = RedisReader(server.url)
        assert [row.seq for row in reader.rows()] == list(range(1, journal.last_seq() + 1))
        server.client.flushall()
        rig.until(lambda: rig.ledger.status.refilled == 1
                  and rig.ledger.status.ledger_seq == journal.last_seq())

        def same():
            """Tell whether Redis has all rows, and beside them only what is compacted by now."""
            there, left = set(reader.rows()), set(journal.rows())
            through = journal.snapshot().data['through']
            return left <= there and all(row.seq <= through for row in there - left)

        rig.until(same)
        assert server.client.zcard('al:{robot}:open') == 1
        reader.close()
    finally:
        rig.close()
    assert verify_journal(path) == []


def test_nothing_is_compacted_that_redis_does_not_have(path, server):
    server.kill()
    rig = Rig(path, server.url, compact_keep=KEEP)
    try:
        rig.until(lambda: rig.ledger.status.last_error)
        rig.until(lambda: rig.ledger._published.backlog > 3000)
        rig.executor.spin_once(timeout_sec=0.5)
        assert rig.action.journal.snapshot() is None
        assert 'journal compaction' not in {one.name for one in threading.enumerate()}
    finally:
        rig.close()


def test_journal_is_compacted_without_a_ledger_only_when_that_is_wanted(path):
    rig = Rig(path, '', compact_keep=KEEP, compact_unsynced=True)
    try:
        rig.until(lambda: rig.action.journal.snapshot() is not None)
    finally:
        rig.close()
    assert verify_journal(path) == []
