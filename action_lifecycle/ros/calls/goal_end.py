# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The end of a step of work with ROS messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rosidl_runtime_py.convert import message_to_ordereddict

from ...work.motion_host import StepEnd


class GoalEnd(StepEnd):
    """The end of a goal, a call or a publication; its `result` is a message."""

    def plain_result(self) -> Any:
        if self.result is None or isinstance(self.result, Mapping):
            return self.result
        return message_to_ordereddict(self.result)
