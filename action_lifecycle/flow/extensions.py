# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where others take part in the running of flows: jobs, planners that steer, recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lifecycle.runner import ActionRunner

if TYPE_CHECKING:
    from .orchestrator import FlowRun


class Extension:
    """Takes no part; called in the orchestrator's thread. Override what is of interest."""

    def began(self, run: FlowRun) -> None:
        """Take in a flow that is about to run its first action, or to go on after a restart."""

    def may_start(self, run: FlowRun, action_id: str) -> bool:
        """Whether a ready action may start; if not, `Orchestrator.due` says when it may."""
        return True

    def again(self, run: FlowRun, runner: ActionRunner) -> bool:
        """Whether an action that has ended is to run again: it has been assigned anew."""
        return False

    def holds(self, run: FlowRun) -> bool:
        """Whether the flow may not end yet; `Orchestrator.proceed` has it looked at again."""
        return False

    def flow_ended(self, run: FlowRun) -> None:
        """Take in the end of a flow, once it is journaled."""
