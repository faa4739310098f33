# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
The states of an agent that makes a constellation (a flow) and edits it while it runs.

The agent sets its `status`; `next_state` follows it only along config/graphs/constellation.yaml,
and never out of a final state.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar

from ..engine import Graph, LifecycleError, TransitionNotAllowed, load_graph
from ..engine.errors import nearest
from ..engine.resources import config_file

HISTORY_LIMIT = 1000

_LOG = logging.getLogger(__name__)


class ConstellationAgentStatus(Enum):
    """What the agent does."""

    START = 'START'  #: make the constellation, check it, start it in the background
    CONTINUE = 'CONTINUE'  #: collect what completed into one edit
    FINISH = 'FINISH'  #: everything is done
    FAIL = 'FAIL'  #: it could not be made, or something can't be mended


class Constellation(Protocol):
    """What the states need to know of a constellation."""

    constellation_id: str

    def validate_dag(self) -> tuple[bool, list[str]]:
        """Return whether it can be run, and what is wrong with it."""


class TaskEvent(Protocol):
    """A task has completed or failed; `data['constellation']` is as it was then."""

    task_id: str
    data: dict[str, Any]


class ConstellationAgent(Protocol):
    """What the states ask of an agent. A final state, once entered, is never left."""

    status: str
    current_constellation: Any
    task_completion_queue: asyncio.Queue[Any]
    orchestration: asyncio.Task[Any] | None
    history: list[dict[str, Any]]

    def process_creation(self, context: Any) -> Awaitable[Any]:
        """Make a constellation; None when there is none to make."""

    def orchestrate(self, constellation: Any) -> Awaitable[Any]:
        """Run a constellation to its end; each task that ends is put into the queue."""

    def merge(self, constellation: Any) -> Any:
        """Return a constellation with all that was edited or has happened meanwhile."""

    def process_editing(
        self, context: Any, task_ids: list[str], before_constellation: Any
    ) -> Awaitable[None]:
        """Make one edit for these tasks, and set `status` to what follows."""


class AgentState(ABC):
    """One state of an agent."""

    @abstractmethod
    async def handle(self, agent: Any, context: Any = None) -> None:
        """Do what the state is there for; sets the agent's status."""

    @abstractmethod
    def next_state(self, agent: Any) -> AgentState:
        """Return the state that the agent's status asks for."""

    def next_agent(self, agent: Any) -> Any:
        """Return the agent that goes on; the same one."""
        return agent

    @abstractmethod
    def is_round_end(self) -> bool:
        """Whether the round ends here."""

    @abstractmethod
    def is_subtask_end(self) -> bool:
        """Whether the subtask ends here."""

    @classmethod
    @abstractmethod
    def name(cls) -> str:
        """Return the status that the state stands for."""


StateT = TypeVar('StateT', bound=type[AgentState])


class ConstellationAgentStateManager:
    """Knows the state of each status; a later registration of a name takes its place."""

    _state_mapping: ClassVar[dict[str, type[AgentState]]] = {}

    @classmethod
    def register(cls, state: StateT) -> StateT:
        """Add a state class; its name must be one of the graph."""
        constellation_graph().state(state.name())
        cls._state_mapping[state.name()] = state
        return state

    def get_state(self, status: str) -> AgentState:
        """Return a state by the agent's status."""
        try:
            return self._state_mapping[status]()
        except KeyError:
            raise LifecycleError(f"no constellation state '{status}'"
                                 + nearest(status, self._state_mapping)) from None

    @property
    def none_state(self) -> AgentState:
        """The state of an agent that has done nothing yet."""
        return self.get_state(constellation_graph().initial)


@cache
def constellation_graph() -> Graph:
    """Return the graph that all states keep to."""
    return load_graph(config_file('graphs/constellation.yaml'))


class ConstellationAgentState(AgentState):
    """A state on the constellation graph."""

    def next_state(self, agent: ConstellationAgent) -> AgentState:
        """
        Return the state of the agent's status; `TransitionNotAllowed` when no edge leads there.

        A final state stays what it is, whatever the status says.
        """
        if self.is_round_end() or agent.status == self.name():
            return self
        state = ConstellationAgentStateManager().get_state(agent.status)
        edges = constellation_graph().table[self.name()]
        if state.name() not in edges:
            raise TransitionNotAllowed(state.name(), self.name(), edges)
        return state

    def is_round_end(self) -> bool:
        """Whether the state is final."""
        return constellation_graph().states[self.name()].final

    def is_subtask_end(self) -> bool:
        """Whether the state is final."""
        return self.is_round_end()


@ConstellationAgentStateManager.register
class StartConstellationAgentState(ConstellationAgentState):
    """Makes the constellation if there is none, checks it, and starts it in the background."""

    async def handle(self, agent: ConstellationAgent, context: Any = None) -> None:
        """Leave the agent in CONTINUE; in FAIL when there is nothing that can be run."""
        if constellation_graph().state(agent.status).final:
            return
        try:
            if agent.current_constellation is None:
                agent.current_constellation = await agent.process_creation(context)
            constellation = agent.current_constellation
            if constellation is None:
                raise LifecycleError('no constellation could be made')
            sound, faults = constellation.validate_dag()
            if not sound:
                raise LifecycleError('; '.join(faults))
        except Exception:
            _LOG.exception('no constellation to run')
            agent.status = ConstellationAgentStatus.FAIL.value
            return
        agent.orchestration = asyncio.ensure_future(agent.orchestrate(constellation))
        agent.status = ConstellationAgentStatus.CONTINUE.value

    @classmethod
    def name(cls) -> str:
        """Return START."""
        return ConstellationAgentStatus.START.value


@ConstellationAgentStateManager.register
class ContinueConstellationAgentState(ConstellationAgentState):
    """Waits for a task to end and makes one edit for all that have ended by then."""

    async def handle(self, agent: ConstellationAgent, context: Any = None) -> None:
        """Leave the agent in what the edit says; in FAIL when the edit or the run fails."""
        try:
            events = [await self._first_event(agent)]
            while not agent.task_completion_queue.empty():
                events.append(agent.task_completion_queue.get_nowait())
            await agent.process_editing(
                context, [event.task_id for event in events],
                agent.merge(events[-1].data.get('constellation')))
        except Exception:
            _LOG.exception('the constellation can not go on')
            agent.status = ConstellationAgentStatus.FAIL.value

    async def _first_event(self, agent: ConstellationAgent) -> TaskEvent:
        """Wait for an event, but not longer than anything runs that could send one."""
        event = asyncio.ensure_future(agent.task_completion_queue.get())
        running = {agent.orchestration} if agent.orchestration is not None else set()
        try:
            await asyncio.wait({event, *running}, return_when=asyncio.FIRST_COMPLETED)
            if not event.done() and agent.orchestration is not None:
                agent.orchestration.result()
                if agent.task_completion_queue.empty():
                    raise LifecycleError('the run ended without a last event')
            found: TaskEvent = await event
            return found
        finally:
            event.cancel()

    @classmethod
    def name(cls) -> str:
        """Return CONTINUE."""
        return ConstellationAgentStatus.CONTINUE.value


class _FinalState(ConstellationAgentState):
    """A state that is never left."""

    async def handle(self, agent: ConstellationAgent, context: Any = None) -> None:
        """Keep the agent here."""
        agent.status = self.name()


@ConstellationAgentStateManager.register
class FinishConstellationAgentState(_FinalState):
    """Everything is done."""

    @classmethod
    def name(cls) -> str:
        """Return FINISH."""
        return ConstellationAgentStatus.FINISH.value


@ConstellationAgentStateManager.register
class FailConstellationAgentState(_FinalState):
    """It could not be made, or something can't be mended."""

    @classmethod
    def name(cls) -> str:
        """Return FAIL."""
        return ConstellationAgentStatus.FAIL.value


async def run_round(agent: ConstellationAgent, context: Any = None) -> AgentState:
    """
    Run an agent until its round ends; return the final state, which has been handled.

    Each state that is entered adds an entry to the agent's history: step, state, timestamp (UTC,
    ISO 8601) and constellation_id. The oldest entries go when there are more than HISTORY_LIMIT.
    """
    state = ConstellationAgentStateManager().get_state(agent.status)
    while True:
        _note(agent, state)
        await state.handle(agent, context)
        if state.is_round_end():
            return state
        following = state.next_state(agent)
        _LOG.info('constellation: %s -> %s', state.name(), following.name())
        agent, state = state.next_agent(agent), following


def _note(agent: ConstellationAgent, state: AgentState) -> None:
    history = agent.history
    history.append({
        'step': history[-1]['step'] + 1 if history else 1,
        'state': state.name(),
        'timestamp': datetime.datetime.now(datetime.timezone.utc).isoformat(),
        'constellation_id': getattr(agent.current_constellation, 'constellation_id', ''),
    })
    del history[:-HISTORY_LIMIT]
