# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Graphs and the state machines that run on them; imports nothing else of the package."""

from . import builtin_states  # noqa: F401  (registers the built-in types)
from .chooser import by_priority, ByRule, Choice, ChoiceError, Chooser, first_ready
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
from .states import Pause, register_state, State
from .steps import MAX_ITER, run_steps, Session, StepsResult
from .tool_state import ToolError, ToolManager

__all__ = [
    'MAX_ITER', 'ByRule', 'Change', 'Choice', 'ChoiceError', 'Chooser', 'DocumentError', 'Fault',
    'Graph', 'GraphError', 'GraphState', 'Invariant', 'LifecycleError', 'Machine', 'Pause',
    'Session', 'State', 'StateHandler', 'StateTransitionError', 'StepsResult', 'ToolError',
    'ToolManager', 'Transition', 'TransitionNotAllowed', 'by_priority', 'first_ready',
    'graph_schema', 'load_graph', 'register_state', 'render_graph', 'run_steps',
]
