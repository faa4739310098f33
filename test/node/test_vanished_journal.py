# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A journal that vanished between two starts is a question; nothing starts in its successor."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
from typing import Any

from action_lifecycle.journal import Entry, Journal, JournalReader
from action_lifecycle.nodes.action.earlier_journal import open_journal, signs_of_an_earlier_one
from action_lifecycle.nodes.action.node import ActionLifecycleNode
from action_lifecycle.traces.contents import TraceKey
from action_lifecycle.traces.store import TraceStore
import pytest
from rclpy.lifecycle import TransitionCallbackReturn

from .test_parameters import context, make

__all__ = ['context', 'make']  # fixtures
SUCCESS = TransitionCallbackReturn.SUCCESS


def used(path: Path) -> None:
    with Journal(path) as journal:
        journal.append(Entry('note'))


def deleted(path: Path) -> None:
    path.unlink()


def all_deleted(path: Path) -> None:
    """Delete all files of the journal; the bridge's files stay."""
    for file in path.parent.glob(f'{path.name}*'):
        file.unlink()
    store = TraceStore(path.with_name('robot.traces'))
    store.begin(TraceKey('f', 'pick', 1), 1.0)
    store.close()


def with_boxes(path: Path) -> None:
    for file in path.parent.glob(f'{path.name}*'):
        file.unlink()
    path.with_name('robot.boxes').mkdir()
    path.with_name('robot.boxes').joinpath('20261128T120000.000Z-f-pick.mcap').touch()


def renamed(path: Path) -> None:
    path.rename(path.with_name('away'))


VANISHED: dict[Callable[[Path], object], str] = {
    deleted: r'robot\.journal\.lock is there',
    renamed: r'robot\.journal\.lock is there',
    lambda path: os.truncate(path, 0): 'the file is empty',
    all_deleted: r'robot\.traces has evidence of actions',
    with_boxes: r'robot\.boxes is not empty'}


@pytest.mark.parametrize('vanish', VANISHED)
def test_an_empty_journal_is_not_begun_where_there_was_one(
    vanish: Callable[[Path], object], tmp_path: Path, make: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'robot.journal'
    used(path)
    vanish(path)
    node = make(ActionLifecycleNode, journal_path=str(path))
    assert node.trigger_configure() != SUCCESS
    error = capfd.readouterr().err
    assert 'there is no journal, but there was one' in error and 'new_journal:=true' in error
    assert 'Traceback' not in error and not (path.exists() and path.stat().st_size)
    node = make(ActionLifecycleNode, journal_path=str(path), new_journal=True)
    assert node.trigger_configure() == SUCCESS
    with JournalReader(path) as reader:
        lock, = reader.open_rows('lock')
        assert lock.action_id == '*' and 'is not known' in lock.cause
    assert node.trigger_cleanup() == SUCCESS
    with open_journal(path, {}, False) as journal:  # the question is answered
        assert journal.open_rows('lock') == [lock]


@pytest.mark.parametrize(('vanish', 'sign'), VANISHED.items())
def test_what_shows_it_is_named(
    vanish: Callable[[Path], object], sign: str, tmp_path: Path
) -> None:
    path = tmp_path / 'robot.journal'
    used(path)
    assert signs_of_an_earlier_one(path) == []
    vanish(path)
    with pytest.raises(Exception, match=sign):
        open_journal(path, {}, False)


def test_first_start_of_a_robot_needs_no_answer(tmp_path: Path) -> None:
    """The bridge may have made its files already."""
    path = tmp_path / 'robot.journal'
    TraceStore(tmp_path / 'robot.traces').close()
    (tmp_path / 'robot.boxes').mkdir()
    (tmp_path / 'robot.stop').touch()
    for new in (False, True):
        with open_journal(path, {}, new) as journal:
            assert journal.open_rows('lock') == []


def test_link_to_a_journal_is_followed(tmp_path: Path) -> None:
    path = tmp_path / 'disk' / 'robot.journal'
    path.parent.mkdir()
    used(path)
    link = tmp_path / 'link.journal'
    link.symlink_to(path)
    with open_journal(link, {}, False) as journal:
        assert journal.last_seq() == 1
