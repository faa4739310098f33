# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The states of an operation on shared work, and their allowed predecessors.

The transitions are those of config/graphs/operation.yaml. Redis stores the states in upper case;
both cases are accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache

from ..graphs.packaged import packaged_graph


class OperationState(str, Enum):
    """The state of an operation; the values are those in Redis."""

    RECEIVED = 'RECEIVED'  #: the request has arrived
    PREPROCESSING = 'PREPROCESSING'  #: the request is prepared
    QUEUED = 'QUEUED'  #: the request waits for a worker
    CLAIMED = 'CLAIMED'  #: a worker has taken the request
    PRE_INFERENCE_GATHER = 'PRE_INFERENCE_GATHER'  #: its data is gathered and saved
    INFERRING = 'INFERRING'  #: the model is running
    TOOL_EXECUTING = 'TOOL_EXECUTING'  #: a tool of the model is running
    POSTPROCESSING = 'POSTPROCESSING'  #: the result is processed
    DELIVERING = 'DELIVERING'  #: the result is being delivered
    DELIVERED = 'DELIVERED'  #: the result has been delivered
    COMPLETED = 'COMPLETED'  #: the operation is complete
    ERRORED = 'ERRORED'  #: a step has failed
    RETRYING = 'RETRYING'  #: it will be queued again
    RECLAIMED = 'RECLAIMED'  #: its worker was lost; another one may take it


@cache
def predecessors() -> Mapping[OperationState, frozenset[OperationState]]:
    """Return the allowed predecessors of each state."""
    graph = packaged_graph('operation')
    return {
        state: frozenset(OperationState(one.source.upper()) for one in graph.transitions
                         if one.target == state.value.lower())
        for state in OperationState
    }
