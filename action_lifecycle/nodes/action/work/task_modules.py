# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The modules whose functions flows may call as tasks, since a program may write a flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import sys

from ....graphs.graph import Graph
from ....invoke.work import read_work, tasks_of, Work

ANY = '*'
"""Allows all modules except those of Python itself and of this package."""
_OWN = 'action_lifecycle'


def module_faults(work: Work, allowed: Sequence[str]) -> Iterator[str]:
    """Yield the tasks of modules that are not allowed; `allowed`: modules and packages, or ANY."""
    for call in sorted({task.call for task in tasks_of(work)}):
        module = call.partition(':')[0]
        package = module.partition('.')[0]
        if any(module == name or module.startswith(f'{name}.') for name in allowed):
            continue
        if ANY not in allowed:
            yield f"'{call}': the parameter job_modules does not name its module"
        elif package in sys.stdlib_module_names or package == _OWN:
            yield (f"'{call}': functions of '{package}' are not called by flows, unless the "
                   'parameter job_modules names it')


def graph_faults(graph: Graph, allowed: Sequence[str]) -> Iterator[str]:
    """Yield the tasks of a graph's states whose modules are not allowed."""
    for state in graph.states.values():
        if state.type == 'invoker':
            for fault in module_faults(read_work(state.config['invoke'], 'invoke'), allowed):
                yield f"state '{state.name}', {fault}"
