# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The hooks of running flows, used by orders of people, jobs, recipes and planners."""

from __future__ import annotations

from .flow_run import FlowRun
from ...lifecycle.running.runner import ActionRunner


class Extension:
    """Base class of extensions; its methods are called in the orchestrator's thread."""

    def began(self, run: FlowRun) -> None:
        """Handle a flow before its first action starts, or before it resumes after a restart."""

    def restored(self, run: FlowRun) -> None:
        """Handle a flow that is not canceled after a restart, when its actions have resumed."""

    def may_start(self, run: FlowRun, action_id: str) -> bool:
        """Return whether a ready action may start; if not, call `FlowRunner.due` later."""
        return True

    def assign_again(self, run: FlowRun, runner: ActionRunner) -> bool:
        """Return whether an ended action runs again; then assign it and call `FlowRunner.due`."""
        return False

    def completed(self, run: FlowRun, names: list[str]) -> None:
        """Handle a batch of ended actions, or the start of the flow (no names)."""

    def is_blocking(self, run: FlowRun) -> bool:
        """Return whether the flow must not end yet; call `FlowRunner.advance_soon` when it may."""
        return False

    def keeps_held(self, run: FlowRun) -> bool:
        """Return whether actions that can't start are not skipped yet; see `Dependencies.held`."""
        return False

    def canceled(self, run: FlowRun) -> None:
        """Handle the cancel of a flow, before its actions are canceled."""

    def ending(self, run: FlowRun) -> None:
        """Handle an edit that ends the flow, before the waiting actions are skipped."""

    def action_canceled(self, run: FlowRun, action_id: str) -> None:
        """Handle the cancel of an action, before it is canceled."""

    def flow_ended(self, run: FlowRun) -> None:
        """Handle the end of a flow, after it is journaled."""

    def left(self, run: FlowRun) -> None:
        """Forget a flow that is dropped: the process ends, or the flow is set aside."""
