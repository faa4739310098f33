# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The kind `motion`: a goal for a ROS action server of any type."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .bridge_work import BridgeWork
from ..documents.models import seconds
from ..lifecycle.work import register_work


@register_work('motion')
class MotionSpec(BridgeWork):
    """One goal for one ROS action server."""

    server: str = Field(description='Name of the action, such as gripper_controller/gripper_cmd.')
    type: str = Field(  # noqa: A003
        description='Such as control_msgs/action/GripperCommand.')
    goal: dict[str, Any] = Field(
        default={}, description='Fields of the goal; {fact: NAME} and {expr: TEXT} are filled '
        'in from the facts when the goal is sent.')
    server_timeout: float = seconds(5.0, 'Seconds to wait for the server.', most=600)
    timeout: float = seconds(60.0, 'Seconds from sending to the result; 0: no limit.', most=86400)

    foreign_goals: Literal['ask', 'wait', 'fail', 'allow'] = Field(
        default='ask', description='While another client has a goal at the server, nothing is '
        'sent, and a goal that it has ended is not sent again. ask: a person decides; wait: until '
        'the other goal has ended and `stopped` is true; fail: the motion fails; allow: for '
        'servers that execute goals of several clients at once, nothing is looked at.')

    has_id = True

    def is_physical(self) -> bool:
        return True
