# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The end of a step of work: a goal of a motion, a call of a service, or a publication."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rosidl_runtime_py.convert import message_to_ordereddict

from ...lifecycle.ports import Evidence
from ...lifecycle.states import ErrorCode


@dataclass(frozen=True)
class GoalEnd:
    """
    The end of a goal, a call or a publication.

    `said`: the status from the server (succeeded, canceled, aborted), '' if there is none.
    `stopped`: nothing moves, because the server has ended the goal or nothing was started.
    `unknown`: it was sent, and may have been carried out or not.
    """

    said: str
    code: ErrorCode
    message: str
    stopped: bool
    ended: float  #: ROS time in s
    result: Any = None  #: a message, or a mapping
    sent: bool = True
    unknown: bool = False
    evidence: Sequence[Evidence] = ()

    def plain_result(self) -> Any:
        """Return the result as plain data, None if there is none."""
        if self.result is None or isinstance(self.result, Mapping):
            return self.result
        return message_to_ordereddict(self.result)
