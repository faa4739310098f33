# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Operations in a real Redis are listed by the ledger node and in the shell."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import time

from action_lifecycle.fleet import open_ledger
from action_lifecycle.fleet.operation_states import OperationState as State
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.nodes.ledger.node import LedgerNode
from action_lifecycle_msgs.msg import LedgerSync
from action_lifecycle_msgs.srv import ListOperations
import pytest
from rclpy.parameter import Parameter
from unit.docs.pages import examples

from .test_ledger_sync import journal, redis_server, start

__all__ = ['journal', 'redis_server', 'start']  # fixtures


def begin(url, **states):
    """Put operations into these states, in order."""
    async def work():
        ledger = open_ledger(url)
        for name, path in states.items():
            await ledger.operations.receive(name, {'stream': 'flows'})
            for state in path:
                assert await ledger.operations.move(name, state, {'worker': 'robot7'})
        await ledger.close()
    asyncio.run(work())


def listing(rig, **request):
    client = rig.other.create_client(ListOperations, '/ledger/list_operations')
    rig.until(client.service_is_ready)
    answer = client.call_async(ListOperations.Request(**request))
    rig.until(answer.done)
    return answer.result()


def shell(rig, *words):
    """Run the console command; returns its exit code and what it printed."""
    process = subprocess.Popen(
        [sys.executable, '-c',
         'from action_lifecycle.cli.main import main; raise SystemExit(main())', 'operations',
         *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, 'ROS_DOMAIN_ID': str(rig.context.get_domain_id()), 'COLUMNS': '200'})
    rig.until(lambda: process.poll() is not None, 60.0)
    out, err = process.communicate()
    return process.returncode, out, err


def test_operations_are_listed_by_the_node_and_in_the_shell(start, journal, redis_server):
    begin(redis_server.url, old=[], done=[State.ERRORED, State.COMPLETED],
          busy=[State.QUEUED, State.CLAIMED])
    redis_server.client.hset('sg:trace:theirs', mapping={'state': 'QUEUED'})
    rig = start(redis_server.url)
    assert rig.node.start()
    rig.until(lambda: rig.told.state == LedgerSync.CONNECTED)
    answer = listing(rig)
    assert [(one.trace_id, one.state, one.owner, one.active) for one in answer.operations] == [
        ('busy', 'CLAIMED', 'robot7', True), ('done', 'COMPLETED', '', False),
        ('old', 'RECEIVED', '', True)]
    assert answer.total == 3 and answer.error_code == ErrorCode.NONE
    first = answer.operations[0]
    assert abs(first.updated.sec - time.time()) < 60
    assert json.loads(first.metadata_json)['stream'] == 'flows'
    assert [one.trace_id for one in listing(rig, active_only=True).operations] == ['busy', 'old']
    assert [one.trace_id for one in listing(
        rig, states=['completed', 'RECEIVED'], limit=1).operations] == ['done']
    refused = listing(rig, states=['gone'])
    assert refused.error_code == ErrorCode.INVALID_REQUEST and "'GONE'" in refused.error_msg

    code, out, err = shell(rig, '--active', '--json')
    assert code == 0, err
    assert [(one['trace_id'], one['state'], one['owner'], one['active'])
            for one in json.loads(out)] == [
                ('busy', 'CLAIMED', 'robot7', True), ('old', 'RECEIVED', '', True)]
    shown = [line for example in examples('bash') for line in example.text.splitlines()
             if line.startswith('action_lifecycle operations')]
    assert len(shown) >= 2
    for line in shown:  # as the pages show them
        code, _, err = shell(rig, *shlex.split(line)[2:])
        assert code == 0, f'{line}: {err}'
    code, out, _ = shell(rig, '--limit', '1')
    assert code == 0 and 'busy' in out and 'old' not in out
    assert '1 of 3 operations; --limit shows more' in out
    code, _, err = shell(rig, '--state', 'gone')
    assert code == 2 and "unknown state of an operation 'GONE'" in err
    redis_server.kill()
    code, _, err = shell(rig)
    assert code == 3 and 'ledger: ' in err
    redis_server.start()


def test_scan_lists_what_other_programs_have_created(
        start, journal, redis_server, monkeypatch):
    redis_server.client.hset('sg:trace:theirs', mapping={'state': 'QUEUED'})
    made = LedgerNode.__init__

    def scanning(node, **options):
        made(node, **{**options, 'parameter_overrides': [
            *options['parameter_overrides'], Parameter('scan_operations', value=True)]})
    monkeypatch.setattr(LedgerNode, '__init__', scanning)
    rig = start(redis_server.url)
    assert rig.node.start()
    rig.until(lambda: rig.told.state == LedgerSync.CONNECTED)
    found, = listing(rig).operations
    assert (found.trace_id, found.state, found.updated.sec) == ('theirs', 'QUEUED', 0)


@pytest.mark.parametrize(('active', 'code', 'message'), [
    (True, ErrorCode.LEDGER_UNAVAILABLE, 'no ledger is configured'),
    (False, ErrorCode.NOT_READY, 'ledger is not active')])
def test_without_a_ledger_or_inactive_the_list_says_so(start, journal, active, code, message):
    rig = start('')
    assert rig.node.start() if active else rig.node.trigger_configure()
    answer = listing(rig)
    assert (answer.error_code, answer.error_msg) == (code, message)
