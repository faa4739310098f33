# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Black boxes that can't be written, are too many, or are begun when the bridge ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import os
from pathlib import Path
from typing import Any

from action_lifecycle.bags import read_bag
from action_lifecycle.nodes.bridge.black_box import black_box
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.node.diagnostics import OK, WARN
from action_lifecycle_msgs.action import ConfirmOutcome
from action_lifecycle_msgs.msg import Condition, ErrorCode
from action_lifecycle_msgs.srv import SaveBlackBox
import pytest

from .bridge_rig import Rig

pytest.importorskip('mcap')

MESSAGE = 'c: gap > 0.01 is false (gap 0.001 m)'


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    rigs: list[Rig] = []

    def make(**parameters: Any) -> Rig:
        rigs.append(Rig(tmp_path, **{f'black_box.{name}': value if not isinstance(value, Path)
                                     else str(value) for name, value in parameters.items()}))
        rigs[0].start()
        rigs[0].gap = 0.001
        return rigs[0]
    yield make
    for rig in rigs:
        rig.close()


def asked(rig: Rig) -> Any:
    """Send a confirmation that will be refuted; returns the future of its result."""
    goal = ConfirmOutcome.Goal(
        flow_id='f', action_id='a', attempt=1, after=to_time(rig.now()),
        conditions=[Condition(name='c', expression='gap > 0.01', within=0.3)])
    return rig.wait(rig.confirmation.send_goal_async(goal)).get_result_async()


def save(rig: Rig) -> Any:
    return rig.call(rig.asker.create_client(
        SaveBlackBox, 'world_model_bridge/save_black_box'), SaveBlackBox.Request())


def test_a_box_that_was_begun_is_completed_when_the_bridge_ends(
    make: Callable[..., Rig], tmp_path: Path
) -> None:
    rig = make(folder=tmp_path / 'boxes', after=10.0)
    message = rig.wait(asked(rig)).result.error_msg
    assert not os.listdir(tmp_path / 'boxes')
    rig.bridge.trigger_deactivate()
    rig.bridge.trigger_cleanup()
    path, = (tmp_path / 'boxes').iterdir()
    assert message == f'{MESSAGE}; black box: {path.name}'
    with read_bag(path) as bag:
        assert any(message.topic == '/joint_states' for message in bag.messages())
    rig.bridge.trigger_configure()  # the next configuration records anew
    rig.bridge.trigger_activate()
    assert save(rig).path


def test_only_some_boxes_wait_to_be_written(
    make: Callable[..., Rig], tmp_path: Path
) -> None:
    rig = make(folder=tmp_path / 'boxes', after=1.0)
    results = [rig.wait(future).result for future in [asked(rig) for _ in range(6)]]
    assert all(result.verdict == ConfirmOutcome.Result.REFUTED for result in results)
    named = {result.error_msg.rpartition('; black box: ')[2] for result in results
             if '; black box: ' in result.error_msg}
    assert len(named) == black_box.QUEUE
    rig.until(lambda: set(os.listdir(tmp_path / 'boxes')) == named)
    rig.until(lambda: rig.bridge._box.health().values['boxes written'] == black_box.QUEUE)
    assert rig.bridge._box.health().values['boxes lost'] == 2


def test_a_folder_that_cannot_be_made_changes_no_verdict(
    make: Callable[..., Rig], tmp_path: Path
) -> None:
    (tmp_path / 'file').write_text('')
    folder = tmp_path / 'file' / 'boxes'
    rig = make(folder=folder)
    assert rig.bridge._box.health()[:2] == (WARN, f'no black box: {folder}: Not a directory')
    result = rig.wait(asked(rig)).result
    assert result.verdict == ConfirmOutcome.Result.REFUTED
    name = result.error_msg.rpartition(' ')[2]
    rig.until(lambda: name in rig.bridge._box.health().message)
    answer = save(rig)
    assert answer.error_code == ErrorCode.INTERNAL and 'Not a directory' in answer.error_msg
    (tmp_path / 'file').unlink()
    assert Path(save(rig).path).is_file()  # as soon as it can be made


def test_without_its_packages_nothing_is_recorded(
    make: Callable[..., Rig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(black_box, 'PACKAGES', ('mcap', 'no_such_package'))
    rig = make(folder=tmp_path / 'boxes')
    why = "no_such_package not installed: pip install 'action_lifecycle[bags]'"
    assert capfd.readouterr().err.count(f'no black box is written: {why}') == 1
    assert rig.wait(asked(rig)).result.error_msg == MESSAGE
    assert rig.bridge._box.health() == (OK, f'off: {why}', {})
    assert rig.bridge._box._rings.count() == 0 and not (tmp_path / 'boxes').exists()
    answer = save(rig)
    assert (answer.error_code, answer.error_msg) == (
        ErrorCode.NOT_READY, f'no black box is written: {why}')


def test_a_verdict_that_is_not_listed_leaves_no_box(
    make: Callable[..., Rig], tmp_path: Path
) -> None:
    rig = make(folder=tmp_path / 'boxes', when=['timed_out', 'violated'])
    assert rig.wait(asked(rig)).result.error_msg == MESSAGE
    assert not rig.bridge._box._waiting
