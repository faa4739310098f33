# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The built-in state types agent, user, decision, terminal, motion, confirm (tool is in tool_state).

Each calls the method of the session's agent that its class names; it may be sync or async.
"""

from __future__ import annotations

from typing import Any, Optional

from pydantic import Field, StrictFloat, StrictInt, StrictStr

from .chooser import awaited
from ..documents.errors import LifecycleError
from ..documents.models import StrictModel
from ..graphs.state_types import Pause, register_state, State


class NoFields(StrictModel):
    """The model of a type without fields of its own."""


class ReadyState(State):
    """Base of states that are left when `run` returns; `run` may set `_next`, the next state."""

    _next: str | None = None

    def check_transition_ready(self, context: Any) -> bool:
        return True

    def next_state(self, context: Any) -> str | None:
        return self._next

    def _lead(self, done: bool, failure: str) -> None:
        """Set the next state by `done`; raises LifecycleError if a failure has no next state."""
        if not done and self.config.get(self.leads_to[1]) is None:
            raise LifecycleError(f"state '{self.name}': {failure}")
        self._next = self.config.get(self.leads_to[0 if done else 1])


@register_state
class AgentState(ReadyState):
    """Calls `agent.call_llm(context)`; the output is the update."""

    type = 'agent'  # noqa: A003
    Fields = NoFields

    async def run(self, context: Any, agent: Any = None) -> Any:
        return await awaited(_method(self, agent, 'call_llm')(context))


@register_state
class UserState(ReadyState):
    """
    Waits for the user: calls `agent.get_user_input(context)`; the result is the update.

    If the agent has no such method, the session pauses; the answer is passed to `resume`.
    """

    type = 'user'  # noqa: A003
    Fields = NoFields

    async def run(self, context: Any, agent: Any = None) -> Any:
        if not hasattr(agent, 'get_user_input'):
            return Pause(self.config.get('description') or 'waiting for input')
        return await awaited(agent.get_user_input(context))


@register_state
class DecisionState(ReadyState):
    """Does nothing; the chooser decides on the next state."""

    type = 'decision'  # noqa: A003
    Fields = NoFields

    def run(self, context: Any, agent: Any = None) -> None:
        return None


@register_state
class TerminalState(ReadyState):
    """Ends the session."""

    type = 'terminal'  # noqa: A003
    Fields = NoFields
    is_terminal = True

    def run(self, context: Any, agent: Any = None) -> None:
        return None


class MotionFields(StrictModel):
    """A motion, and the next states after success and failure."""

    motion: dict[str, Any]
    succeeded: Optional[StrictStr] = None
    failed: Optional[StrictStr] = None


@register_state
class MotionState(ReadyState):
    """
    Calls `agent.execute_motion(motion, context)`, which returns True if the motion was executed.

    A failure leads to the state in `failed`; without `failed` it is an error.
    """

    type = 'motion'  # noqa: A003
    Fields = MotionFields
    leads_to = ('succeeded', 'failed')

    async def run(self, context: Any, agent: Any = None) -> Any:
        executed = await awaited(
            _method(self, agent, 'execute_motion')(self.config['motion'], context)) is True
        self._lead(executed, 'the motion failed')
        return {'state': self.name, 'executed': executed}


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

    type = 'confirm'  # noqa: A003
    Fields = ConfirmFields
    leads_to = ('confirmed', 'refuted')

    async def run(self, context: Any, agent: Any = None) -> Any:
        condition = self.config['condition']
        verdict = await awaited(
            _method(self, agent, 'confirm')(condition, self.config.get('within')))
        self._lead(verdict is True, f'not confirmed: {condition}')
        return {'state': self.name, 'condition': condition, 'verdict': verdict}


def _method(state: State, agent: Any, name: str) -> Any:
    found = getattr(agent, name, None)
    if found is None:
        raise LifecycleError(f"state '{state.name}' of type '{state.type}' needs an agent with "
                             f"'{name}', got {type(agent).__name__}")
    return found
