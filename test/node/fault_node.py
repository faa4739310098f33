# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Runs a node that kills processes at an exact place of its work.

usage: fault_node.py EXECUTABLE FILE [ROS ARGUMENT…]

FILE holds the fault as JSON; while it is not there the node works as usual, so that a running
node can be given one at any time. `at` is `before` or `after` (a row of the journal), `called` (a
request to a service or an action server has left), `published` or `responded` (so has a message or
an answer); `kind`, `event` and `flow_id` name the row, `name` is a part of the name of what is
called. `pids` are killed with SIGKILL, in this order; the file is removed first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
import importlib
import json
import os
from pathlib import Path
import signal
import sys
from typing import Any

from action_lifecycle.journal import Entry, Journal
from rclpy.client import Client
from rclpy.publisher import Publisher
from rclpy.service import Service

MODULES = {
    'action_lifecycle_node': 'action_lifecycle.nodes.action.node',
    'world_model_bridge': 'action_lifecycle.nodes.bridge.node'}


class Fault:
    """The fault that the file holds, if any."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> dict[str, Any]:
        """Return it, {} when there is none."""
        try:
            found: dict[str, Any] = json.loads(self._file.read_text(encoding='utf-8'))
        except FileNotFoundError:
            return {}
        return found

    def strike(self, fault: dict[str, Any]) -> None:
        """Kill."""
        self._file.unlink()
        for pid in fault['pids']:
            os.kill(pid, signal.SIGKILL)

    def row(self, at: str, entries: Iterable[Entry]) -> None:
        """Kill when one of these rows is the one."""
        fault = self.read()
        if fault.get('at') == at and any(
                all(getattr(entry, field) == fault[field]
                    for field in ('kind', 'event', 'flow_id') if field in fault)
                for entry in entries):
            self.strike(fault)

    def outward(self, at: str, name: str) -> None:
        """Kill when what has just left is the one."""
        fault = self.read()
        if fault.get('at') == at and fault['name'] in name:
            self.strike(fault)


def around_rows(method: Callable[..., Any], fault: Fault, many: bool) -> Callable[..., Any]:
    """Wrap a method of the journal that appends."""
    @wraps(method)
    def append(self: Journal, given: Any) -> Any:
        entries = list(given) if many else [given]
        fault.row('before', entries)
        result = method(self, entries if many else given)
        fault.row('after', entries)
        return result

    return append


def after(method: Callable[..., Any], fault: Fault, at: str, field: str) -> Callable[..., Any]:
    """Wrap a method by which something leaves the process."""
    @wraps(method)
    def leave(self: Any, *given: Any) -> Any:
        result = method(self, *given)
        fault.outward(at, getattr(self, field))
        return result

    return leave


def main() -> int:
    """Run the node."""
    executable, file, *arguments = sys.argv[1:]
    fault = Fault(Path(file))
    for name, many in (('append', False), ('append_many', True)):
        setattr(Journal, name, around_rows(getattr(Journal, name), fault, many))
    for cls, name, at, field in (
            (Client, 'call_async', 'called', 'srv_name'),
            (Publisher, 'publish', 'published', 'topic_name'),
            (Service, 'send_response', 'responded', 'srv_name')):
        setattr(cls, name, after(getattr(cls, name), fault, at, field))
    code: int = importlib.import_module(MODULES[executable]).main([executable, *arguments])
    return code


if __name__ == '__main__':
    sys.exit(main())
