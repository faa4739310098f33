# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every process ends in order at Ctrl-C and SIGTERM, whatever it is doing: never by a signal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
import os
from pathlib import Path
import random
import signal
import subprocess
import time

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from isolation import domain_id
import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

from .waiting import logs_of

LIB = Path(get_package_prefix('action_lifecycle')) / 'lib' / 'action_lifecycle'
FACTS = Path(get_package_share_directory('action_lifecycle')) / 'config' / 'facts' / 'cell.yaml'
ROUNDS = int(os.environ.get('ENDING_ROUNDS', '1'))
SEED = int(os.environ.get('ENDING_SEED', '20261122'))
LIMIT = 90.0  #: s, also while other programs keep the machine busy
EXECUTABLES = {'sim_cell': ('cell',), 'sim_estop': ('estop',), 'ledger': ('ledger',),
               'world_model_bridge': ('world_model_bridge',),
               'action_lifecycle_node': ('action_lifecycle',),
               'composed': ('world_model_bridge', 'ledger', 'action_lifecycle')}


class Watch:
    """Sees which nodes are there, and asks the cell for pictures."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node('test_endings', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.picture = self.node.create_client(Trigger, '/cell/save_picture')

    def until(self, done: Callable[[], bool], what: str, folder: Path) -> None:
        """Serve callbacks until something is so."""
        deadline = time.monotonic() + LIMIT
        while not done():
            assert time.monotonic() < deadline, f'{what}\n{logs_of(folder)}'
            self.executor.spin_once(timeout_sec=0.02)

    def names(self) -> set[str]:
        """Return the nodes that are there, with their namespaces."""
        return {f'{space.rstrip("/")}/{name}'
                for name, space in self.node.get_node_names_and_namespaces()}

    def spin(self, seconds: float) -> None:
        """Serve callbacks for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)

    def close(self) -> None:
        """Forget the nodes."""
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


def begin(folder: Path, domain: int) -> dict[str, subprocess.Popen[bytes]]:
    """Start each executable; `composed` in a namespace of its own."""
    folder.mkdir()
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'ROS_LOG_DIR': str(folder)}
    processes = {}
    for name in EXECUTABLES:
        given = ['-p', f'picture_path:={folder}/cell.png']
        if not name.startswith('sim_'):
            place = folder / ('composed' if name == 'composed' else 'alone')
            given = ['-p', 'autostart:=true', '-p', f'facts_file:={FACTS}',
                     '-p', f'journal_path:={place}.journal']
        if name == 'composed':
            given += ['-r', '__ns:=/composed']
        with (folder / f'{name}.log').open('wb') as log:
            processes[name] = subprocess.Popen([str(LIB / name), '--ros-args', *given],
                                               env=environment, stdout=log, stderr=log)
    return processes


def rounds(folder: Path, number: signal.Signals, count: int, rng: random.Random) -> Counter[str]:
    """Begin and end all of them so often; return how often each ended with which code."""
    codes: Counter[str] = Counter()
    domain = domain_id()
    wanted = {f'/{"composed/" if name == "composed" else ""}{node}'
              for name, nodes in EXECUTABLES.items() for node in nodes}
    for turn in range(count):
        watch = Watch(domain)
        place = folder / f'{number.name}{turn}'
        processes = begin(place, domain)
        try:
            watch.until(lambda watch=watch: watch.names() >= wanted, 'nodes are missing', place)
            if turn % 2:
                watch.until(watch.picture.service_is_ready, 'no service', place)
                watch.picture.call_async(Trigger.Request())
            watch.spin(rng.uniform(0.0, 1.5))
            for process in rng.sample(list(processes.values()), len(processes)):
                process.send_signal(number)
                watch.spin(rng.choice([0.0, rng.uniform(0.0, 0.3)]))
            for name, process in processes.items():
                code = process.wait(LIMIT)
                codes[f'{name} {code}'] += 1
                assert code == 0, f'{name} ended with {code}\n{logs_of(place)}'
        finally:
            for process in processes.values():
                process.kill()
                process.wait()
            watch.close()
        said = logs_of(place)
        assert 'Traceback' not in said and 'terminate called' not in said, said
    return codes


@pytest.mark.timeout(120 + 60 * ROUNDS)
@pytest.mark.parametrize('number', [
    signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_no_process_ends_by_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    codes = rounds(tmp_path, number, ROUNDS, random.Random(SEED))
    assert codes == {f'{name} 0': ROUNDS for name in EXECUTABLES}
    print(f'{number.name}, {ROUNDS} times each: {dict(codes)}')
