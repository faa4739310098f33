# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0


"""What is to survive a power loss is configured by kind of event."""

from __future__ import annotations

from pathlib import Path
import time
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import JournalRecorder
from action_lifecycle.journal import Entry, Journal
from action_lifecycle.journal.sqlite import barrier as barrier_module
import pytest

MOVE = Entry('transition', 'f', 'a', 1, 'execute', 'in_progress', 'executing_motion')
CONFIRM = Entry('transition', 'f', 'a', 1, 'motion_done', 'executing_motion', 'sensor_confirm')
END = Entry('transition', 'f', 'a', 1, 'terminate', 'completed', 'terminated', final=True)
FLOW = Entry('flow', 'f', event='accepted', to_state='START')
NOTE = Entry('note', 'f')


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list that grows with each sync of a barrier."""
    done: list[int] = []
    made = barrier_module.BarrierThread._make_safe

    def make_safe(self: barrier_module.BarrierThread, last: int) -> None:
        made(self, last)
        done.append(last)
    monkeypatch.setattr(barrier_module.BarrierThread, '_make_safe', make_safe)
    return done


@pytest.mark.parametrize(('durability', 'entry', 'synced'), [
    ({}, MOVE, True), ({}, END, True), ({}, CONFIRM, False), ({}, FLOW, False),
    ({'motion_start': 'process'}, MOVE, False), ({'terminal': 'process'}, END, False),
    ({'transition': 'power'}, CONFIRM, True), ({'flow': 'power'}, FLOW, True),
    ({'flow': 'power'}, NOTE, False), ({'other': 'power'}, NOTE, True),
])
def test_row_is_synced_without_a_barrier_as_its_kind_says(
    tmp_path: Path, syncs: list[int], durability: dict[str, str], entry: Entry, synced: bool,
) -> None:
    with Journal(tmp_path / 'journal', durability=durability) as journal:
        row = journal.append(entry)
        assert journal.wants_power(row) is synced
        deadline = time.monotonic() + (5.0 if synced else 0.05)
        while time.monotonic() < deadline and not syncs:
            time.sleep(0.001)
        assert syncs == ([1] if synced else [])
        assert journal.barrier().result(5) == 1
        assert syncs == [1]  # once, whoever waits


def test_action_that_moves_waits_for_the_disk_only_where_that_is_configured(
    tmp_path: Path, syncs: list[int],
) -> None:
    class Action:
        flow_id, action_id, parameters = 'f', 'a', {}

        def attempt_after(self, event: str) -> int:
            return 1

    class Change:
        event, source, target, data = 'execute', 'in_progress', 'executing_motion', {'goal_id': ''}

    class Clock:

        def now(self) -> float:
            return 0.0

        def call_later(self, delay: float, callback: Any) -> None:
            raise AssertionError('a row was not recorded')

    for kind, expected in ('process', []), ('power', [1]):
        called: list[bool] = []
        syncs.clear()
        with Journal(tmp_path / kind, durability={'motion_start': kind}) as journal:
            recorder = JournalRecorder(
                journal, Clock(), lambda callback: callback(), lambda action, row: None)
            recorder.transition(Action(), Change())
            recorder.barrier(lambda called=called: called.append(True))
            deadline = time.monotonic() + 5.0
            while not called:
                assert time.monotonic() < deadline
                time.sleep(0.001)
            assert syncs == expected


@pytest.mark.parametrize(('durability', 'message'), [
    ({'motion_strat': 'power'}, "did you mean 'motion_start'"),
    ({'terminal': 'pwer'}, "did you mean 'power'")])
def test_what_is_not_known_is_refused(
    tmp_path: Path, durability: dict[str, str], message: str,
) -> None:
    with pytest.raises(LifecycleError, match=message):
        Journal(tmp_path / 'journal', durability=durability)
    with Journal(tmp_path / 'journal'):
        pass


def test_rows_that_nothing_waits_for_are_synced_soon_and_together(
    tmp_path: Path, syncs: list[int],
) -> None:
    with Journal(tmp_path / 'journal') as journal:
        syncs.clear()
        for number in range(50):
            journal.append(Entry(
                kind='transition', flow_id='f', action_id=f'a{number}', event='terminate',
                from_state='completed', to_state='terminated', final=True))
        deadline = time.monotonic() + 5.0
        while not syncs:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        assert len(syncs) < 25
