# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Flows: acyclic graphs of actions; loading, running, editing and scheduling them."""

from .authoring import Flow
from .files.edit import FlowEdit, parse_edit
from .files.flow import LoadedFlow
from .files.loader import load_flow, parse_flow
from .orchestrator import Orchestrator
from .planning.planners import PlanAnswer, PlanRequest, register_planner
from .recipes.recipe import Recipe
from .run.flow_run import FlowRun
from .run.metrics import FlowMetrics
from .run.recorder import JournalRecorder

__all__ = [
    'Flow', 'FlowEdit', 'FlowMetrics', 'FlowRun', 'JournalRecorder', 'LoadedFlow', 'Orchestrator',
    'PlanAnswer', 'PlanRequest', 'Recipe', 'load_flow', 'parse_edit', 'parse_flow',
    'register_planner',
]
