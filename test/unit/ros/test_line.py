# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A line for a few places: first come, first served, however those who come leave."""

from __future__ import annotations

from action_lifecycle.ros.calls.slot_queue import Line, Turn
from hypothesis import given
from hypothesis import strategies as st


def test_as_many_go_as_there_are_places_and_the_others_in_order() -> None:
    line, went = Line(2), list[int]()
    turns = [Turn(line, lambda number=number: went.append(number)) for number in range(5)]
    for turn in turns:
        turn.wait()
    assert went == [0, 1]
    turns[1].leave()
    assert went == [0, 1, 2]
    turns[0].leave()
    assert went == [0, 1, 2, 3]


def test_who_has_left_the_line_is_not_called_and_leaving_again_does_nothing() -> None:
    line, went = Line(1), list[int]()
    turns = [Turn(line, lambda number=number: went.append(number)) for number in range(4)]
    for turn in turns:
        turn.wait()
    turns[1].leave()
    turns[0].leave()
    turns[0].leave()
    turns[1].leave()
    assert went == [0, 2]


def test_thousands_that_leave_as_soon_as_they_are_called() -> None:
    line, went = Line(3), list[int]()
    first = Turn(line, lambda: None)
    first.wait()

    def go(number: int) -> None:
        went.append(number)
        turns[number].leave()

    turns = [Turn(line, lambda number=number: go(number)) for number in range(5000)]
    for turn in turns:
        turn.wait()
    first.leave()
    assert went == [*range(5000)]


@given(st.integers(1, 4), st.lists(st.integers(0, 30), max_size=60))
def test_places_are_neither_lost_nor_given_twice(places: int, moves: list[int]) -> None:
    line, turns, went = Line(places), list[Turn](), list[int]()
    left: set[int] = set()
    for move in moves:
        if move < len(turns):
            turns[move].leave()
            left.add(move)
        else:
            number = len(turns)
            turns.append(Turn(line, lambda number=number: went.append(number)))
            turns[-1].wait()
        here = [number for number in range(len(turns)) if number not in left]
        assert [number for number in went if number not in left] == here[:places]
        assert went == sorted(went)
