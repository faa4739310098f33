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

"""
Lets a planner edit a running flow: it gets each batch of completed actions and may send an edit.

While it is asked, no action of that flow starts. Its edits are checked as any edit. If the
planner is not reached, it is asked again after a delay; if its edit is refused, it is asked again
at once, with the errors. After too many failures the flow goes on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TYPE_CHECKING

from .edits import EditResult, parse_edit
from .run import FlowRun
from ..engine.errors import LifecycleError
from ..lifecycle.ports import Handle

if TYPE_CHECKING:
    from .orchestrator import Orchestrator

MAX_TRIES = 3
"""Maximum number of answers until one is a valid edit."""
MAX_FAILURES = 5
"""Maximum number of consecutive calls that do not reach the planner."""
FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
"""First and longest delay (s) before a planner that was not reached is asked again."""
AUTHOR = 'planner'


@dataclass(frozen=True)
class SteeringAnswer:
    """The answer of a planner to a batch: an edit, no edit, or an error."""

    edit_yaml: str = ''
    error: str = ''  #: why its answer is not usable
    unreachable: bool = False  #: there is no answer; `error` says why


class SteeringPlanner(Protocol):
    """A planner that edits running flows."""

    def ask(
        self, run: FlowRun, completed: list[str], errors: list[str],
        answer: Callable[[SteeringAnswer], None],
    ) -> Handle:
        """Report completed actions and earlier errors; `answer` is called once."""


@dataclass
class _Asking:
    """A batch for which the planner is asked."""

    completed: list[str]
    base_seq: int
    tries: int = 1
    failures: int = 0
    errors: list[str] = field(default_factory=list)
    handle: Handle | None = None


class Steering:
    """Asks the `planner`, if set, about one batch of a flow at a time."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self.planner: SteeringPlanner | None = None
        self._orchestrator = orchestrator
        self._asking: dict[str, _Asking] = {}

    def busy(self, run: FlowRun) -> bool:
        """Whether the planner is asked; then no action may start and the flow may not end."""
        return run.flow_id in self._asking

    def completed(self, run: FlowRun, names: list[str]) -> None:
        """Report completed actions to the planner, now or after the current batch."""
        if not run.flow.steering or self.planner is None or run.canceled_by is not None:
            return
        run.asked += names
        if run.asked and not self.busy(run):
            self._begin(run)

    def drop(self, run: FlowRun) -> None:
        """Stop asking about a flow."""
        asking = self._asking.pop(run.flow_id, None)
        run.asked = []
        if asking is not None and asking.handle is not None:
            asking.handle.cancel()

    def _begin(self, run: FlowRun) -> None:
        row = self._orchestrator.recorder.row
        asking = self._asking[run.flow_id] = _Asking(run.asked, row.seq if row else 0)
        run.asked = []
        self._orchestrator.note(
            run.flow_id, 'steering_asked', {'completed': asking.completed}, AUTHOR, '')
        self._ask(run, asking)

    def _ask(self, run: FlowRun, asking: _Asking) -> None:
        if self._asking.get(run.flow_id) is not asking or self.planner is None:
            return
        asking.handle = self.planner.ask(
            run, list(asking.completed), list(asking.errors),
            lambda answer: self._answered(run, asking, answer))

    def _answered(self, run: FlowRun, asking: _Asking, answer: SteeringAnswer) -> None:
        if self._asking.get(run.flow_id) is not asking:
            return
        asking.handle = None
        if answer.unreachable:
            asking.failures += 1
            if asking.failures >= MAX_FAILURES:
                self._end(run, asking, '', f'out of reach: {answer.error}')
                return
            delay = min(FIRST_DELAY * 2.0 ** (asking.failures - 1), LONGEST_DELAY)
            asking.handle = self._orchestrator.clock.call_later(
                delay, lambda: self._ask(run, asking))
        elif answer.error:
            self._wrong(run, asking, answer.error)
        elif not answer.edit_yaml.strip():
            self._end(run, asking, '', '')
        else:
            self._propose(run, asking, answer.edit_yaml)

    def _propose(self, run: FlowRun, asking: _Asking, text: str) -> None:
        def done(result: EditResult | LifecycleError) -> None:
            if self._asking.get(run.flow_id) is not asking:
                return
            if isinstance(result, LifecycleError):
                self._wrong(run, asking, str(result))
            else:
                self._end(run, asking, text, '')

        try:
            edit = parse_edit(text, f'edit by {AUTHOR}')
        except LifecycleError as error:
            self._wrong(run, asking, str(error))
            return
        self._orchestrator.propose(
            run.flow_id, edit, AUTHOR, f"after {', '.join(asking.completed)}"[:500],
            asking.base_seq, done)

    def _wrong(self, run: FlowRun, asking: _Asking, error: str) -> None:
        """Ask again with the errors, or give up after `MAX_TRIES` answers."""
        asking.errors = error.splitlines()
        if asking.tries >= MAX_TRIES:
            self._end(run, asking, '', error)
            return
        asking.tries += 1
        asking.failures = 0
        self._ask(run, asking)

    def _end(self, run: FlowRun, asking: _Asking, edit: str, error: str) -> None:
        """Journal the end of the question and let the flow go on."""
        del self._asking[run.flow_id]
        if error:
            self._orchestrator.log.error(
                'flow %s goes on without the planner: %s', run.flow_id, error)
        self._orchestrator.note(
            run.flow_id, 'steering_answered',
            {'completed': asking.completed, 'edit': edit, 'tries': asking.tries}, AUTHOR, error)
        if run.asked:
            self._begin(run)
        else:
            self._orchestrator.release(run)
