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

"""Where others take part in the running of flows: jobs, planners that steer, recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lifecycle.runner import ActionRunner

if TYPE_CHECKING:
    from .run import FlowRun


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
