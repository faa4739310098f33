# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Detects duplicate responses to a service request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from ..node.rclpy_internals import replace_lookup


class Answers:
    """
    Calls `again(goal_id, first, second)` for a duplicate response to a request of one client.

    It replaces the lookup of the pending request that the executor does for each response.
    """

    def __init__(self, client: Any, again: Callable[[bytes, Any, Any], None]) -> None:
        self._again = again
        self._goals: dict[Future, bytes] = {}
        self._answered: dict[int, Future] = {}  # by request number
        self._of_goal: dict[bytes, _Requests] = {}
        replace_lookup(client, self._of_request)

    def expect(self, goal_id: UUID, answer: Future) -> Future:
        """Watch a request for a goal until `forget`; returns its future."""
        key = bytes(goal_id.uuid)
        self._goals[answer] = key
        self._of_goal.setdefault(key, _Requests()).answers.append(answer)
        return answer

    def forget(self, goal_id: UUID) -> None:
        """Drop the requests of a goal."""
        requests = self._of_goal.pop(bytes(goal_id.uuid), _Requests())
        for answer in requests.answers:
            del self._goals[answer]
        for number in requests.numbers:
            del self._answered[number]

    def _of_request(self, pending: Callable[[int], Future], number: int) -> Future:
        first = self._answered.get(number)
        if first is None:
            answer: Future = pending(number)
            if answer in self._goals:
                self._answered[number] = answer
                self._of_goal[self._goals[answer]].numbers.append(number)
            return answer
        second = Future()
        second.add_done_callback(lambda second: self._tell(first, second.result()))
        return second

    def _tell(self, first: Future, second: Any) -> None:
        if first in self._goals:
            self._again(self._goals[first], first.result(), second)


@dataclass
class _Requests:
    answers: list[Future] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  #: of the requests that have been answered
