# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Calls of the check service of the bridge, and motions of the gripper to check."""

from __future__ import annotations

import json
from typing import Any

from action_lifecycle_msgs.msg import CheckFault, Motion
from action_lifecycle_msgs.srv import Check

from .bridge_rig import GRIPPER, Rig


def check(rig: Rig, *steps: Motion, **fields: Any) -> list[CheckFault]:
    answer = rig.call(rig.check_client, Check.Request(steps=steps, **fields))
    assert answer.error_code == 0, answer.error_msg
    return list(answer.faults)


def gripper(goal: Any, server: str = 'gripper', kind: str = GRIPPER) -> Motion:
    return Motion(server=server, type=kind, goal_json=json.dumps(goal))
