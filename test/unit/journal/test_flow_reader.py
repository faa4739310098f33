# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The newest flows, and the rows of one, without a scan of all rows."""

from __future__ import annotations

import contextlib
from pathlib import Path
import random
import sqlite3
import tempfile

from action_lifecycle.journal import Entry, Journal
from action_lifecycle.journal.flow_reader import FlowReader
from action_lifecycle.lifecycle.flow_ids import is_within
from hypothesis import example, given, settings
from hypothesis import strategies as st
import pytest

from .test_journal import wait_until_indexed

FLOWS = ['F', 'F-1', 'F.1', 'F0', 'F/a', 'F/a.2', 'F/a/b', 'F-1/a', 'E/a', 'E', 'Fa', 'Z']


def flow_row(flow_id: str, event: str = 'accepted', final: bool = False) -> Entry:
    return Entry('flow', flow_id, event=event, final=final)


def expected(journal: Journal, before: int | None, limit: int) -> list[tuple[str, int, int]]:
    """Return subject, first and last row of the newest flows and requests, from all rows."""
    ends: dict[str, list[int]] = {}
    plans: dict[str, list[int]] = {}
    for row in journal.rows():
        if row.kind == 'flow' and '/' not in row.flow_id:
            ends.setdefault(row.flow_id, []).append(row.seq)
        elif row.kind == 'plan':
            plans.setdefault(row.action_id, []).append(row.seq)
    firsts = {flow_id: min(ends.get(flow_id) or plans[flow_id]) for flow_id in {**ends, **plans}}
    order = sorted(firsts, key=lambda flow_id: -firsts[flow_id])
    chosen = [flow_id for flow_id in order if before is None or firsts[flow_id] < before][:limit]
    return [(flow_id, min(rows), max(rows)) for flow_id in chosen
            for rows in [ends.get(flow_id) or plans[flow_id]]]


def found(reader: FlowReader, before: int | None, limit: int) -> list[tuple[str, int, int]]:
    rows: dict[str, list[int]] = {}
    for row in reader.newest_flows(before, limit):
        rows.setdefault(row.flow_id or row.action_id, []).append(row.seq)
    return [(flow_id, seqs[0], seqs[-1]) for flow_id, seqs in rows.items()]


@settings(max_examples=15, deadline=None)
@example([(flow_id, 'flow') for flow_id in FLOWS], 0, True, 5, 9)
@given(st.lists(st.tuples(st.sampled_from(FLOWS), st.sampled_from(
    ['flow', 'flow', 'transition', 'plan', 'note', 'lock'])), max_size=40),
    st.integers(0, 40), st.booleans(), st.integers(1, 5), st.integers(0, 40))
def test_the_same_flows_as_in_all_rows(
    rows: list[tuple[str, str]], read_at: int, is_indexed: bool, limit: int, before: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / 'journal') as journal:
        journal.append(Entry('note', event='begin'))
        reader = FlowReader(journal.path)
        for number, (flow_id, kind) in enumerate(rows):
            if number == read_at:
                if is_indexed:
                    wait_until_indexed(journal)
                assert found(reader, None, limit) == expected(journal, None, limit)
            if kind == 'plan' and '/' in flow_id:
                continue
            journal.append(Entry(kind, '' if kind in ('plan', 'lock') else flow_id,
                                 flow_id if kind == 'plan' else 'a' * (kind != 'flow'),
                                 final=number % 3 == 0))
        if is_indexed:
            wait_until_indexed(journal)
        assert found(reader, None, limit) == expected(journal, None, limit)
        assert found(reader, before, limit) == expected(journal, before, limit)
        with FlowReader(journal.path) as fresh:
            assert found(fresh, None, 50) == expected(journal, None, 50)
        compare_rows(journal, reader, limit)
        reader.close()


def compare_rows(journal: Journal, reader: FlowReader, limit: int) -> None:
    """Compare the pages of each flow with a filter of all rows."""
    for flow_id in ('E', 'F', 'F-1', 'Z'):
        pages, after = [], 0
        while page := reader.flow_rows(flow_id, after, limit):
            pages += page
            after = page[-1].row.seq
        assert [row for row, _ in pages] == [
            row for row in journal.rows() if is_within(row.flow_id, flow_id) or (
                row.kind == 'plan' and row.action_id == flow_id)]


def test_rows_that_compaction_removes_between_two_pages(tmp_path: Path) -> None:
    with Journal(tmp_path / 'journal') as journal, FlowReader(journal.path) as reader:
        journal.append_many([flow_row('f'), *[Entry('note', 'f', event='told')] * 20,
                             flow_row('f', 'finish', final=True)])
        first = reader.flow_rows('f', 0, 5)
        assert [row.seq for row, _ in first] == [1, 2, 3, 4, 5]
        journal.compact(synced_to=18)
        assert [row.seq for row, _ in reader.flow_rows('f', 5, 5)] == [19, 20, 21, 22]
        journal.compact(synced_to=22)
        assert reader.newest_flows() == [] and reader.flow_rows('f', 0, 5) == []


def test_damaged_rows_are_left_out_of_the_flows_and_marked_in_the_rows(tmp_path: Path) -> None:
    with Journal(tmp_path / 'journal') as journal, FlowReader(journal.path) as reader:
        journal.append_many([flow_row('f'), flow_row('f', 'finish', final=True), flow_row('g')])
        with contextlib.closing(sqlite3.connect(journal.path)) as connection, connection:
            connection.execute("UPDATE entry SET event = 'x' WHERE seq IN (1, 3)")
        assert [row.seq for row in reader.newest_flows()] == [2]
        assert [bool(fault) for _, fault in reader.flow_rows('f', 0, 9)] == [True, False]


@pytest.mark.parametrize('rows_each', [100, 5_000])
def test_the_work_does_not_grow_with_the_rows(tmp_path: Path, rows_each: int) -> None:
    chance = random.Random(1)
    with Journal(tmp_path / 'journal') as journal:
        for number in range(5):
            journal.append_many([flow_row(f'f{number}'), *(Entry(
                'transition', f'f{number}/n' if chance.random() < 0.5 else f'f{number}',
                f'a{chance.randrange(50)}') for _ in range(rows_each))])
        wait_until_indexed(journal)
    with FlowReader(tmp_path / 'journal') as reader:
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        reader._connection.set_progress_handler(count, 100)
        assert len(reader.newest_flows()) == 5
        assert steps < 60
        steps = 0
        reader.newest_flows()
        assert steps < 30
