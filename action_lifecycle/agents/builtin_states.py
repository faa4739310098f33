# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The built-in state types agent, user, decision, terminal, motion, confirm (tool is in tool_state).

Each calls the method of the session's agent that its class names; it may be sync or async.
"""

from __future__ import annotations

from typing import Any, ClassVar, Optional

from pydantic import Field, StrictFloat, StrictInt, StrictStr

from .chooser import awaited
from ..documents.errors import LifecycleError
from ..documents.models import StrictModel
from ..graphs.state_types import FieldsModel, Pause, register_state, State


class ReadyState(State):
    """
    Base of states that are left when `run` returns; by default it does nothing.

    `run` may set `_next`, the next state. Without `Fields`, a type has no fields of its own.
    """

    Fields: ClassVar[FieldsModel | None] = StrictModel
    repeatable: ClassVar[bool] = True
    _next: str | None = None

    async def run(self, context: Any, agent: Any = None) -> Any:
        return None

    def check_transition_ready(self, context: Any) -> bool:
        return True

    def next_state(self, context: Any) -> str | None:
        return self._next

    def needed(self, agent: Any, name: str) -> Any:
        """Return an attribute of the agent; raises LifecycleError if it has none."""
        found = getattr(agent, name, None)
        if found is None:
            raise LifecycleError(f"state '{self.name}' of type '{self.type}' needs an agent with "
                                 f"'{name}', got {type(agent).__name__}")
        return found

    def _lead(self, done: bool, failure: str) -> None:
        """Set the next state by `done`; raises LifecycleError if a failure has no next state."""
        if not done and self.config.get(self.leads_to[1]) is None:
            raise LifecycleError(f"state '{self.name}': {failure}")
        self._next = self.config.get(self.leads_to[0 if done else 1])


@register_state
class AgentState(ReadyState):
    """Calls `agent.call_llm(context)`; the output is the update."""

    async def run(self, context: Any, agent: Any = None) -> Any:
        return await awaited(self.needed(agent, 'call_llm')(context))


@register_state
class UserState(ReadyState):
    """
    Waits for the user: calls `agent.get_user_input(context)`; the result is the update.

    If the agent has no such method, the session pauses; the answer is passed to `resume`.
    """

    async def run(self, context: Any, agent: Any = None) -> Any:
        if not hasattr(agent, 'get_user_input'):
            return Pause(self.config.get('description') or 'waiting for input')
        return await awaited(agent.get_user_input(context))


@register_state
class DecisionState(ReadyState):
    """Does nothing; the chooser decides on the next state."""


@register_state
class TerminalState(ReadyState):
    """Ends the session."""

    is_terminal = True


class MotionFields(StrictModel):
    """A motion, and the next states after success and failure."""

    motion: dict[str, Any]
    succeeded: Optional[StrictStr] = None
    failed: Optional[StrictStr] = None


@register_state
class MotionState(ReadyState):
    """
    Calls `agent.execute_motion(motion, context)`, which returns True if the motion was executed.

    Any other value is a failure, a string its reason. It leads to the state in `failed`; without
    `failed` it is an error.
    """

    Fields = MotionFields
    leads_to = ('succeeded', 'failed')

    async def run(self, context: Any, agent: Any = None) -> Any:
        execute_motion = self.needed(agent, 'execute_motion')
        answer = await awaited(execute_motion(self.config['motion'], context))
        reason = answer if isinstance(answer, str) else ''
        self._lead(answer is True, f'the motion failed: {reason}' if reason else
                   'the motion failed')
        return {'state': self.name, 'executed': answer is True,
                **({'reason': reason} if reason else {})}


class ConfirmFields(StrictModel):
    """A condition, and the next states for its verdicts."""

    condition: StrictStr
    within: StrictFloat | StrictInt | None = Field(None, description='time limit in s')
    confirmed: Optional[StrictStr] = None
    refuted: Optional[StrictStr] = None


@register_state
class ConfirmState(ReadyState):
    """
    Calls `agent.confirm(condition, within)`, which returns True, False or None (unknown).

    Only True confirms; any other value leads to the state in `refuted`, or is an error without it.
    """

    Fields = ConfirmFields
    leads_to = ('confirmed', 'refuted')

    async def run(self, context: Any, agent: Any = None) -> Any:
        condition = self.config['condition']
        confirm = self.needed(agent, 'confirm')
        verdict = await awaited(confirm(condition, self.config.get('within')))
        self._lead(verdict is True, f'not confirmed: {condition}')
        return {'state': self.name, 'condition': condition, 'verdict': verdict}
