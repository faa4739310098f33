# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A graph file with typed states, from which sessions get their state objects."""

from __future__ import annotations

from collections.abc import Iterable
import copy
from pathlib import Path
from typing import Any

from .chooser import Choice
from ..documents.errors import LifecycleError
from ..graphs.graph import Graph, Transition
from ..graphs.loader import load_graph
from ..graphs.state_types import REGISTRY, State


class StateHandler:
    """
    The typed states of a graph file; sessions may share it.

    `states_folder` has files `state_<name>.py` with further types. Each call of `get_state`
    returns a new object with its own copy of the configuration. Raises `LifecycleError` for a
    graph with untyped states, unless `untyped`: then these can't be got.
    """

    def __init__(
        self,
        yaml_path: str | Path | None = None,
        *,
        graph: Graph | None = None,
        states_folder: str | Path | None = None,
        untyped: bool = False,
    ) -> None:
        if states_folder is not None:
            REGISTRY.load_folder(states_folder)
        if graph is None:
            if yaml_path is None:
                raise LifecycleError('a StateHandler needs a yaml_path or a graph')
            graph = load_graph(yaml_path)
        without = [name for name, state in graph.states.items() if not state.type]
        if without and not untyped:
            raise LifecycleError(
                f"graph '{graph.name}': no type is given for {', '.join(without)}")
        self.graph = graph

    def get_initial_state(self) -> State:
        """Return a new object of the initial state."""
        return self.get_state(self.graph.initial)

    def get_state(self, name: str) -> State:
        """Return a new object of a state; raises `LifecycleError` for an unknown name."""
        config = self.graph.state(name)
        state = REGISTRY[config.type](name, copy.deepcopy(dict(config.config)))
        state.ways = self.choice(name, self.graph.transitions_from(name), None).described
        return state

    def get_transitions(self, state: State | str, messages: Any = None) -> dict[str, list[str]]:
        """Return the names of the next states as `tt` and their descriptions as `td`."""
        name = state.name if isinstance(state, State) else state
        choice = self.choice(name, self.graph.transitions_from(name), messages)
        return {'tt': list(choice.names), 'td': list(choice.descriptions)}

    def choice(self, state: str, transitions: Iterable[Transition], context: Any) -> Choice:
        """Return the choice for a chooser; keeps the first of several transitions to one state."""
        ways: dict[str, Transition] = {}
        for transition in transitions:
            ways.setdefault(transition.target, transition)
        return Choice(
            state, tuple(ways.values()), tuple(ways),
            tuple(transition.description or self.graph.states[target].description
                  for target, transition in ways.items()),
            context)
