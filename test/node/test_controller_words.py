# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a controller's result is in words: error codes by number and name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from action_lifecycle.ros.calls.motion_client import describe
from control_msgs.action import FollowJointTrajectory
import pytest


class MoveItErrorCodes:
    """As rosidl generates it for moveit_msgs."""

    SUCCESS, FAILURE, PLANNING_FAILED, CONTROL_FAILED = 1, 99999, -1, -4
    SLOT_TYPES = ()

    def __init__(self, val: int, message: str = '') -> None:
        self.val = val
        self.message = message


@pytest.mark.parametrize(('said', 'result', 'told'), [
    ('succeeded', SimpleNamespace(error_code=MoveItErrorCodes(1)), 'succeeded'),
    ('aborted', SimpleNamespace(error_code=MoveItErrorCodes(0)), 'aborted'),
    ('aborted', SimpleNamespace(error_code=MoveItErrorCodes(-4)),
     'aborted (error code -4 CONTROL_FAILED)'),
    ('aborted', SimpleNamespace(error_code=MoveItErrorCodes(-1, 'no path')),
     'aborted (error code -1 PLANNING_FAILED, no path)'),
    ('aborted', SimpleNamespace(error_code=MoveItErrorCodes(-77)), 'aborted (error code -77)'),
    ('aborted', FollowJointTrajectory.Result(error_code=-5, error_string='late'),
     'aborted (error code -5 GOAL_TOLERANCE_VIOLATED, late)'),
    ('succeeded', FollowJointTrajectory.Result(), 'succeeded'),
    ('aborted', SimpleNamespace(error_code=206, error_msg='no costmap'),
     'aborted (error code 206, no costmap)'),
    ('canceled', SimpleNamespace(), 'canceled'),
])
def test_the_error_code_of_a_result_is_told_by_number_and_name(
    said: str, result: Any, told: str,
) -> None:
    assert describe(said, result) == told
