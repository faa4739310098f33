# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Responses that are too large are not read, and other threads run while they are taken."""

from __future__ import annotations

from collections.abc import Iterator
import sys
import threading
import time
from typing import Any

from action_lifecycle.ros.node import bounded_responses
from action_lifecycle.ros.node.bounded_responses import bound_responses, TooLarge
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from nav_msgs.srv import GetPlan
import pytest

from .managed_rig import Rig, rig

__all__ = ['rig']  # a fixture
LIMIT = 10_000  #: bytes
LARGE = 50_000  #: poses, 3.6 MB


class Asker:
    """A client with a limit, and its server, which gives as many poses as it is asked for."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        rig.other.create_service(GetPlan, 'plan', self._answer)
        self.client = rig.node.create_client(GetPlan, 'plan')
        bound_responses(rig.node, self.client, LIMIT)
        rig.until(self.client.service_is_ready)

    def _answer(self, request: Any, response: Any) -> Any:
        response.plan = Path(poses=[PoseStamped()] * int(request.tolerance))
        return response

    def ask(self, *numbers: int) -> list[Any]:
        """Ask for plans with so many poses, all at once; returns the responses."""
        asked = [self.client.call_async(GetPlan.Request(tolerance=float(number)))
                 for number in numbers]
        self.rig.until(lambda: all(future.done() for future in asked))
        return [future.result() for future in asked]


@pytest.fixture
def asker(rig: Rig) -> Asker:
    return Asker(rig)


@pytest.fixture
def counting() -> Iterator[list[int]]:
    """Give the count of a thread that runs only if another one calls C that lets it."""
    count, over, before = [0], threading.Event(), sys.getswitchinterval()

    def work() -> None:
        while not over.is_set():
            count[0] += 1
            time.sleep(0.0001)

    thread = threading.Thread(target=work)
    sys.setswitchinterval(10.0)
    thread.start()
    yield count
    over.set()
    thread.join()
    sys.setswitchinterval(before)


def test_each_request_gets_its_own_response_and_only_small_ones_are_read(asker: Asker) -> None:
    none, large, two, larger = asker.ask(0, 200, 2, 300)
    assert (len(none.plan.poses), len(two.plan.poses)) == (0, 2)
    assert isinstance(large, TooLarge) and isinstance(larger, TooLarge)
    assert LIMIT < large.size < larger.size
    assert str(large) == f'{large.size} bytes; at most {LIMIT} are read'


def test_a_response_that_nobody_waits_for_is_dropped(asker: Asker) -> None:
    for number in (1, 200):
        asker.client.remove_pending_request(
            asker.client.call_async(GetPlan.Request(tolerance=float(number))))
    (answer,) = asker.ask(3)
    assert len(answer.plan.poses) == 3


def test_other_threads_run_while_a_large_response_is_taken(
    asker: Asker, counting: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = bounded_responses._functions()
    take, counted = functions.take, []

    def taken(*arguments: Any) -> Any:
        before = counting[0]
        error = take(*arguments)
        counted.append(counting[0] - before)
        return error

    monkeypatch.setattr(functions, 'take', taken)
    assert all(isinstance(answer, TooLarge) for answer in asker.ask(LARGE, LARGE))
    assert max(counted) > 0
