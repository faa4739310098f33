# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a graph must be to be hosted, and who leaves its states."""

from __future__ import annotations

from .host import CANCEL, Host, POLL
from ...dialogue import Dialogue
from ...documents.errors import LifecycleError
from ...graphs.graph import Graph
from ...invoke import Invoker

BY_USER = ('user', 'terminal', '')
"""Types of states that are left by events of the user."""


def working_states(graph: Graph) -> frozenset[str]:
    """Return the states that run by themselves."""
    return frozenset(name for name, state in graph.states.items()
                     if state.type not in (*BY_USER, 'invoker') and not state.final)


def invoker_states(graph: Graph) -> frozenset[str]:
    """Return the states whose work is done by the engine."""
    return frozenset(name for name, state in graph.states.items()
                     if state.type == 'invoker' and not state.final)


def check_graph(graph: Graph, host: Host) -> None:
    """Raise LifecycleError with all reasons why a graph can't be hosted."""
    faults = []
    for transition in graph.transitions:
        for field in ('cond', 'unless', 'validators', 'before', 'on', 'after'):
            for name in getattr(transition, field):
                faults.append(f"{transition!r}: {field} '{name}': a hosted graph has no guards or "
                              'hooks')
    for state in graph.states.values():
        for name in (*state.enter, *state.exit):
            faults.append(f"state '{state.name}': hook '{name}': a hosted graph has no guards or "
                          'hooks')
    for event in (POLL, CANCEL):
        if event in graph.events:
            faults.append(f"no event may be called '{event}'")
    try:
        Dialogue(graph)
    except LifecycleError as error:
        faults.append(str(error))
    if invoker_states(graph):
        try:
            if host.engine is None:
                raise LifecycleError('states of type invoker need an engine')
            Invoker(graph, host.engine)
        except LifecycleError as error:
            faults.append(str(error))
    if faults:
        raise LifecycleError('\n'.join(
            fault if fault.startswith('graph ') else f"graph '{graph.name}': {fault}"
            for fault in faults))
