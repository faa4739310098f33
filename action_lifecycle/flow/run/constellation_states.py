# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The states of a flow: START prepares it, CONTINUE runs it, FINISH and FAIL are final.

The agent is a `FlowRun`, the context is the `Dispatcher` of its actions. A state sets the agent's
`status`; `next_state` returns the state of that status, if config/graphs/constellation.yaml has
such an edge. `handle` is called on events and does not block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from enum import Enum
import logging
from typing import ClassVar, TypeVar

from .dispatcher import Dispatcher
from .flow_ender import reason_of
from .flow_run import FlowRun
from ..scheduling.dag import CycleError
from ...documents.errors import LifecycleError, TransitionNotAllowed
from ...documents.suggestions import nearest
from ...graphs.packaged import packaged_graph
from ...lifecycle.states import ErrorCode

_LOG = logging.getLogger(__name__)


class ConstellationAgentStatus(Enum):
    """The status of a flow."""

    START = 'START'  #: its dependencies are checked and sorted
    CONTINUE = 'CONTINUE'  #: its actions run; ended actions are processed in batches
    FINISH = 'FINISH'  #: all actions have succeeded that were not replaced or skipped by people
    FAIL = 'FAIL'  #: it could not be started, or did not succeed


class ConstellationAgentState(ABC):
    """A state on the constellation graph; its name is its `status`."""

    status: ClassVar[ConstellationAgentStatus]

    @abstractmethod
    def handle(self, agent: FlowRun, context: Dispatcher) -> Awaitable[None] | None:
        """Process the state; sets the agent's status. It may be a coroutine, but never waits."""

    def next_state(self, agent: FlowRun) -> ConstellationAgentState:
        """
        Return the state of the agent's status; raises `TransitionNotAllowed` without such an edge.

        A final state returns itself, whatever the status is.
        """
        if self.is_round_end() or agent.status == self.name():
            return self
        state = ConstellationAgentStateManager().get_state(agent.status)
        edges = packaged_graph('constellation').table[self.name()]
        if state.name() not in edges:
            raise TransitionNotAllowed(state.name(), self.name(), edges)
        return state

    def next_agent(self, agent: FlowRun) -> FlowRun:
        """Return the agent of the next step, which is the same object."""
        return agent

    def is_round_end(self) -> bool:
        """Return whether the state is final."""
        return packaged_graph('constellation').states[self.name()].final

    def is_subtask_end(self) -> bool:
        """Return whether the state is final."""
        return self.is_round_end()

    @classmethod
    def name(cls) -> str:
        """Return the status of this state."""
        return cls.status.value


StateT = TypeVar('StateT', bound=type[ConstellationAgentState])


class ConstellationAgentStateManager:
    """Registry of the state of each status; a later registration replaces an earlier one."""

    _state_mapping: ClassVar[dict[str, type[ConstellationAgentState]]] = {}

    @classmethod
    def register(cls, state: StateT) -> StateT:
        """Register a state class; the graph must have a state of its name."""
        packaged_graph('constellation').state(state.name())
        cls._state_mapping[state.name()] = state
        return state

    def handle(self, agent: FlowRun, context: Dispatcher) -> None:
        """
        Have the state of a flow processed.

        If a registered state raises an exception, or waits, the flow fails, and ends by the state
        that it has replaced.
        """
        state = self.get_state(agent.state)
        try:
            handled = state.handle(agent, context)
            if handled is not None:
                _finish(handled, state.name())
        except Exception as error:
            _LOG.exception('flow %s: state %s failed', agent.flow_id, state.name())
            if _refused(agent, context, ErrorCode.INTERNAL, reason_of(error)):
                return
            _PACKAGED[agent.state]().handle(agent, context)

    def get_state(self, status: str) -> ConstellationAgentState:
        """Return a state by the agent's status."""
        try:
            return self._state_mapping[status]()
        except KeyError:
            raise LifecycleError(f"no constellation state '{status}'"
                                 + nearest(status, self._state_mapping)) from None

    @property
    def none_state(self) -> ConstellationAgentState:
        """Return the initial state."""
        return self.get_state(packaged_graph('constellation').initial)


@ConstellationAgentStateManager.register
class StartConstellationAgentState(ConstellationAgentState):
    """Prepares a flow: analyses and sorts its dependencies."""

    status = ConstellationAgentStatus.START

    def handle(self, agent: FlowRun, context: Dispatcher) -> None:
        """Set the status to CONTINUE, or to FAIL if the flow can't run."""
        try:
            agent.schedule()
        except Exception as error:
            code, reason = _fault(agent, error)
            if _refused(agent, context, code, reason):
                return
        agent.status = ConstellationAgentStatus.CONTINUE.value


@ConstellationAgentStateManager.register
class ContinueConstellationAgentState(ConstellationAgentState):
    """Processes all actions that have ended since the last call, as one batch."""

    status = ConstellationAgentStatus.CONTINUE

    def handle(self, agent: FlowRun, context: Dispatcher) -> None:
        """Set the status to FINISH or FAIL if the flow has ended, else to CONTINUE."""
        completed, agent.completions = agent.completions, []
        try:
            finished = context.merge(agent, completed)
        except Exception as error:
            _LOG.exception('flow %s can not go on', agent.flow_id)
            context.fail(agent, ErrorCode.INTERNAL, reason_of(error))
            finished = agent.all_ended
        if finished:
            agent.status = (ConstellationAgentStatus.FINISH if agent.is_good()
                            else ConstellationAgentStatus.FAIL).value
        else:  # its end was not recorded yet, and an action has been assigned again
            agent.status = self.name()


def _refused(agent: FlowRun, context: Dispatcher, code: ErrorCode, reason: str) -> bool:
    """Fail a flow for an error; returns whether it had not begun, else its actions end first."""
    if agent.history:
        context.fail(agent, code, reason)
        return False
    agent.broken, agent.error_code = reason, code
    agent.status = ConstellationAgentStatus.FAIL.value
    return True


def _finish(handled: Awaitable[None], state: str) -> None:
    """Run a coroutine to its end; raises LifecycleError if it waits for something."""
    steps = handled.__await__()
    try:
        next(steps)
    except StopIteration:
        return
    getattr(steps, 'close', lambda: None)()
    raise LifecycleError(f"state {state}: 'handle' waits for something; it is called for each "
                         'change of the flow, and must not wait')


def _fault(agent: FlowRun, error: Exception) -> tuple[ErrorCode, str]:
    """Return code and description of an error in START; logs unexpected ones with a traceback."""
    if isinstance(error, CycleError):
        return ErrorCode.FLOW_CYCLE, reason_of(error)
    if isinstance(error, LifecycleError) and not isinstance(error, TransitionNotAllowed):
        return ErrorCode.FLOW_INVALID, reason_of(error)
    _LOG.exception('flow %s can not start', agent.flow_id)
    return ErrorCode.INTERNAL, reason_of(error)


class _FinalState(ConstellationAgentState):
    """A state that is never left."""

    def handle(self, agent: FlowRun, context: Dispatcher) -> None:
        """Do nothing."""
        agent.status = self.name()


@ConstellationAgentStateManager.register
class FinishConstellationAgentState(_FinalState):
    """
    The flow has succeeded, or an edit has finished it.

    All actions have succeeded that were not replaced or skipped by people.
    """

    status = ConstellationAgentStatus.FINISH


@ConstellationAgentStateManager.register
class FailConstellationAgentState(_FinalState):
    """The flow could not be started, an action has not succeeded, or an edit has failed it."""

    status = ConstellationAgentStatus.FAIL


_PACKAGED = dict(ConstellationAgentStateManager._state_mapping)
"""The states of this package by status; others may be registered in their places."""
