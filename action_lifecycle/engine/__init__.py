# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The engine: graphs and the machines that run on them; imports nothing else of the package."""

from .errors import (
    DocumentError,
    Fault,
    GraphError,
    LifecycleError,
    StateTransitionError,
    TransitionNotAllowed,
)
from .graph import Graph, GraphState, Invariant, Transition
from .loader import load_graph
from .machine import Change, Machine
from .states import State, register_state

__all__ = [
    'Change', 'DocumentError', 'Fault', 'Graph', 'GraphError', 'GraphState', 'Invariant',
    'LifecycleError', 'Machine', 'State', 'StateTransitionError', 'Transition',
    'TransitionNotAllowed', 'load_graph', 'register_state',
]
