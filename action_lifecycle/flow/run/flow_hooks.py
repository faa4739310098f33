# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Hooks into the running of flows, for jobs, recipes and planners."""

from __future__ import annotations

from .flow_run import FlowRun
from ...lifecycle.running.runner import ActionRunner


class Extension:
    """Base class without effect; its methods are called in the orchestrator's thread."""

    def began(self, run: FlowRun) -> None:
        """Handle a flow before its first action starts, or before it resumes after a restart."""

    def may_start(self, run: FlowRun, action_id: str) -> bool:
        """Whether a ready action may start; if not, call `FlowRunner.due` when it may."""
        return True

    def assign_again(self, run: FlowRun, runner: ActionRunner) -> bool:
        """Whether an ended action runs again; if so, assign it and call `FlowRunner.due`."""
        return False

    def completed(self, run: FlowRun, names: list[str]) -> None:
        """Handle a batch of ended actions, and with no names the start of the flow."""

    def is_blocking(self, run: FlowRun) -> bool:
        """Whether the flow must not end yet; `FlowRunner.proceed` checks again."""
        return False

    def canceled(self, run: FlowRun) -> None:
        """Handle that a flow is canceled, before its actions are."""

    def flow_ended(self, run: FlowRun) -> None:
        """Handle the end of a flow, after it is journaled."""
