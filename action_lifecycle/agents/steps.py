# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The step loop: run the current state, add its update to the context, choose the next state."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from .chooser import awaited, Choice, choose, Chooser, follow
from .handler import StateHandler
from ..documents.errors import LifecycleError
from ..graphs.graph import Transition
from ..graphs.machine import Machine
from ..graphs.state_types import Pause, State

MAX_ITER = 50


@dataclass(frozen=True)
class StepsResult:
    """
    The reason why a session stopped.

    `reason`: `terminal`; `paused` (see `pause`); `max_steps`; `blocked`: the guards permit no
    transition. `steps`: number of states run by this call.
    """

    reason: str
    state: str
    steps: int
    context: Any
    pause: Pause | None = None


class Session:
    """
    One run over the states of a handler.

    `context` is a list or a mapping to which each update is added; in a mapping, the key of an
    update that is no mapping is the name of its state. `machine`: one with listeners, a journal or
    an initial state; by default, one with `agent` as its listener. If `chooser` is None, the
    agent's `choose_transition(transitions, context)` is used, if it has one.
    """

    def __init__(
        self,
        handler: StateHandler,
        context: Any = None,
        agent: Any = None,
        *,
        chooser: Chooser | None = None,
        choice_timeout: float | None = 60.0,
        machine: Machine | None = None,
    ) -> None:
        self.handler = handler
        self.context = [] if context is None else context
        self.agent = agent
        if chooser is None and hasattr(agent, 'choose_transition'):
            chooser = self._ask_agent
        self.chooser = chooser
        self.choice_timeout = choice_timeout
        self.machine = machine or Machine(
            handler.graph, listeners=() if agent is None else (agent,))
        self._state: State | None = None

    @property
    def state(self) -> State:
        """Return the object of the current state, which is new each time a state is entered."""
        name = self.machine.state
        if self._state is None or self._state.name != name:
            self._state = self.handler.get_state(name)
        return self._state

    def renew_state(self) -> None:
        """Let the next run have a new object, which knows nothing of the runs before."""
        self._state = None

    async def run(self, max_iter: int = MAX_ITER) -> StepsResult:
        """Run states until a terminal state, a pause, or `max_iter` states."""
        for step in range(max_iter):
            state = self.state
            if state.is_terminal:
                return self._stopped('terminal', step)
            update = await awaited(state.run(self.context, self.agent))
            if isinstance(update, Pause):
                return self._stopped('paused', step + 1, update)
            add_update(self.context, state.name, update)
            if state.check_transition_ready(self.context) and not await self._leave(state):
                return self._stopped('blocked', step + 1)
        return self._stopped('terminal' if self.state.is_terminal else 'max_steps', max_iter)

    async def resume(self, answer: Any = None, max_iter: int = MAX_ITER) -> StepsResult:
        """
        Continue after a pause.

        `answer` is the update of the paused state, which is left; if None, the state runs again.
        """
        if answer is not None:
            add_update(self.context, self.machine.state, answer)
            if not await self._leave(self.state):
                return self._stopped('blocked', 0)
        return await self.run(max_iter)

    async def _leave(self, state: State) -> bool:
        """Make the transition that the state or the chooser selects; False if there is none."""
        transition = await self.next_transition(state, state.next_state(self.context))
        if transition is None:
            return False
        await self.machine.fire_async(transition.event, expect=state.name)
        self.renew_state()
        return True

    async def next_transition(
        self, state: State, wanted: str | None, **data: Any
    ) -> Transition | None:
        """
        Return the transition to `wanted`, or the one that the chooser selects; None if blocked.

        `data` is passed to guards. Raises ChoiceError.
        """
        possible = await self.machine.possible_transitions(**data)
        if not possible:
            return None
        choice = self.handler.choice(state.name, possible, self.context)
        if wanted is None:
            return await choose(choice, self.chooser, self.choice_timeout)
        return follow(choice, wanted, f"it decided on '{wanted}'")

    def _ask_agent(self, choice: Choice) -> Any:
        return self.agent.choose_transition(
            {'tt': list(choice.names), 'td': list(choice.descriptions)}, self.context)

    def _stopped(self, reason: str, steps: int, pause: Pause | None = None) -> StepsResult:
        return StepsResult(reason, self.machine.state, steps, self.context, pause)


def add_update(context: Any, state: str, update: Any) -> None:
    """Add the update of a state to a context, see `Session`; raises LifecycleError."""
    if update is None:
        return
    if isinstance(context, MutableMapping):
        context.update(update if isinstance(update, Mapping) else {state: update})
    elif isinstance(context, list):
        context.append(update)
    else:
        raise LifecycleError('the context of a session is a list or a mapping, not '
                             + type(context).__name__)


async def run_steps(
    handler: StateHandler,
    context: Any = None,
    agent: Any = None,
    *,
    chooser: Chooser | None = None,
    max_iter: int = MAX_ITER,
) -> StepsResult:
    """Run a new session; for one that may pause, use `Session`, which has `resume`."""
    return await Session(handler, context, agent, chooser=chooser).run(max_iter)
