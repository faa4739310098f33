# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The simulated cell and the three nodes as real processes, each of which can be killed."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import io
import os
from pathlib import Path
import signal
import subprocess
import time
from typing import Any
from unittest.mock import patch

from action_lifecycle.cli import main
from action_lifecycle.journal import Row
from ament_index_python.packages import get_package_share_directory
from isolation import domain_id
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import UInt32

from .forked import Forked, ros_arguments
from .waiting import logs_of, rows_of, serve_until

SHARE = Path(get_package_share_directory('action_lifecycle'))
FACTS = SHARE / 'config' / 'facts' / 'cell.yaml'
NODES = ('world_model_bridge', 'ledger', 'action_lifecycle_node')


def _patient(facts: str) -> str:
    """Return facts of an e-stop that does not stop when a process stands still for a while."""
    patient = facts.replace('mode: heartbeat, max_age: 1.0', 'mode: heartbeat, max_age: 10.0')
    assert patient != facts
    return patient


class System:
    """
    Processes on a ROS domain of their own, with one journal.

    `composed`: the three nodes are one process, which any of their names starts and ends.
    """

    def __init__(self, folder: Path, composed: bool = False) -> None:
        self.folder = folder
        self.composed = composed
        self.journal_path = folder / 'journal'
        self.domain = domain_id()
        self.environment = {
            **os.environ, 'ROS_DOMAIN_ID': str(self.domain), 'ROS_LOG_DIR': str(folder),
            'PYTHONFAULTHANDLER': '1'}
        self.processes: dict[str, Forked] = {}
        self.facts = folder / 'cell.yaml'
        self.facts.write_text(_patient(FACTS.read_text(encoding='utf-8')), encoding='utf-8')
        self.context = Context()
        rclpy.init(context=self.context, domain_id=self.domain)
        self.node = rclpy.create_node('test_system', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.motions: dict[str, int] = {}
        self.clients: dict[str, Any] = {}

    def start(self, name: str, **parameters: Any) -> Forked:
        """Start a process by its executable; `use_sim_time` and what it needs are given."""
        name = self.process_of(name)
        if name == 'composed' and name in self.processes:
            return self.processes[name]
        simulator = name in ('sim_cell', 'sim_estop')
        given: dict[str, Any] = {'use_sim_time': not simulator}
        if not simulator:
            given['autostart'] = True
        if name in ('action_lifecycle_node', 'ledger', 'composed'):
            given['journal_path'] = str(self.journal_path)
        if name == 'sim_cell' and 'sim_estop' not in self.processes:
            self.start('sim_estop')
        if name in ('world_model_bridge', 'composed'):
            given['facts_file'] = str(self.facts)
        command = [*self.program(name), *ros_arguments({**given, **parameters})]
        with open(self.folder / f'{name}.log', 'ab') as log:
            self.processes[name] = Forked(command, self.environment, log)
        return self.processes[name]

    def process_of(self, name: str) -> str:
        """Return the executable that runs a node."""
        return 'composed' if self.composed and name in NODES else name

    def program(self, name: str) -> list[str]:
        """Return the command of an executable, without its arguments."""
        return [name]

    def start_all(
        self, facts_file: Path | None = None, *, boxes: bool = False, **cell: Any
    ) -> None:
        """
        Start the cell and the three nodes, and watch the cell's count of motions.

        `boxes`: whether the bridge writes black boxes.
        """
        self.start('sim_cell', **cell)
        self.start('world_model_bridge', facts_file=facts_file or self.facts, **(
            {'black_box.folder': self.folder / 'boxes'} if boxes else {}))
        for name in ('ledger', 'action_lifecycle_node'):
            self.start(name)
        self.count_motions()

    def count_motions(self) -> None:
        """Watch the cell's count of motions."""
        for controller in ('arm_controller', 'gripper_controller'):
            self.node.create_subscription(
                UInt32, f'{controller}/motions_started',
                lambda message, controller=controller: self.motions.__setitem__(
                    controller, message.data),
                rclpy.qos.QoSProfile(depth=1, durability=1))

    def client(self, kind: type, name: str) -> Any:
        """Return the one client of a service: an early answer to a new one may be lost."""
        if name not in self.clients:
            self.clients[name] = self.node.create_client(kind, name)
        return self.clients[name]

    def kill(self, name: str) -> None:
        """End a process as a power switch would; the composed one may have ended already."""
        name = self.process_of(name)
        if name == 'composed' and name not in self.processes:
            return
        process = self.processes.pop(name)
        process.kill()
        process.wait(10.0)

    def stop(self, name: str, number: int = signal.SIGINT, timeout: float = 10.0) -> float:
        """Send a signal and return how many seconds the process took to end."""
        process = self.processes.pop(self.process_of(name))
        started = time.monotonic()
        process.send_signal(number)
        process.wait(timeout)
        return time.monotonic() - started

    def run(self, flow: Path, *arguments: str, stdout: Any = subprocess.PIPE
            ) -> Forked:
        """Run a flow by the console command; give a file when nobody reads what it tells."""
        return Forked(['action_lifecycle', 'run', str(flow), '--plain', '--wait', '30',
                       *arguments], self.environment, stdout)

    def shell(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a console command in this process, without the imports of one of its own."""
        out, err = io.StringIO(), io.StringIO()
        with patch.dict(os.environ, ROS_DOMAIN_ID=str(self.domain), COLUMNS='140'), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(arguments)
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    def rows(self, **query: Any) -> list[Row]:
        """Return what the journal has now."""
        return rows_of(self.journal_path, **query)

    def until(self, done: Callable[[], Any], timeout: float, what: str) -> Any:
        """Serve callbacks until something is so; with the logs in the failure."""
        return serve_until(self.executor, done, timeout, what, self.folder)

    def until_state(self, action_id: str, state: str, timeout: float = 40.0) -> Row:
        """Wait until an action's last change is into this state."""
        def last() -> Row | None:
            rows = self.rows(action_id=action_id, kind='transition')
            return rows[-1] if rows and rows[-1].to_state == state else None
        row: Row = self.until(last, timeout, f'{action_id} {state}')
        return row

    def logs(self) -> str:
        """Return the ends of all logs."""
        return logs_of(self.folder)

    def close(self) -> None:
        """End everything."""
        for process in self.processes.values():
            process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            try:
                process.wait(8.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5.0)
        self.node.destroy_node()
        self.context.try_shutdown()
