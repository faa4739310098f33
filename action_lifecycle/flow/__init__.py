# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flows: a DAG of actions, from a file to its end."""

from .loading import Flow, load_flow, parse_flow
from .orchestrator import FlowRun, Orchestrator
from .recorder import JournalRecorder

__all__ = ['Flow', 'FlowRun', 'JournalRecorder', 'Orchestrator', 'load_flow', 'parse_flow']
