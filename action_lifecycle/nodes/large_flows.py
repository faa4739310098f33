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

"""Keeps Python's garbage collector from holding the executor up because of a large flow."""

from __future__ import annotations

import gc

from ..flow.run import FlowRun

LARGE = 1000
"""Actions from which on a flow is large."""


class LargeFlows:
    """
    Takes what is there when a large flow begins out of full collections, until it ends.

    A full collection looks at every object: 0.4 s with a flow of 10,000 actions, every few hundred
    of them. What is frozen is still freed when nobody refers to it; only circles wait.
    """

    def __init__(self) -> None:
        self._running: set[str] = set()

    def changed(self, run: FlowRun) -> None:
        """Take in that a flow has begun, gone on or ended."""
        if run.flow_id in self._running:
            if run.ended:
                self._running.discard(run.flow_id)
                gc.unfreeze()
        elif not run.ended and len(run.runners) >= LARGE:
            self._running.add(run.flow_id)
            gc.freeze()
