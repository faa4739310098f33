# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Keeps tests with nodes apart from one another."""

from __future__ import annotations

from collections.abc import Mapping
import fcntl
import gc
import os
from pathlib import Path
import random
import re
import time
from typing import IO

DOMAINS = Path('/tmp/action_lifecycle_domains')  # of all runs, whatever their TMPDIR is
KEPT = 30  # more than the tests of a module take while its fixtures use their domain
TRIES = 10  # a second apart
PORTS = 75  # of a domain's 250, those by which Fast DDS finds up to 32 participants
PROFILES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')  # to Jazzy, later
_UDP = str(Path(__file__).parents[1] / 'config' / 'dds' / 'fastdds_udp.xml')


def use_udp() -> None:
    """
    Let Fast DDS connect the processes of tests by UDP, unless a file of its settings is named.

    Tests kill processes, and what a killed one leaves in shared memory may block others for good
    (docs/crash.md). Fast DDS reads the file as the first participant of a process is made.
    """
    if not any(name in os.environ for name in PROFILES):
        os.environ.update(dict.fromkeys(PROFILES, _UDP), ROS_AUTOMATIC_DISCOVERY_RANGE='SUBNET')


def as_it_comes(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of processes that Fast DDS connects as it does by default."""
    return {name: value for name, value in environment.items() if name not in PROFILES} | {
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}


_HELD: list[IO[str]] = []  # files locked by this process until it ends
_OF_TESTS: list[IO[str]] = []  # those that tests have locked, the oldest first


def domain_id() -> int:
    """
    Return a ROS domain that no other process on this machine uses.

    It is free when nobody holds its file or listens to its ports. What a test is given is kept for
    as long as it may use it, not longer: there are 200 in all, and others run tests on this
    machine too. What is asked for at import is kept until the end.

    What killed processes left of it in shared memory is removed: Fast DDS waits up to 1 s for each
    port of it that nobody reads, with a publish on hold. Nodes of earlier tests are gone
    afterwards: rclpy leaves managed nodes and action servers to the garbage collector, and Fast
    DDS finds no more than 32 participants of a process on localhost.
    """
    gc.collect()
    folder = DOMAINS
    folder.mkdir(exist_ok=True)
    if len(_OF_TESTS) > KEPT:
        _OF_TESTS.pop(0).close()
    held = _OF_TESTS if 'PYTEST_CURRENT_TEST' in os.environ else _HELD
    for _ in range(TRIES):
        for domain in random.sample(range(1, 201), 200):
            file = (folder / str(domain)).open('w')
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                continue
            if not _has_open_port(domain) and _clear_ports(domain):
                held.append(file)
                return domain
            file.close()
        time.sleep(1.0)
    raise RuntimeError(f'no ROS domain is free: processes hold all of {folder}')


def _first_port(domain: int) -> int:
    return 7400 + 250 * domain  # by the RTPS specification


def _has_open_port(domain: int) -> bool:
    """Tell if a process listens to a port of a domain by UDP."""
    first = _first_port(domain)
    lines = Path('/proc/net/udp').read_text().splitlines()[1:]
    return any(first <= int(line.split()[1].split(':')[1], 16) < first + PORTS for line in lines)


def _clear_ports(domain: int) -> bool:
    """Remove the files of Fast DDS's ports of a domain; False when one is not to be had."""
    first = _first_port(domain)
    files = [path for path in Path('/dev/shm').glob('*fastrtps_port*')
             if (port := re.search(r'port(\d+)', path.name))
             and first <= int(port[1]) < first + 250]
    try:
        for path in files:
            if path.name.endswith(('_el', '_sl')):  # locked while a process listens
                with path.open('rb') as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in files:
            path.unlink(missing_ok=True)
    except OSError:  # locked, or another user's
        return False
    return True
