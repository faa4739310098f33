# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""No motion and no flow starts once the journal was truncated, or nothing can be recorded."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from action_lifecycle.flow.run.recorder import JournalRecorder
from action_lifecycle.journal import Entry, Journal, JournalError
from action_lifecycle.journal import journal as journal_module
import pytest

from .robot import Clock, Process, Robot

FLOW = 'flow: f\nactions: {look: {confirm: held}}\n'
FULL = {'f_bavail': 100, 'f_frsize': 4096, 'f_flag': 0}
READ_ONLY = {'f_bavail': 10**6, 'f_frsize': 4096, 'f_flag': os.ST_RDONLY}


@pytest.mark.parametrize(('disk', 'reason'), [
    (FULL, r'nothing can be recorded: the disk is full \(0\.4 MB are free, 2\.1 MB'),
    (READ_ONLY, 'nothing can be recorded: the file system is mounted read-only')])
def test_flow_is_refused_while_nothing_can_be_recorded_and_then_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk: dict[str, int], reason: str
) -> None:
    clock = Clock()
    process = Process(tmp_path / 'robot', clock, Robot(clock))
    with monkeypatch.context() as patch:
        patch.setattr(
            journal_module.os, 'statvfs', lambda path: SimpleNamespace(**disk))
        with pytest.raises(JournalError, match=reason):
            process.submit(FLOW, 'one')
        assert not process.orchestrator.runs and not list(process.journal.rows())
    assert process.submit(FLOW, 'one').flow_id == 'one'
    process.journal.close()


@pytest.mark.parametrize('lost', ['deleted', 'truncated'])
def test_flow_is_refused_at_once_when_the_journal_is_lost(tmp_path: Path, lost: str) -> None:
    clock, path = Clock(), tmp_path / 'robot'
    process = Process(path, clock, Robot(clock))
    if lost == 'deleted':
        path.unlink()
    else:
        os.truncate(path, 0)
    with pytest.raises(JournalError, match='while in use'):
        process.submit(FLOW, 'one')
    assert not process.orchestrator.runs
    process.journal.close()


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
        recorder = JournalRecorder(  # type: ignore[arg-type]
            journal, clock, lambda call: call(), lambda action, row: None)
        recorder._transition = journal.append(
            Entry('transition', 'f', 'a', to_state='executing_motion'))
        if truncated:
            os.truncate(path, 0)
            os.truncate(f'{path}-wal', 0)
        recorder.barrier(lambda: done.set_result(True))
        assert done.result(10) is not truncated
        assert len(later) == truncated
