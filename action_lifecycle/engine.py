# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public names of graphs, machines, typed states and steps; they live in graphs/ and agents/."""

from .agents.chooser import by_priority, ByRule, Choice, ChoiceError, Chooser, first_ready
from .agents.handler import StateHandler
from .agents.steps import MAX_ITER, run_steps, Session, StepsResult
from .agents.tool_state import ToolError, ToolManager
from .documents.errors import (
    DocumentError,
    Fault,
    GraphError,
    LifecycleError,
    StateTransitionError,
    TransitionNotAllowed,
)
from .graphs.drawing import render_graph
from .graphs.graph import Graph, GraphState, Invariant, Transition
from .graphs.graph_file import graph_schema
from .graphs.loader import load_graph
from .graphs.machine import Change, Machine
from .graphs.state_types import Pause, register_state, State

__all__ = [
    'MAX_ITER', 'ByRule', 'Change', 'Choice', 'ChoiceError', 'Chooser', 'DocumentError', 'Fault',
    'Graph', 'GraphError', 'GraphState', 'Invariant', 'LifecycleError', 'Machine', 'Pause',
    'Session', 'State', 'StateHandler', 'StateTransitionError', 'StepsResult', 'ToolError',
    'ToolManager', 'Transition', 'TransitionNotAllowed', 'by_priority', 'first_ready',
    'graph_schema', 'load_graph', 'register_state', 'render_graph', 'run_steps',
]
