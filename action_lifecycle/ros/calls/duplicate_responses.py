# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Detects duplicate responses to a service request."""

from __future__ import annotations

from collections.abc import Callable
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
        replace_lookup(client, self._of_request)

    def expect(self, goal_id: UUID, answer: Future) -> Future:
        """Watch a request for a goal until `forget`; returns its future."""
        self._goals[answer] = bytes(goal_id.uuid)
        return answer

    def forget(self, goal_id: UUID) -> None:
        """Drop the requests of a goal."""
        key = bytes(goal_id.uuid)
        for answer in [answer for answer, goal in self._goals.items() if goal == key]:
            del self._goals[answer]
        for number in [number for number, answer in self._answered.items()
                       if answer not in self._goals]:
            del self._answered[number]

    def _of_request(self, pending: Callable[[int], Future], number: int) -> Future:
        first = self._answered.get(number)
        if first is None:
            answer: Future = pending(number)
            if answer in self._goals:
                self._answered[number] = answer
            return answer
        second = Future()
        second.add_done_callback(lambda second: self._tell(first, second.result()))
        return second

    def _tell(self, first: Future, second: Any) -> None:
        if first in self._goals:
            self._again(self._goals[first], first.result(), second)
