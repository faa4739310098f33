# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which messages were lost, by the infos of those that came."""

from __future__ import annotations

from action_lifecycle.ros.node import arrivals
from action_lifecycle.ros.node.arrivals import Arrivals, SOME
from hypothesis import given
from hypothesis import strategies as st
import pytest

MS = 10 ** 6  # ns


def noted(numbers: list[int], publishers: int = 1) -> list[int | None]:
    """Return what is said of messages with these numbers."""
    found = Arrivals(10, lambda: publishers)
    return [found.note({'publication_sequence_number': number, 'received_timestamp': 1})
            for number in numbers]


@pytest.mark.parametrize(('numbers', 'publishers', 'lost'), [
    ([7, 8, 9], 1, [None, None, None]),
    ([7, 9, 10, 14], 1, [None, 1, None, 3]),
    ([900, 901, 1, 2], 1, [None, None, None, None]),  # its publisher was started again
    ([900, 901, 1, 3], 1, [None, None, None, 1]),
    ([900, 5, 901, 6, 7, 902], 2, [None] * 6),
    ([900, 5, 901, 7, 902], 2, [None, None, None, SOME, None]),
    ([5, 900, 6, 901], 2, [None, SOME, None, None]),  # the first of another one, or a loss
])
def test_gaps_of_the_numbers(
    numbers: list[int], publishers: int, lost: list[int | None]
) -> None:
    assert noted(numbers, publishers) == lost


def test_the_numbers_tell_who_sent_a_message() -> None:
    found = Arrivals(10, lambda: 2)
    senders = []
    for number in [900, 5, 901, 6, 7, 902]:
        found.note({'publication_sequence_number': number, 'received_timestamp': 1})
        senders.append(found.sender)
    assert senders == [1, 2, 1, 2, 2, 1]
    found.note({'publication_sequence_number': 905, 'received_timestamp': 1})
    assert found.sender == 3, 'one of the two, or another one'
    unnumbered = Arrivals(10, lambda: 2)
    unnumbered.note({'source_timestamp': 1})
    assert unnumbered.sender is None


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=60))
def test_no_gap_of_one_of_three_publishers_is_passed_over(steps: list[tuple[int, bool]]) -> None:
    """Each step: the publisher, whether the message comes."""
    found = Arrivals(10, lambda: 3)
    sent = [10, 500, 9000]
    heard: set[int] = set()
    missing: set[int] = set()
    for one, comes in steps:
        sent[one] += 1
        if not comes:
            missing.add(one)
            continue
        lost = found.note({'publication_sequence_number': sent[one], 'received_timestamp': 1})
        if one in heard and one in missing:
            assert lost is not None
        heard.add(one)
        missing.discard(one)


def unnumbered(monkeypatch: pytest.MonkeyPatch, times: list[tuple[float, float]], depth: int
               ) -> list[tuple[int | None, float]]:
    """Return what is said of messages by (ms of publication, ms of reading), and their wait."""
    found = Arrivals(depth, lambda: 1)
    said = []
    for published, read in times:
        monkeypatch.setattr(arrivals.time, 'time_ns', lambda read=read: round(read * MS))
        said.append((found.note({'publication_sequence_number': None,
                                 'source_timestamp': round(published * MS)}),
                     round(found.wait * 1e3, 3)))
    return said


def test_without_numbers_a_queue_that_may_have_been_full_is_a_loss(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    steady = [(1000.0 + tick, 1000.2 + tick) for tick in range(50)]
    held_up = [(1050.0 + tick, 1080.0 + tick / 10) for tick in range(20)]  # 30 ms
    few = unnumbered(monkeypatch, steady + held_up, 10)
    assert all(lost is None for lost, _ in few[:50]) and few[50] == (SOME, 29.8)
    many = unnumbered(monkeypatch, steady + held_up, 1000)
    assert all(lost is None for lost, _ in many)


def test_without_numbers_clocks_that_differ_are_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = unnumbered(monkeypatch, [(9000.0 + tick, 1000.0 + tick) for tick in range(50)], 10)
    assert ahead == [(None, 0.0)] * 50
