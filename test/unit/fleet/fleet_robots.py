# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots of a fleet without ROS: a real journal, its sync, its reports, and a worker."""

from __future__ import annotations

import json

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.fleet import open_ledger
from action_lifecycle.fleet.consumer import OperationConsumer
from action_lifecycle.fleet.loop_thread import LoopThread
from action_lifecycle.fleet.status_reporter import StatusReporter, synced_report
from action_lifecycle.fleet.sync import Synchronizer, SyncStatus
from action_lifecycle.journal import Entry, Journal

STREAM = 'flows'
FLOW_WALK = (('start', 'assigned', 'in_progress'),
             ('execute', 'in_progress', 'executing_motion'))


class FlowWork:
    """Does what the flow of a request says: `fails`, or `waits` until the robot ends."""

    def ready(self):
        return True

    async def gather(self, request):
        return {'flow': request.data['flow']}

    async def perform(self, operation, gathered):
        if gathered['flow'] == 'fails':
            raise LifecycleError('the gripper is cold')
        return {}

    def can_resume(self, request):
        return False

    async def take_over(self, request):
        return ''


class FleetRobot:
    """A robot that syncs and reports; `work`: it also takes requests from STREAM."""

    def __init__(self, folder, url, name, work=None):
        self.journal = Journal(folder / f'{name}.journal')
        self.status = SyncStatus()
        self._loop = LoopThread()

        async def run():
            ledger = open_ledger(url, name, journal=self.journal.path)
            self._loop.submit(Synchronizer(self.journal.path, ledger, self._synced).run())
            self._loop.submit(StatusReporter(ledger.fleet, self._report, 0.1).run())
            if work is not None:
                self._loop.submit(OperationConsumer(
                    ledger, STREAM, 'robots', work, name=name, max_tries=1).run())
        self._work = work
        self._loop.submit(run()).result()

    def _synced(self, status):
        self.status = status

    def _report(self):
        report = synced_report(self.status)
        return report if self._work is None else report._replace(
            streams=(STREAM,), group='robots', ready=True)

    def act(self, flow_id, action_id):
        """Begin a flow whose action moves."""
        self.journal.append(Entry('flow', flow_id, event='submitted', to_state='CONTINUE'))
        for event, source, target in FLOW_WALK:
            self.journal.append(Entry(
                'transition', flow_id, action_id, 1, event, source, target))

    def end(self):
        """Stop all but the journal: the robot falls silent."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.stop()

    def close(self):
        """Also close the journal."""
        self.end()
        self.journal.close()


def failed_letter(client, trace='t-1', flow='fails', error='the gripper is cold'):
    """Add the dead letter of a request; returns its id."""
    data = {'flow': flow, 'trace_id': trace}
    return client.xadd(f'{{{STREAM}}}:dead', {
        'original_stream': STREAM, 'original_id': '1-1', 'trace_id': trace, 'error': error,
        'attempt': 3, 'data': json.dumps(data), 'time': '1.0'})
