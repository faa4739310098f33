# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Operations as they are listed: what a trace says about its operation, filters, pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from .errors import LedgerError
from .operation_states import OperationState
from ..documents.suggestions import nearest

_OWNED = frozenset(state.value for state in (
    OperationState.CLAIMED, OperationState.PRE_INFERENCE_GATHER, OperationState.INFERRING,
    OperationState.TOOL_EXECUTING, OperationState.POSTPROCESSING, OperationState.DELIVERING,
    OperationState.DELIVERED))


class ListedOperation(NamedTuple):
    """
    An operation in a list.

    `owner`: worker that has it now, '' for none. `updated`: time (s since 1970) of its last
    change, or of its creation if its last writer does not record changes; 0.0: not known.
    """

    trace_id: str
    state: str
    owner: str
    updated: float
    metadata: Mapping[str, str]

    @property
    def active(self) -> bool:
        """Return whether its state is not final."""
        return self.state != OperationState.COMPLETED.value


class OperationPage(NamedTuple):
    """Some of the operations that were found, and the number of all that were."""

    operations: list[ListedOperation]
    total: int


def listed(trace_id: str, trace: Mapping[str, str]) -> ListedOperation:
    """Return the operation of a trace."""
    state = str(trace.get('state', '')).upper()
    return ListedOperation(
        trace_id, state, str(trace.get('worker', '')) if state in _OWNED else '',
        changed_at(trace),
        {name: value for name, value in trace.items() if name not in ('state', 'updated_at')})


def changed_at(trace: Mapping[str, str | None]) -> float:
    """Return the time (s) of the last change of an operation, see ListedOperation."""
    for name in 'updated_at', 'created_at':
        try:
            return float(trace.get(name) or '')
        except ValueError:
            pass
    return 0.0


class Filter:
    """Which operations are wanted; raises LedgerError for an unknown state."""

    def __init__(self, states: Collection[str], active_only: bool) -> None:
        names = [state.value for state in OperationState]
        self.states = {str(getattr(state, 'value', state)).upper() for state in states}
        for state in sorted(self.states - set(names)):
            raise LedgerError(f"unknown state of an operation '{state}': expected one of "
                              f"{', '.join(names)}{nearest(state, names)}")
        self._active_only = active_only

    def accepts(self, state: str) -> bool:
        """Return whether an operation in a state is wanted; unknown states count as active."""
        return (not self.states or state in self.states) and not (
            self._active_only and state == OperationState.COMPLETED.value)


def page_of(found: Iterable[tuple[float, str]], offset: int, limit: int) -> list[str]:
    """Return a page of trace ids from times of changes and ids, the newest change first."""
    return [trace_id for _, trace_id in sorted(found, reverse=True)[offset:offset + limit]]
