# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of a node for the engine of its outside work."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
import socket

from .urls import url_fault
from ...invoke import Engine, ENGINES, make_engine
from ...ros.node.lifecycle_node import ManagedNode


def declare_engine(node: ManagedNode) -> None:
    """Declare the parameters of `node_engine`."""
    node.declare('engine', 'local', 'Engine of outside work.', choices=ENGINES)
    node.declare('workers', 2, 'Number of worker processes of the local engine.', limits=(1, 64))
    node.declare('broker', '', 'URL of the Redis server of the Celery engine, without a password.',
                 check=url_fault)
    node.declare('task_time_limit', 60.0, 'Time limit (s) of a task that has none.',
                 limits=(0.1, 86400.0))
    node.declare('queue_limit', 600.0, 'Time (s) in which a Celery worker has to take a task.',
                 limits=(1.0, 86400.0))


def node_engine(node: ManagedNode, journal: Path) -> Engine:
    """
    Return a new engine; raises LifecycleError.

    Its name follows from the machine and the journal, so that the node finds its jobs again after
    a restart.
    """
    name = blake2b(f'{socket.gethostname()}:{journal}'.encode(), digest_size=8).hexdigest()
    return make_engine(
        str(node.parameter('engine')), workers=int(node.parameter('workers')),
        time_limit=float(node.parameter('task_time_limit')),
        broker=str(node.parameter('broker')),
        queue_limit=float(node.parameter('queue_limit')), engine_name=name)
