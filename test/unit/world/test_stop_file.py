# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A latched stop is kept in a file, and whoever starts with that file begins stopped."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.world import parse_facts, Safety, SafetyMonitor, SafetyStatus, StopFile
import pytest

from . import messages

FACTS = parse_facts('estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 0.5}')
STOP = SafetyStatus(Safety.STOPPED, ErrorCode.ESTOP, "e-stop topic '/estop' says stop", '/estop')


@pytest.fixture
def file(tmp_path: Path) -> StopFile:
    return StopFile(tmp_path / 'folder' / 'robot.stop')


def begun_with(file: StopFile) -> SafetyMonitor:
    return SafetyMonitor(FACTS, lambda status: None, file.read())


def test_without_a_file_there_was_no_stop(file: StopFile) -> None:
    assert file.read() is None
    file.remove()
    assert begun_with(file).status.state == Safety.NOT_READY


def test_what_was_written_is_read_with_its_first_reason(file: StopFile) -> None:
    file.write(STOP, 1000.0)
    read = file.read()
    assert read is not None
    assert (read.state, read.code, read.topic) == (STOP.state, STOP.code, STOP.topic)
    assert read.reason == f'{STOP.reason} (from before the restart)'
    assert [path.name for path in file.path.parent.iterdir()] == ['robot.stop']
    file.remove()
    assert file.read() is None


def test_who_begins_with_a_stop_stays_stopped_until_it_is_cleared(file: StopFile) -> None:
    file.write(STOP, 1000.0)
    monitor = begun_with(file)
    (estop,) = monitor.specs()
    monitor.ingest(estop, messages.flag(False), 1.0)  # all is well, and nobody has looked
    assert monitor.status.state == Safety.STOPPED
    assert 'before the restart' in monitor.status.message
    assert 'clear_stop' in monitor.status.message
    monitor.ingest(estop, messages.flag(True), 1.1)
    assert 'says stop' in monitor.clear(1.1)
    for now in (1.4, 1.5, 1.6):
        monitor.ingest(estop, messages.flag(False), now)
    assert monitor.clear(1.6) == '' and monitor.status.state == Safety.READY


@pytest.mark.parametrize('content', [
    b'', b'{}', b'[1]', b'null', b'\xff', b'{"code": "NONSENSE", "reason": "", "topic": ""}'])
def test_a_file_that_can_not_be_read_is_a_stop_that_names_it(
    file: StopFile, content: bytes
) -> None:
    file.path.write_bytes(content)
    status = begun_with(file).status
    assert (status.state, status.code) == (Safety.STOPPED, ErrorCode.ESTOP)
    assert str(file.path) in status.reason


def test_a_folder_that_can_not_be_made_is_told_of(tmp_path: Path) -> None:
    (tmp_path / 'taken').write_text('')
    with pytest.raises(LifecycleError, match='stop_file'):
        StopFile(tmp_path / 'taken' / 'robot.stop')
