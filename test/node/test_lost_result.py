# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A result whose answer the middleware has lost is asked for again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from action_lifecycle.ros import motion_client
import pytest

from .bridge_rig import Rig


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(motion_client, 'ASK_AGAIN', 0.3)
    rig = Rig(tmp_path)
    rig.gap = 0.02
    rig.start()
    yield rig
    rig.close()


@pytest.mark.parametrize('lost', [0, 1, 2])
def test_the_motion_ends_all_the_same(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    answers: list[Any] = []
    send = rig.gripper.server._send_result_response

    def lose(*answer: Any) -> None:
        answers.append(answer)
        if len(answers) > lost:
            send(*answer)

    monkeypatch.setattr(rig.gripper.server, '_send_result_response', lose)
    result = rig.execute({'command': {'position': 0.01}})
    assert (result.outcome, result.error_msg) == ('executed', '')
    assert len(answers) == lost + 1 and len(rig.gripper.goals) == 1
