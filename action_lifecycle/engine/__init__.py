# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The engine: graphs and the machines that run on them; imports nothing else of the package."""

from . import builtin_states  # noqa: F401  (registers the built-in types)
from .chooser import ByRule, Choice, ChoiceError, Chooser, by_priority, first_ready
from .draw import render_graph
from .errors import (
    DocumentError,
    Fault,
    GraphError,
    LifecycleError,
    StateTransitionError,
    TransitionNotAllowed,
)
from .graph import Graph, GraphState, Invariant, Transition
from .graph_file import graph_schema
from .handler import StateHandler
from .loader import load_graph
from .machine import Change, Machine
from .states import Pause, State, register_state
from .steps import MAX_ITER, Session, StepsResult, run_steps

__all__ = [
    'MAX_ITER', 'ByRule', 'Change', 'Choice', 'ChoiceError', 'Chooser', 'DocumentError', 'Fault',
    'Graph', 'GraphError', 'GraphState', 'Invariant', 'LifecycleError', 'Machine', 'Pause',
    'Session', 'State', 'StateHandler', 'StateTransitionError', 'StepsResult', 'Transition',
    'TransitionNotAllowed', 'by_priority', 'first_ready', 'graph_schema', 'load_graph',
    'register_state', 'render_graph', 'run_steps',
]
