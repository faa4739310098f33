# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""With the SingleThreadedExecutor, an awaiting callback holds up no others of its node."""

from __future__ import annotations

from functools import partial

from action_lifecycle.ros.calls.goal_call import Ending
from action_lifecycle.ros.node.executor import make_executor
from action_msgs.msg import GoalStatus
import pytest

from . import managed_rig
from .test_goal_server import Rig


def test_a_goal_is_canceled_over_dds_while_its_result_is_awaited(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(managed_rig, 'make_executor', partial(make_executor, 'single_threaded'))
    rig = Rig(local=False)
    try:
        call = rig.call('wait')
        rig.until(lambda: rig.server.begun and rig.feedback)
        rig.until(lambda: rig.client.results._pending_requests)
        call.cancel()
        end = rig.wait(call.done)
        assert (end.how, end.status) == (Ending.RESULT, GoalStatus.STATUS_CANCELED)
    finally:
        rig.close()
