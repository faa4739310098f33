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
The states of a flow: START makes it ready, CONTINUE follows it and edits it, two are final.

The agent is a `FlowRun`, the context what it runs on (`Host`). A state sets the agent's `status`;
`next_state` follows it only along config/graphs/constellation.yaml, and never out of a final
state. Nothing here waits: a state is handled when there is something for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
import logging
from typing import ClassVar, Protocol, TypeVar

from .dag import CycleError
from .run import constellation_graph, FlowRun
from ..engine import LifecycleError, TransitionNotAllowed
from ..engine.errors import nearest
from ..lifecycle.runner import ActionRunner
from ..lifecycle.states import ErrorCode

_LOG = logging.getLogger(__name__)


class ConstellationAgentStatus(Enum):
    """What a flow does."""

    START = 'START'  #: it is checked, sorted and scheduled
    CONTINUE = 'CONTINUE'  #: its actions run; what completed is collected into one edit
    FINISH = 'FINISH'  #: everything is done
    FAIL = 'FAIL'  #: it could not be started, or something can't be mended


class Host(Protocol):
    """What a flow runs on."""

    def schedule(self, run: FlowRun) -> None:
        """Analyse and sort the flow; `LifecycleError` or `CycleError` when it can't be run."""

    def weave(self, run: FlowRun, completed: Sequence[ActionRunner]) -> bool:
        """Take in, at once, all actions that have ended; return whether the flow is at its end."""

    def give_up(self, run: FlowRun, why: str) -> None:
        """Stop what moves; the flow can't go on."""


class AgentState(ABC):
    """One state of an agent."""

    @abstractmethod
    def handle(self, agent: FlowRun, context: Host) -> None:
        """Do what the state is there for; sets the agent's status."""

    @abstractmethod
    def next_state(self, agent: FlowRun) -> AgentState:
        """Return the state that the agent's status asks for."""

    def next_agent(self, agent: FlowRun) -> FlowRun:
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
        """Return the state of an agent that has done nothing yet."""
        return self.get_state(constellation_graph().initial)


class ConstellationAgentState(AgentState):
    """A state on the constellation graph."""

    def next_state(self, agent: FlowRun) -> AgentState:
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
    """Makes a flow ready: its dependencies, their order, its jobs."""

    def handle(self, agent: FlowRun, context: Host) -> None:
        """Leave the agent in CONTINUE; in FAIL when there is nothing that can be run."""
        try:
            context.schedule(agent)
        except (LifecycleError, CycleError) as error:
            agent.broken = str(error)
            agent.error_code = ErrorCode.FLOW_CYCLE if isinstance(error, CycleError) \
                else ErrorCode.FLOW_INVALID
            agent.status = ConstellationAgentStatus.FAIL.value
        else:
            agent.status = ConstellationAgentStatus.CONTINUE.value

    @classmethod
    def name(cls) -> str:
        """Return START."""
        return ConstellationAgentStatus.START.value


@ConstellationAgentStateManager.register
class ContinueConstellationAgentState(ConstellationAgentState):
    """Takes in all that has completed by now, in one edit."""

    def handle(self, agent: FlowRun, context: Host) -> None:
        """Leave the agent in FINISH or FAIL when all is done, else where it is."""
        completed, agent.completions = agent.completions, []
        try:
            at_its_end = context.weave(agent, completed)
        except Exception as error:
            _LOG.exception('flow %s can not go on', agent.flow_id)
            context.give_up(agent, f'{type(error).__name__}: {error}')
            return
        if at_its_end:
            good = agent.outcomes['succeeded'] == len(agent.runners) and not agent.broken
            agent.status = (ConstellationAgentStatus.FINISH if good
                            else ConstellationAgentStatus.FAIL).value

    @classmethod
    def name(cls) -> str:
        """Return CONTINUE."""
        return ConstellationAgentStatus.CONTINUE.value


class _FinalState(ConstellationAgentState):
    """A state that is never left."""

    def handle(self, agent: FlowRun, context: Host) -> None:
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
    """It could not be started, or something can't be mended."""

    @classmethod
    def name(cls) -> str:
        """Return FAIL."""
        return ConstellationAgentStatus.FAIL.value
