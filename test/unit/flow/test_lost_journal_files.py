# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""No motion starts once the journal was truncated, whatever its durability is."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from action_lifecycle.flow.run.recorder import JournalRecorder
from action_lifecycle.journal import Entry, Journal
import pytest


@pytest.mark.parametrize('durability', ['process', 'power'])
@pytest.mark.parametrize('truncated', [False, True])
def test_effect_waits_until_its_row_is_in_the_files(
    tmp_path: Path, durability: str, truncated: bool
) -> None:
    path = tmp_path / 'robot.journal'
    with Journal(path, durability={'motion_start': durability}) as journal:
        done: Future[bool] = Future()
        later: list[Callable[[], Any]] = []
        clock = SimpleNamespace(call_later=lambda delay, call: (
            later.append(call), done.set_result(False)))
        recorder = JournalRecorder(
            journal, clock, lambda call: call(), lambda action, row: None)  # type: ignore[arg-type]
        recorder._transition = journal.append(
            Entry('transition', 'f', 'a', to_state='executing_motion'))
        if truncated:
            os.truncate(path, 0)
            os.truncate(f'{path}-wal', 0)
        recorder.barrier(lambda: done.set_result(True))
        assert done.result(10) is not truncated
        assert len(later) == truncated
