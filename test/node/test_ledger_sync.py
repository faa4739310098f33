# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The ledger node brings the journal into a real Redis and says how far it is."""

from __future__ import annotations

from itertools import groupby
import time

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.fleet import RedisReader, RedisTasks, SmartLedger
from action_lifecycle.fleet.checkpoints import pack
from action_lifecycle.journal import Entry, Journal
from action_lifecycle.journal.projection import Projection
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.nodes.action.ledger_link import held_until, MAX_CLAIM
from action_lifecycle.nodes.ledger.node import LedgerNode
from action_lifecycle.nodes.shared.queries import SLICE
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle_msgs.msg import Lease, LedgerSync
from action_lifecycle_msgs.srv import GetAction, GetCheckpoint
from diagnostic_msgs.msg import DiagnosticArray
from isolation import domain_id
import pytest
from rcl_interfaces.msg import Log
import rclpy
from rclpy.context import Context
from rclpy.logging import LoggingSeverity
from rclpy.parameter import Parameter
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from unit.fleet.redis_server import RedisServer

from .ending import destroy


@pytest.fixture
def redis_server():
    server = RedisServer()
    yield server
    server.close()


class Rig:
    """A ledger node with what it says."""

    def __init__(self, journal, url):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor = make_executor('auto', self.context)
        self.node = LedgerNode(context=self.context, parameter_overrides=[
            Parameter('journal_path', value=str(journal)), Parameter('ledger_url', value=url)])
        self.other = rclpy.create_node('test_ledger_sync', context=self.context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.other)
        self.told = LedgerSync()
        self.levels = {}
        self.other.create_subscription(
            LedgerSync, '/ledger/sync', lambda message: setattr(self, 'told', message),
            QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL))
        self.other.create_subscription(
            DiagnosticArray, '/diagnostics',
            lambda message: self.levels.update({
                status.name: status.level for status in message.status}), 10)
        self.logged = []
        self.other.create_subscription(
            Log, '/rosout', lambda message: self.logged.append((message.level, message.msg)), 10)
        self.client = self.other.create_client(GetCheckpoint, '/ledger/get_checkpoint')

    def until(self, done, timeout=20.0):
        deadline = time.monotonic() + timeout
        while not done():
            assert time.monotonic() < deadline, self.told
            self.executor.spin_once(timeout_sec=0.05)

    def checkpoint(self, name):
        self.until(self.client.service_is_ready)
        answer = self.client.call_async(GetCheckpoint.Request(id=name))
        self.until(answer.done)
        return answer.result()

    def close(self):
        self.node.trigger_shutdown()
        destroy(self.node, self.other)
        self.executor.shutdown()
        self.context.try_shutdown()


@pytest.fixture
def start(tmp_path):
    rigs = []

    def make(url):
        rigs.append(Rig(tmp_path / 'journal', url))
        return rigs[-1]
    yield make
    for rig in rigs:
        rig.close()


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / 'journal') as opened:
        yield opened


def flow(journal):
    journal.append(Entry('flow', 'f1', event='accepted', to_state='START', data={'name': 'pick'}))


def test_journal_arrives_and_server_may_go_and_come_back(start, journal, redis_server):
    flow(journal)
    rig = start(redis_server.url)
    assert rig.node.start()
    rig.until(lambda: rig.told.state == LedgerSync.CONNECTED and rig.told.ledger_seq == 1)
    redis_server.kill()
    journal.append(Entry('flow', 'f1', event='scheduled', from_state='START', to_state='CONTINUE'))
    rig.until(lambda: rig.told.state == LedgerSync.DISCONNECTED and rig.told.backlog == 1)
    assert rig.told.last_error and rig.told.lag >= 0
    rig.until(lambda: rig.levels.get('ledger: sync') == b'\x01')
    assert rig.checkpoint('t').error_code == int(ErrorCode.LEDGER_UNAVAILABLE)
    redis_server.start()
    rig.until(lambda: rig.told.state == LedgerSync.CONNECTED and rig.told.ledger_seq == 2)
    reader = RedisReader(redis_server.url)
    assert list(reader.rows()) == list(journal.rows())
    reader.close()
    rig.until(lambda: any(
        level == LoggingSeverity.WARN and text.endswith('; the robot goes on, tried again in at '
                                                        'most 10 s')
        for level, text in rig.logged))
    rig.until(lambda: any(text.startswith("connected to the ledger as robot 'robot'")
                          for _, text in rig.logged))


def test_checkpoints_of_flows_and_operations_are_told(start, journal, redis_server):
    flow(journal)
    redis_server.client.hset('sg:checkpoint:t', mapping=pack({'gathered': 7}))
    rig = start(redis_server.url)
    assert rig.node.start()
    found = rig.checkpoint('f1')
    assert found.found and '"name": "pick"' in found.payload_json and found.stamp.sec > 0
    found = rig.checkpoint('t')
    assert found.found and found.payload_json == '{"gathered": 7}' and found.schema_version == 1
    found = rig.checkpoint('nobody')
    assert not found.found and found.error_code == int(ErrorCode.NOT_FOUND)


def test_claim_of_a_session_is_told_for_as_long_as_it_is_held(start, journal, redis_server):
    rig = start(redis_server.url)
    assert rig.node.start()
    rig.until(lambda: rig.told.state == LedgerSync.CONNECTED)
    tasks = RedisTasks(redis_server.url)
    ours = SmartLedger('42_7', tasks, claimant='robot', lease=5.0)
    others = SmartLedger('42_7', tasks, claimant='another robot')
    assert ours.claim('pick') and others.claim('place')
    claimed, token = time.time(), ours.token('pick')
    for flow_id, task in ('f1', 'pick'), ('f2', 'place'), ('f3', 'nobody'):
        journal.append(Entry('flow', flow_id, event='accepted', to_state='START',
                             data={'origin': {'lease': f'42_7/{task}'}}))
    rig.until(lambda: rig.told.leases)
    lease, = rig.told.leases
    assert (lease.flow_id, lease.name, lease.held) == ('f1', '42_7/pick', True)
    assert lease.token == token
    expires = lease.expires.sec + lease.expires.nanosec * 1e-9
    assert expires == pytest.approx(claimed + 5.0, abs=3.5)  # on a busy machine
    rig.until(lambda: not any(one.held for one in rig.told.leases))
    rig.until(lambda: others.claim('pick'))  # by the clock of Redis it may end a little later
    assert ours.claim('place') is False
    for _ in range(10):
        rig.executor.spin_once(timeout_sec=0.1)
        assert not any(one.held for one in rig.told.leases)
    tasks.close()


def test_first_question_about_a_long_journal_keeps_nobody_waiting(start, journal, monkeypatch):
    ways = ('fail', 'in_progress', 'error'), ('retry', 'error', 'in_progress')
    for step in range(80):
        way = ways[(step + 1) % 2] if step else ('start', 'assigned', 'in_progress')
        journal.append_many(
            Entry('transition', 'f0', f'a{number}', step // 2 + 1, *way,
                  data={'error_code': 'REFUTED'}) for number in range(100))
    rig = start('')
    assert rig.node.start()
    client = rig.other.create_client(GetAction, '/ledger/get_action')
    rig.until(client.service_is_ready)
    turns = []  # rows read at once, and 0 for a turn of somebody else
    update = Projection.update

    def counted(projection, limit=None):
        before = projection._seq
        more = update(projection, limit)
        turns.append(projection._seq - before)
        return more

    monkeypatch.setattr(Projection, 'update', counted)

    def other():
        turns.append(0)
        if not asked.done():
            rig.executor.create_task(other)  # behind all that is queued by now

    asked = client.call_async(GetAction.Request(action_id='a7'))
    rig.executor.create_task(other)
    rig.until(asked.done)
    assert asked.result().status.flow_id == 'f0'
    assert sum(turns) == 8000 and max(turns) == SLICE, turns
    between = [len(list(run)) for rows, run in groupby(turns, bool) if rows]
    assert max(between) == 1, between


def test_without_a_url_the_ledger_is_disabled(start, journal):
    flow(journal)
    rig = start('')
    assert rig.node.start()
    rig.until(lambda: rig.told.journal_seq == 1)
    assert rig.told.state == LedgerSync.DISABLED and not rig.told.last_error
    assert rig.node.network is None
    assert rig.checkpoint('f1').found
    assert 'no ledger is configured' in rig.checkpoint('t').error_msg


def test_url_with_a_password_is_refused():
    context = Context()
    rclpy.init(context=context, domain_id=domain_id())
    with pytest.raises(LifecycleError, match='ACTION_LEDGER_REDIS_PASSWORD') as caught:
        LedgerNode(context=context, parameter_overrides=[
            Parameter('ledger_url', value='redis://:secret@somewhere')])
    assert 'secret' not in str(caught.value)
    context.try_shutdown()


def test_stream_that_can_not_be_in_a_cluster_is_refused() -> None:
    context = Context()
    rclpy.init(context=context, domain_id=domain_id())
    try:
        with pytest.raises(LifecycleError, match="'work_streams'.*stream 'a}b': expected a name"):
            LedgerNode(context=context, parameter_overrides=[
                Parameter('work_streams', value=['', '{flows}:urgent', 'a}b'])])
    finally:
        context.try_shutdown()


def test_a_wall_clock_that_is_set_after_a_claim_was_told_of_holds_no_gate_open() -> None:
    told = [Lease(flow_id='f', name='job', held=True, expires=to_time(5020.0))]
    for wall, until in ((5000.0, 70.0), (5019.0, 51.0), (5021.0, 0.0),
                        (5000.0 - 3600.0, 50.0 + MAX_CLAIM), (5000.0 + 3600.0, 0.0)):
        assert held_until(told, wall, 50.0) == {('f', 'job'): pytest.approx(until)}
    told[0].held = False
    assert held_until(told, 5000.0, 50.0) == {}
    told[0].held, told[0].expires = True, to_time(0.0)  # held, but nothing may move yet
    assert held_until(told, 5000.0, 50.0) == {('f', 'job'): 0.0}
