# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A facts file that is loaded again while the bridge runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_lifecycle.ros.node.rclpy_internals import lifecycle_state
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import ErrorCode, SafetyState
import pytest
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from .bridge_rig import Rig
from .estop_rig import OPEN

HEAD = 'estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 1.0}\nfacts:\n'
GAP = ('  {name}: {{topic: joint_states, type: sensor_msgs/msg/JointState, '
       "field: 'position[name=gripper]', unit: m, max_age: 1.0}}\n")
OLD, NEW = (HEAD + GAP.format(name=name) for name in ('gap', 'width'))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(tmp_path, OLD)
    found.gap = 0.02
    found.reload_client = found.asker.create_client(  # type: ignore[attr-defined]
        Trigger, 'world_model_bridge/reload')
    yield found
    found.close()


def reload(rig: Any) -> Any:
    return rig.call(rig.reload_client, Trigger.Request())


def change(rig: Rig, text: str) -> None:
    (rig.folder / 'facts.yaml').write_text(text)


def names(rig: Rig) -> list[str]:
    return [fact.name for fact in rig.declared[-1].facts]


def confirmed(rig: Rig, expression: str) -> bool:
    return bool(rig.result(rig.confirm(expression)).verdict == ConfirmOutcome.Result.CONFIRMED)


def test_a_changed_file_is_in_use_after_reload(rig: Rig) -> None:
    rig.start()
    assert confirmed(rig, 'gap > 0.01')
    change(rig, NEW)
    refused = rig.result(rig.confirm('width > 0.01'))
    assert refused.error_msg.endswith('to use those: action_lifecycle reload')
    before, told = len(rig.safety), reload(rig)
    assert told.success, told.message
    assert f"the facts of {rig.folder / 'facts.yaml'} of 20" in told.message
    rig.until(lambda: names(rig) == ['width'])
    rig.until(lambda: rig.safety[before:] and rig.safety[-1].state == SafetyState.READY)
    rig.until(lambda: rig.motion.server_is_ready() and rig.confirmation.server_is_ready())
    assert confirmed(rig, 'width > 0.01')
    assert rig.execute({}).error_code == ErrorCode.NONE
    assert "unknown name 'gap'" in rig.result(rig.confirm('gap > 0.01')).error_msg


def test_a_file_with_a_fault_changes_nothing(rig: Rig) -> None:
    rig.start()
    before = len(rig.safety)
    change(rig, NEW.replace('m, max_age: 1.0', 'm, max_age: -1.0')
           + '  more: {constant: 1, colour: red}\n')
    told = reload(rig)
    assert not told.success
    assert 'facts.yaml:3:' in told.message and 'facts.yaml:4:' in told.message  # all faults
    assert confirmed(rig, 'gap > 0.01') and len(rig.safety) == before
    (rig.folder / 'facts.yaml').unlink()
    assert not reload(rig).success and confirmed(rig, 'gap > 0.01')


def test_a_file_that_can_not_be_used_after_all_leaves_the_earlier_facts(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from action_lifecycle.nodes.bridge import node
    rig.start()
    change(rig, NEW)
    used, guard = [], node.SafetyGuard

    def failing(bridge: Any, facts: Any, *given: Any) -> Any:
        used.append([*facts])
        if 'width' in facts:
            raise RuntimeError('no memory')
        return guard(bridge, facts, *given)

    monkeypatch.setattr(node, 'SafetyGuard', failing)
    told = reload(rig)
    assert not told.success and 'are in use again' in told.message
    assert used == [['width'], ['gap']]
    rig.until(lambda: rig.safety[-1].state == SafetyState.READY)
    rig.until(rig.confirmation.server_is_ready)
    assert confirmed(rig, 'gap > 0.01')


def test_nothing_is_loaded_while_something_moves_or_is_judged(rig: Rig) -> None:
    rig.start()
    change(rig, NEW)
    rig.gripper.behaviour = 'wait'
    moving = rig.send(rig.order(OPEN))
    rig.until(lambda: rig.gripper.goals)
    told = reload(rig)
    assert not told.success and 'is not loaded now: a motion runs' in told.message
    rig.gripper.let_go()
    assert rig.result(moving).error_code == ErrorCode.NONE
    judged = rig.confirm('gap > 0.5', within=60.0)
    told = reload(rig)
    assert not told.success and 'an outcome is judged' in told.message
    rig.wait(judged.cancel_goal_async())
    rig.result(judged)
    assert confirmed(rig, 'gap > 0.01')


def test_a_latched_stop_is_not_forgotten(rig: Rig) -> None:
    rig.start()
    assert rig.execute({}).error_code == ErrorCode.NONE
    rig.beating = False
    rig.estop.publish(Bool(data=True))
    rig.until(lambda: rig.safety[-1].state == SafetyState.STOPPED)
    change(rig, NEW)
    told = reload(rig)
    assert not told.success and 'a stop is latched: ' in told.message
    assert lifecycle_state(rig.bridge) == 'active' and names(rig) == ['gap']


def test_an_inactive_bridge_stays_inactive(rig: Rig) -> None:
    told = reload(rig)
    assert not told.success and 'not configured' in told.message
    rig.bridge.trigger_configure()
    change(rig, NEW)
    assert reload(rig).success and lifecycle_state(rig.bridge) == 'inactive'
    rig.bridge.trigger_activate()
    rig.until(lambda: rig.declared and names(rig) == ['width'])
