# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The order and the places of coordinate frames."""

from __future__ import annotations

import math

from action_lifecycle.viewer.robots import FrameNow
from hypothesis import given
from hypothesis import strategies as st
import pytest

pytest.importorskip('nicegui')
from action_lifecycle.viewer.pages.now.frames import (  # noqa: E402, I100
    MAX_FRAMES,
    ordered,
    origins,
    rotation_matrix,
)

NAMES = st.sampled_from('abcdef')
NUMBER = st.floats(-10.0, 10.0)
FRAMES = st.lists(st.builds(FrameNow, NAMES, NAMES, st.tuples(NUMBER, NUMBER, NUMBER),
                            st.tuples(NUMBER, NUMBER, NUMBER, NUMBER)), max_size=12)
NO_TURN = 0.0, 0.0, 0.0, 1.0
QUARTER = 0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)


@given(FRAMES)
def test_each_frame_comes_once_after_its_parent_and_in_no_loop(frames: list[FrameNow]) -> None:
    found = ordered(frames)
    children = [frame.child for frame in found]
    assert len(set(children)) == len(children)
    for index, frame in enumerate(found):
        assert frame.parent not in children[index:]
    assert origins(found).keys() == {*children, *(frame.parent for frame in found)}


@given(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER))
def test_a_quaternion_of_any_length_is_a_rotation(turn: tuple[float, float, float, float]) -> None:
    matrix = rotation_matrix(turn)
    for i in range(3):
        for j in range(3):
            dot = sum(matrix[i][k] * matrix[j][k] for k in range(3))
            assert dot == pytest.approx(float(i == j), abs=1e-9)


def test_places_are_chained_through_the_rotations_of_parents() -> None:
    found = ordered([FrameNow('arm', 'tool', (1.0, 0.0, 0.0), NO_TURN),
                     FrameNow('base', 'arm', (0.0, 0.0, 2.0), QUARTER)])
    assert origins(found)['tool'] == pytest.approx((0.0, 1.0, 2.0))


def test_what_can_not_be_drawn_is_left_out() -> None:
    good = FrameNow('base', 'arm', (0.0, 0.0, 0.0), NO_TURN)
    assert ordered([
        FrameNow('x', 'y', (0.0, 0.0, 0.0), NO_TURN), FrameNow('y', 'x', (0.0, 0.0, 0.0), NO_TURN),
        FrameNow('base', 'z', (math.nan, 0.0, 0.0), NO_TURN), good,
        good._replace(translation=(9.0, 9.0, 9.0))]) == [good]
    many = [FrameNow('base', str(index), (0.0, 0.0, 0.0), NO_TURN) for index in range(999)]
    assert len(ordered(many)) == MAX_FRAMES
