# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The real launch file: the cell and the nodes come up, the demo flow runs and is verified."""

from __future__ import annotations

import json
import os
from pathlib import Path
import subprocess
import tempfile
import time
from typing import Any
import unittest

from action_lifecycle.journal import JournalReader
from ament_index_python.packages import get_package_share_directory
from isolation import domain_id
import launch
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
import launch_testing
import launch_testing.actions
import launch_testing.asserts
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
import pytest
import rclpy

FOLDER = Path(tempfile.mkdtemp(prefix='action_lifecycle_launch_'))
os.environ.update(ROS_DOMAIN_ID=str(domain_id()), ROS_LOG_DIR=str(FOLDER))
SHARE = Path(get_package_share_directory('action_lifecycle'))
FLOW = SHARE / 'config' / 'flows' / 'pick_and_place.yaml'
NODES = ('world_model_bridge', 'ledger', 'action_lifecycle')
SPEED = '1.0'


@pytest.mark.long
@pytest.mark.launch_test
def generate_test_description() -> launch.LaunchDescription:
    return launch.LaunchDescription([
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'demo.launch.py')),
            launch_arguments={
                'flow': '', 'journal_path': str(FOLDER / 'journal'),
                'picture_path': str(FOLDER / 'cell.png'), 'real_time_factor': SPEED}.items()),
        launch_testing.actions.ReadyToTest(),
    ])


class TestDemo(unittest.TestCase):

    def test_1_all_nodes_become_active(self) -> None:
        rclpy.init()
        node = rclpy.create_node('test_demo')
        try:
            for name in NODES:
                self._wait_until_active(node, name)
        finally:
            node.destroy_node()
            rclpy.try_shutdown()

    def _wait_until_active(self, node: Any, name: str) -> None:
        client = node.create_client(GetState, f'{name}/get_state')
        self.assertTrue(client.wait_for_service(30.0), f'{name} is not there')
        deadline = time.monotonic() + 30.0
        label = ''
        while time.monotonic() < deadline:
            future = client.call_async(GetState.Request())
            rclpy.spin_until_future_complete(node, future, timeout_sec=5.0)
            if not future.done():
                continue  # the answer may get lost while both still discover each other
            label = future.result().current_state.label
            if future.result().current_state.id == State.PRIMARY_STATE_ACTIVE:
                return
        self.fail(f'{name} stays {label}')

    def test_2_the_flow_runs_and_the_dropped_part_is_recovered(self) -> None:
        run = subprocess.run(
            ['action_lifecycle', 'run', str(FLOW), '--json', str(FOLDER / 'summary.json')],
            capture_output=True, text=True, timeout=110)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        summary = json.loads((FOLDER / 'summary.json').read_text())
        self.assertEqual(
            {name: summary[name] for name in ('total', 'succeeded', 'failed', 'unverified')},
            {'total': 7, 'succeeded': 7, 'failed': 0, 'unverified': 0})
        self.assertEqual(summary['recovered'], 1)
        self._check_journal()

    def _check_journal(self) -> None:
        """Expect that the controller said succeeded twice, and that the sensors knew better."""
        with JournalReader(FOLDER / 'journal') as journal:
            rows = list(journal.rows(action_id='pick_b'))
        said = [row.data['controller_said'] for row in rows if row.event == 'motion_done']
        self.assertEqual(len(said), 2)
        self.assertTrue(all(text == 'succeeded' for text in said), said)
        (refuted,) = (row for row in rows if row.event == 'fail')
        self.assertEqual(refuted.data['error_code'], 'REFUTED')
        facts = {fact['name'] for item in refuted.data['evidence'] for fact in item['facts']}
        self.assertIn('gap', facts)


@launch_testing.post_shutdown_test()
class TestAfterwards(unittest.TestCase):

    def test_every_process_ended_in_order(self, proc_info: Any) -> None:
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_the_journal_is_whole(self) -> None:
        with JournalReader(FOLDER / 'journal') as journal:
            self.assertEqual(journal.open_actions(), [])
