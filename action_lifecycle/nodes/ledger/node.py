# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The ledger node: answers queries from the journal and syncs it to the ledger of the fleet.

It also works while the action node is down. It only reads the journal, and uses the network in a
separate thread, so it can't block an action. It takes requests of the fleet, which the action node
then runs.
"""

from __future__ import annotations

from collections.abc import Sequence
import json
from typing import Any

from action_lifecycle_msgs.msg import Lease, LedgerSync
from action_lifecycle_msgs.srv import GetCheckpoint

from .fleet_work import FleetWork, lease_to
from .operations import Find, OperationQueries
from ..shared.operators import Operators
from ..shared.paths import journal_path
from ..shared.queries import Queries
from ..shared.ros_log import log_to
from ..shared.row_queries import RowQueries
from ..shared.urls import url_fault
from ...fleet.checkpoints import CHECKPOINT_SCHEMA_VERSION
from ...fleet.claim_watch import ClaimWatch
from ...fleet.consumer import MAX_TRIES, MIN_IDLE, OperationConsumer
from ...fleet.errors import LedgerError, LedgerUnavailable
from ...fleet.fault_log import FaultLog
from ...fleet.ledger import open_ledger, RETENTION
from ...fleet.loop_thread import LoopThread
from ...fleet.robot_status import Claim, RobotReport
from ...fleet.status_reporter import StatusReporter, synced_report
from ...fleet.stream_names import stream_fault
from ...fleet.sync import Synchronizer, SyncStatus
from ...graphs.packaged import config_file
from ...journal.reader import JournalReader
from ...journal.row import JournalError
from ...lifecycle.states import ErrorCode
from ...ros.calls.threads import from_thread
from ...ros.conversions.basic import to_time
from ...ros.interfaces.names import name_fault
from ...ros.interfaces.qos import state_qos
from ...ros.node.diagnostics import ERROR, Health, OK, WARN
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.process import run

POLL_PERIOD = 0.5
"""Polling period (s) of the journal and of the state of the sync."""
SLOW_POLL_PERIOD = 1.0
"""Polling period (s) of the journal if no ledger is configured."""


_HEALTH = {
    LedgerSync.DISABLED: (OK, 'no ledger is configured'), LedgerSync.CONNECTED: (OK, 'connected'),
    LedgerSync.DISCONNECTED: (WARN, 'disconnected'), LedgerSync.REFUSED: (ERROR, 'refused')}


class LedgerNode(ManagedNode):
    """
    Managed node `ledger`.

    | interface | name | type |
    |---|---|---|
    | service | `~/get_action` | action_lifecycle_msgs/srv/GetAction |
    | service | `~/list_actions` | action_lifecycle_msgs/srv/ListActions |
    | service | `~/get_history` | action_lifecycle_msgs/srv/GetHistory |
    | service | `~/get_dialogue` | action_lifecycle_msgs/srv/GetDialogue |
    | service | `~/get_rows` | action_lifecycle_msgs/srv/GetRows |
    | service | `~/get_checkpoint` | action_lifecycle_msgs/srv/GetCheckpoint |
    | service | `~/list_operations` | action_lifecycle_msgs/srv/ListOperations |
    | topic (latched) | `~/sync` | action_lifecycle_msgs/msg/LedgerSync |
    | service | `~/respond` | action_lifecycle_msgs/srv/Respond |
    | topic (latched) | `~/operator_requests` | action_lifecycle_msgs/msg/OperatorRequestArray |
    | calls | `<action_node>/execute_flow` | action_lifecycle_msgs/action/ExecuteFlow |
    | calls | `<action_node>/get_state` | lifecycle_msgs/srv/GetState |

    Parameters: `journal_path` (string): file of the journal, as for the action node; `ledger_url`
    (string): the Redis server, empty for none; `robot` (string): this robot's name in the ledger,
    empty for its namespace; `retention` (double, s): how long ended work is kept;
    `scan_operations` (bool): whether to search all keys for operations. The ledger is
    synced while the node is active. Requests of a fleet: `work_streams` (string list),
    `work_group` (string), `work_min_idle` (double, s), `work_max_tries` (int), `flow_folders`
    (string list), `action_node` (string).
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('ledger', **kwargs)
        self.declare('journal_path', '', 'File of the journal; empty: in the ROS home.')
        self.declare('ledger_url', '', 'redis://, rediss:// or unix:// without a password; empty: '
                     'no ledger.', check=url_fault)
        self.declare('robot', '', "This robot's name in the ledger; empty: its namespace.")
        self.declare('retention', RETENTION, 'Time (s) for which the ledger keeps ended actions.',
                     limits=(0.0, 1e10))
        self.declare('scan_operations', False, 'Also list operations that other programs have '
                     'created; searches all keys of the ledger.')
        self.declare('work_streams', [''], 'Redis streams of flows that this robot can run.',
                     check=_streams_fault)
        self.declare('work_group', 'robots', 'Consumer group that the robots of a fleet share.')
        self.declare('work_min_idle', MIN_IDLE, 'Seconds without a heartbeat after which a '
                     'robot counts as lost.', limits=(0.1, 1e6))
        self.declare('work_max_tries', MAX_TRIES, 'Failures after which a request becomes a dead '
                     'letter.', limits=(1, 1000))
        self.declare('flow_folders', [str(config_file('flows'))],
                     'Folders of the flows that are given by name.')
        self.declare('action_node', 'action_lifecycle', 'Name of the action node.',
                     check=name_fault)

    def configure(self) -> None:
        """Create the interfaces; the journal may not exist yet."""
        self.claim_name()
        self.path = journal_path(self)
        self.url = str(self.parameter('ledger_url'))
        self.robot = str(self.parameter('robot')) or self.get_namespace().strip('/') or 'robot'
        self.reader: JournalReader | None = None
        self.network: LoopThread | None = None
        self.status = SyncStatus()
        log_to(self, 'fleet')
        self.sync = self.add_publisher(LedgerSync, '~/sync', state_qos())
        self.add_service(GetCheckpoint, '~/get_checkpoint', self.get_checkpoint)
        OperationQueries(self, self._find_operations)
        self.add_timer(POLL_PERIOD if self.url else SLOW_POLL_PERIOD, self._poll)
        self.add_diagnostics('sync', self._sync_health)
        self._published: LedgerSync | None = None
        self.work: FleetWork | None = None
        self.claims: ClaimWatch | None = None
        self._configure_work()
        self._poll()

    def _configure_work(self) -> None:
        """Create what is needed to run requests of a fleet."""
        self.operators = Operators(self)
        self.group = str(self.parameter('work_group'))
        self.streams = [stream for stream in self.parameter('work_streams') if stream]
        if self.url and self.streams:
            self.work = FleetWork(
                self, self.operators.desk, lambda: self.reader, self._poll)

    def activate(self) -> None:
        """Start the sync, and publish its state at once."""
        if self.url:
            self.ledger = open_ledger(
                self.url, self.robot, retention=float(self.parameter('retention')),
                journal=self.path)
            self.status = SyncStatus()
            self.network = LoopThread()
            faults = FaultLog()
            self.network.submit(
                Synchronizer(self.path, self.ledger, self._synced, faults).run())
            for stream in self.streams:
                assert self.work is not None
                self.network.submit(OperationConsumer(
                    self.ledger, stream, self.group, self.work,
                    name=self.robot, min_idle=float(self.parameter('work_min_idle')),
                    max_tries=int(self.parameter('work_max_tries')), faults=faults).run())
            self.claims = ClaimWatch(
                self.ledger, lambda: self.reader,
                self.work.names if self.work is not None else tuple, faults)
            self.network.submit(self.claims.run())
            self.network.submit(StatusReporter(
                self.ledger.fleet, self._report, faults=faults).run())
        self._published = None
        self._poll()
        self.operators.topic.publish()

    def deactivate(self) -> None:
        """Stop the sync; the next activation continues at the last synced row."""
        if self.network is not None:
            self.network.stop()
            self.network = self.claims = None

    async def get_checkpoint(self, request: Any, response: Any) -> Any:
        """Fill the response with a flow's last change from the journal, or a checkpoint."""
        rows = [] if self.reader is None else list(
            self.reader.rows(flow_id=request.id, kind='flow')) if request.id else []
        if rows:
            last = rows[-1]
            return self._found(response, last.wall_time, {
                'event': last.event, 'state': last.to_state, **last.data})
        if self.network is None:
            response.error_code = int(ErrorCode.NOT_FOUND)
            response.error_msg = (f"no flow '{request.id}' in the journal, and no ledger is "
                                  'configured that could have an operation of that id')
            return response
        asked = self.network.submit(self.ledger.operations.checkpoint(request.id))
        await from_thread(self, asked)
        try:
            found = asked.result()
        except LedgerError as error:
            response.error_code, response.error_msg = int(ErrorCode.LEDGER_UNAVAILABLE), str(error)
            return response
        if found is None:
            response.error_code = int(ErrorCode.NOT_FOUND)
            response.error_msg = f"neither a flow nor an operation '{request.id}' has a checkpoint"
            return response
        return self._found(response, found.stamp, found.content)

    def _find_operations(self) -> Find:
        """Return the search of operations, in the network thread; raises LedgerUnavailable."""
        network = self.network
        if network is None:
            raise LedgerUnavailable(
                'the node is not active' if self.url else 'no ledger is configured')
        return lambda *states, **options: network.submit(
            self.ledger.operations.find(*states, **options))

    def _found(self, response: Any, stamp: float, content: dict[str, Any]) -> Any:
        response.found = True
        response.stamp = to_time(stamp)
        response.schema_version = CHECKPOINT_SCHEMA_VERSION
        response.payload_json = json.dumps(content)
        return response

    def _synced(self, status: SyncStatus) -> None:
        """Store a status of the sync (network thread); the timer publishes it."""
        before, self.status = self.status, status
        if status.connected and not before.connected:
            self.get_logger().info(f"connected to the ledger as robot '{self.robot}': "
                                   f'{status.backlog} rows to sync')

    def _report(self) -> RobotReport:
        """Return what the fleet learns of this robot (network thread)."""
        work = self.work
        return synced_report(self.status)._replace(
            claims=tuple(Claim(lease.name, lease.flow_id, lease.token, lease.held)
                         for lease in self._leases()),
            streams=tuple(self.streams), group=self.group,
            ready=work is not None and work.ready())

    def _poll(self) -> None:
        error = ''
        seq = 0
        try:
            if self.reader is None:
                self.reader = JournalReader(self.path)
                self.defer(self.reader.close)
                Queries(self, self.reader)
                RowQueries(self, self.reader.path)
            seq = self.reader.last_seq()
        except JournalError as failed:
            error = str(failed)
        message = LedgerSync(state=LedgerSync.DISABLED, journal_seq=seq, last_error=error)
        if self.url:
            status = self.status
            message = LedgerSync(
                state=LedgerSync.REFUSED if status.refused else LedgerSync.CONNECTED
                if status.connected else LedgerSync.DISCONNECTED,
                journal_seq=max(seq, status.journal_seq), ledger_seq=status.ledger_seq,
                backlog=max(seq - status.ledger_seq, status.journal_seq - status.ledger_seq, 0),
                lag=status.lag, last_error=status.last_error or error,
                leases=self._leases())
        if self._published is not None:
            message.stamp = self._published.stamp  # which counts for no change
        if message != self._published:
            message.stamp = to_time(self.now())
            self._published = message
            self.sync.publish(message)

    def _leases(self) -> list[Lease]:
        """Return the claims that the flows of this robot need."""
        return [*(self.work.leases() if self.work is not None else ()),
                *map(lease_to, self.claims.held if self.claims is not None else ())]

    def _sync_health(self) -> Health:
        message = self._published
        if message is None:
            return Health(WARN, 'nothing is known yet')
        level, word = _HEALTH[message.state]
        if message.state == LedgerSync.CONNECTED and message.last_error:
            level = WARN
        return Health(level, message.last_error or word, {
            'journal_seq': message.journal_seq, 'ledger_seq': message.ledger_seq,
            'backlog': message.backlog, 'lag (s)': f'{message.lag:.1f}',
            'refilled': self.status.refilled, 'work held': len(message.leases)})


def _streams_fault(streams: Sequence[str]) -> str:
    """Return what is wrong with the names of streams; '' if nothing is."""
    return '; '.join(filter(None, map(stream_fault, filter(None, streams))))


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(LedgerNode, args=args)
