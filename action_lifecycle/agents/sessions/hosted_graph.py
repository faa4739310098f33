# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a graph must be to be hosted, and who leaves its states."""

from __future__ import annotations

from .host import CANCEL, Host, POLL
from ...dialogue import Dialogue
from ...dialogue.hooks import make_hooks
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...graphs.graph import Graph
from ...graphs.hooks import find_hooks
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
    for event in (POLL, CANCEL):
        if event in graph.events:
            faults.append(f"no event may be called '{event}'")
    try:
        faults += _hook_faults(graph, Dialogue(graph))
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


def _hook_faults(graph: Graph, dialogue: Dialogue) -> list[str]:
    """Return what is wrong with the hooks and guards that a graph names."""
    listeners = make_hooks(graph.listener, dialogue)
    named = [(f"{transition!r}: {field} '{name}'", name) for transition in graph.transitions
             for field in ('cond', 'unless', 'validators', 'before', 'on', 'after')
             for name in getattr(transition, field)]
    named += [(f"state '{state.name}': hook '{name}'", name) for state in graph.states.values()
              for name in (*state.enter, *state.exit)]
    faults = []
    for where, name in named:
        if not listeners:
            faults.append(f'{where}: the graph names no `hooks` that have it')
        elif hasattr(dialogue, name) or hasattr(Invoker, name):
            faults.append(f'{where}: sessions have something of this name; use another one')
        elif not hasattr(listeners[0], name):
            faults.append(f"{where}: hooks '{graph.listener}' do not have it"
                          + nearest(name, dir(listeners[0])))
    return faults or [
        f"{transition!r}: hooks '{graph.listener}': those of a session can't be async"
        for transition in graph.transitions if find_hooks(graph, transition, listeners).is_async]
