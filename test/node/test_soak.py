# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Every process killed at random moments under load: journal, memory and Redis tell the same story.

SOAK_ROUNDS rounds, three by default; `make soak` runs 200. SOAK_SEED repeats a run, SOAK_FIRST
begins with a later round of it.
"""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import random
import subprocess
import time
from typing import Any

from action_lifecycle.engine import load_graph
from action_lifecycle.engine.resources import config_file
from action_lifecycle.ledger import JournalError, JournalReader, verify_journal
from action_lifecycle.ledger.projection import Projection
from action_lifecycle.ledger.redis_ledger import RedisReader
from action_lifecycle.ros.qos import event_qos, state_qos
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ActionStateChange, FlowStatusArray, LedgerSync
from control_msgs.action import GripperCommand
import pytest
from rclpy.action import ActionClient, ActionServer, CancelResponse
from sensor_msgs.msg import JointState

from .process_rig import ProcessRig
from .waiting import until_answered

ROUNDS = int(os.environ.get('SOAK_ROUNDS', '3'))
FIRST = int(os.environ.get('SOAK_FIRST', '0'))
SEED = os.environ.get('SOAK_SEED') or str(random.randrange(10**9))
NODES = ('world_model_bridge', 'ledger', 'action_lifecycle_node')
HURTS = ('pause', 'readonly', 'memory', 'script')
FLOWS = 3  #: at once
GOAL_LOST = 20.0  #: s without an answer to a goal
FLOW = """\
flow: load
defaults: {confirm: {condition: gap < 1.0, within: 20.0}, retry: {times: 20, delay: 0.1}}
actions:
  first: {}
  second: {after: first}
  grip:
    after: first
    idempotent: true
    motion:
      server: gripper
      type: control_msgs/action/GripperCommand
      goal: {command: {position: 0.02, max_effort: 5.0}}
  last: {after: [second, grip]}
"""


class Soak(ProcessRig):
    """The processes of one robot, the load on them, and what they have told."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / 'journal'
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.changes: list[ActionStateChange] = []
        self.flows = FlowStatusArray()
        self.sync = LedgerSync()
        self.asked: set[str] = set()
        self.refused: list[str] = []
        node = self.node
        self.gripper = ActionServer(node, GripperCommand, 'gripper', self._grip,
                                    cancel_callback=lambda handle: CancelResponse.ACCEPT)
        self.joints = node.create_publisher(JointState, 'joint_states', 10)
        node.create_timer(0.05, self._sample)
        node.create_subscription(ActionStateChange, 'action_lifecycle/state_changes',
                                 self.changes.append, event_qos())
        node.create_subscription(FlowStatusArray, 'action_lifecycle/flow',
                                 lambda message: setattr(self, 'flows', message), state_qos())
        node.create_subscription(LedgerSync, 'ledger/sync',
                                 lambda message: setattr(self, 'sync', message), state_qos())
        self.client = ActionClient(node, ExecuteFlow, 'action_lifecycle/execute_flow')

    def begin(self) -> None:
        """Start the nodes."""
        for name in NODES:
            self.start(name)
        self.reader = self.until(self._open, 30.0, 'the journal')
        self.projection = Projection(
            self.reader, load_graph(config_file('graphs/action.yaml')))
        self.checked = 0

    def _open(self) -> JournalReader | None:
        try:
            return JournalReader(self.path)
        except JournalError:  # it is not there yet
            return None

    async def _grip(self, handle: Any) -> Any:
        handle.succeed()
        return GripperCommand.Result(position=0.02, reached_goal=True)

    def _sample(self) -> None:
        message = JointState(name=['gripper'], position=[0.02], velocity=[0.0])
        message.header.stamp = self.node.get_clock().now().to_msg()
        self.joints.publish(message)

    def start(self, name: str) -> None:
        given = {'autostart': True, 'facts_file': self.facts} \
            if name == 'world_model_bridge' else {'autostart': True, 'journal_path': self.path}
        if name == 'ledger':
            given['ledger_url'] = self.redis.url
        self.processes[name] = self.spawn(name, given, log=name)

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)

    def submit(self, flow_id: str) -> None:
        """Ask for a flow; whether that arrives before the node is killed is not known."""
        def over(reason: str) -> None:
            self.asked.discard(flow_id)
            if reason:
                self.refused.append(f'{flow_id}: {reason}')

        def answered(future: Any) -> None:
            handle = future.result()
            if handle.accepted:
                handle.get_result_async().add_done_callback(
                    lambda ended: over(ended.result().result.error_msg))
            else:
                over('not accepted')

        self.asked.add(flow_id)
        self.client.send_goal_async(ExecuteFlow.Goal(
            flow=FLOW, kind='yaml', flow_id=flow_id)).add_done_callback(answered)

    def quiet(self) -> None:
        """Wait until what was asked for has ended, or was lost with a node, and nothing comes."""
        seq, since = -1, time.monotonic()
        limit = since + GOAL_LOST

        def is_quiet() -> bool:
            nonlocal seq, since
            now = time.monotonic()
            if self.reader.last_seq() != seq:
                seq, since = self.reader.last_seq(), now
            return (not self.asked or now > limit) and now - since > 0.5 \
                and not self.reader.open_flows()
        self.until(is_quiet, 90.0, 'all flows have ended')
        self.asked.clear()

    def kill(self, victim: str) -> None:
        """Kill a process, or the server, and start it again; or hurt the server for a while."""
        if victim in NODES:
            process = self.processes[victim]
            process.kill()
            process.wait(10.0)
            if victim == 'action_lifecycle_node':
                self.asked.clear()  # nobody will answer
            self.start(victim)
        elif victim == 'redis':
            self.redis.restart()
        else:
            {'pause': self.redis.pause,
             'readonly': lambda: self.redis.client.replicaof('127.0.0.1', 1),
             'memory': lambda: self.redis.client.config_set('maxmemory', 1),
             'script': self.redis.client.script_flush}[victim]()
            self.spin(0.5)
            self.redis.mend()

    def check(self) -> None:
        """Wait until all is quiet, and compare what the journal, the node and Redis say."""
        self.quiet()
        last = self.reader.last_seq()
        self.until(lambda: self.sync.ledger_seq == self.reader.last_seq(), 30.0, 'all is synced')
        rows = list(self.reader.rows(after=self.checked))
        assert [row.seq for row in rows] == list(range(self.checked + 1, last + 1))
        ledger = RedisReader(self.redis.url)
        assert list(ledger.rows(after=self.checked)) == rows
        ledger.close()
        known = {row.seq: (row.flow_id, row.action_id, row.attempt, row.from_state, row.to_state)
                 for row in rows}
        self.spin(0.1)
        for change in self.changes:  # each of them was acknowledged
            if change.seq > self.checked:
                assert known[change.seq] == (
                    change.flow_id, change.action_id, change.attempt, change.from_state,
                    change.to_state)
        self.changes.clear()
        # The topic may lag behind, that of a node that has just been started again above all.
        self.until(self._memory_agrees, 10.0, 'the memory of the node agrees with the journal')
        self.checked = last

    def _memory_agrees(self) -> bool:
        """Whether the flows that the node has in memory are as the journal says, and done."""
        for told in (action for flow in self.flows.flows for action in flow.actions):
            action = self.projection.get(told.flow_id, told.action_id)
            if action is None or (action.state, action.outcome) != (told.state.value, 'succeeded'):
                return False
        return True

    def close(self) -> None:
        self.gripper.destroy()
        self.client.destroy()
        self.end(self.processes.values())


@pytest.fixture
def soak(tmp_path: Path) -> Iterator[Soak]:
    soak = Soak(tmp_path)
    try:
        soak.begin()
        yield soak
    finally:
        soak.close()


def test_whatever_is_killed_nothing_is_lost_and_all_agree(soak: Soak) -> None:
    print(f'SOAK_SEED={SEED}')
    soak.until(soak.client.server_is_ready, 30.0, 'the action node')
    for number in range(FIRST, FIRST + ROUNDS + 3):
        if number >= FIRST + ROUNDS and soak.checked > 20 * ROUNDS:
            break  # else too much was killed before it had begun
        rng = random.Random(f'{SEED}/{number}')
        victim = rng.choice((*NODES, 'redis', rng.choice(HURTS)))
        # Every third round the flows begin before all nodes know of each other again.
        if number % 3:
            soak.until(lambda: soak.client.server_is_ready() and soak.sync.state
                       == LedgerSync.CONNECTED, 30.0, 'all nodes are there')
            until_answered(soak.until, soak.client)
        moment = rng.uniform(0.0, 0.6)
        for index in range(FLOWS):
            soak.submit(f'round{number}.{index}')
        soak.spin(moment)
        before = soak.reader.last_seq()
        soak.kill(victim)
        soak.spin(rng.uniform(0.0, 0.5))
        soak.check()
        print(f'round {number}: {victim} after {moment:.2f} s at row {before}, '
              f'now {soak.checked}', flush=True)
        assert soak.checked or number < FIRST + 5, soak.refused  # there is a load
    ledger = RedisReader(soak.redis.url)
    rows = list(soak.reader.rows())
    assert list(ledger.rows()) == rows
    ledger.close()
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) > 20 * ROUNDS, soak.refused  # there was a load
    assert verify_journal(soak.path) == []
    asked = sum(row.to_state == 'executing_motion' for row in rows)
    print(f'{len(rows)} rows, {asked} motions')
