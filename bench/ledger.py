# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The cost of journal and ledger compared with plain SQLite and Redis.

journal_vs_sqlite: the time of a journaled transition, from its Entry to the committed row, divided
    by that of one INSERT of the same row into a table without index and hash in another database;
    both with WAL, synchronous=NORMAL and one commit for each row.
power_vs_sqlite: the same with a barrier after each row, until the callback that the row is safe,
    against synchronous=FULL. It uses the medians of a block's rows, since a row may have to wait
    for a processor.
recover_vs_select: opening a journal of 100,000 events and restoring its 1,000 open actions,
    against one SELECT of all its rows.

sync_vs_pipeline, offline_mb_per_million: see _ledger_redis.py; they need a redis-server.

Rows are written in short blocks that alternate between the two. Each block is compared with the
next; the median of the ratios is printed, so that other load on the machine cancels out. The first
WARM_UP rows are not counted, because both WAL files still grow then.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
import sqlite3
import statistics
import tempfile
import time

from _ledger_redis import EVIDENCE, ledger_ratios, WALK
from _report import parser, report
from action_lifecycle.journal import Entry, Journal, Row

EVENTS = 100_000
OPEN_ACTIONS = 1_000
WARM_UP = 2_500


def transition(number: int, actions: int) -> Entry:
    """Return the `number`th transition of `actions` concurrent actions."""
    step, action = divmod(number, actions)
    step, attempt = step % (len(WALK) - 1), step // (len(WALK) - 1)
    return Entry(
        kind='transition', flow_id='8c2f3a4e-1d25-4a83-9f7b-5f0f6a1f2b11',
        action_id=f'pick_{action}', attempt=attempt, event=f'to_{WALK[step + 1]}',
        from_state=WALK[step], to_state=WALK[step + 1], cause='motion result', actor='flow',
        data=EVIDENCE, final=step == len(WALK) - 2, ros_time=1795230299.418)


def plain_table(path: Path, synchronous: str) -> sqlite3.Connection:
    """Return a connection to a table that has only the columns of a row."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute('PRAGMA journal_mode = WAL')
    connection.execute(f'PRAGMA synchronous = {synchronous}')
    columns = ', '.join(Row._fields[1:])
    connection.execute(f'CREATE TABLE entry (seq INTEGER PRIMARY KEY, {columns})')
    return connection


def compare(
    folder: Path, synchronous: str, rounds: int, block: int,
    write: Callable[[Journal, Entry], float], typical: Callable[[list[float]], float],
) -> float:
    """Return the time of a journaled transition relative to an INSERT of its row."""
    insert = f"INSERT INTO entry VALUES ({','.join('?' * len(Row._fields))})"
    connection = plain_table(folder / f'raw-{synchronous}.db', synchronous)
    execute = connection.cursor().execute
    ratios = []
    durability = 'power' if synchronous == 'FULL' else 'process'
    with Journal(folder / f'{synchronous}.journal', durability={
            'transition': durability, 'terminal': durability}) as journal:
        for number in range(WARM_UP):
            write(journal, transition(number, 20))
        for row in journal.rows():
            execute(insert, row)
        for start in range(WARM_UP, WARM_UP + rounds * block, block):
            journaled, inserted = [], []
            for number in range(start, start + block):
                entry = transition(number, 20)
                began = time.perf_counter()
                journaled.append(write(journal, entry) - began)
            for row in list(journal.rows(after=start)):
                began = time.perf_counter()
                execute(insert, row)
                inserted.append(time.perf_counter() - began)
            ratios.append(typical(journaled) / typical(inserted))
    connection.close()
    return statistics.median(ratios)


def append(journal: Journal, entry: Entry) -> float:
    """Record an entry; returns the time (s) afterwards."""
    journal.append(entry)
    return time.perf_counter()


def append_and_wait(journal: Journal, entry: Entry) -> float:
    """Record an entry; returns the time (s) at which it was safe from a power loss."""
    done: SimpleQueue[float] = SimpleQueue()
    journal.append(entry)
    journal.barrier(lambda future: done.put(time.perf_counter()))
    return done.get()


def recovery(folder: Path, rounds: int) -> float:
    """Return the time to open and read the open actions, relative to a SELECT of all rows."""
    path = folder / 'recover.journal'
    with Journal(path) as journal:
        closed = EVENTS - OPEN_ACTIONS * 4
        journal.append_many(transition(number, 500) for number in range(closed))
        journal.append_many(transition(number, OPEN_ACTIONS)._replace(flow_id='open')
                            for number in range(OPEN_ACTIONS * 4))
    ratios = []
    for _ in range(rounds):
        began = time.perf_counter()
        with Journal(path) as journal:
            actions = journal.open_actions() + journal.open_flows()
            recovered = time.perf_counter() - began
            assert len(actions) == OPEN_ACTIONS, len(actions)
        connection = sqlite3.connect(path)
        began = time.perf_counter()
        rows = connection.execute('SELECT * FROM entry').fetchall()
        ratios.append(recovered / (time.perf_counter() - began))
        assert len(rows) == EVENTS, len(rows)
        connection.close()
    return statistics.median(ratios)


def measure(folder: Path, events: int) -> dict[str, float]:
    """Return all ratios."""
    return {
        'journal_vs_sqlite': compare(folder, 'NORMAL', 30, 1000, append, statistics.mean),
        'power_vs_sqlite': compare(folder, 'FULL', 30, 200, append_and_wait, statistics.median),
        'recover_vs_select': recovery(folder, 7),
        **ledger_ratios(folder, events),
    }


def main() -> None:
    """Print the ratios; as JSON with `--json`."""
    options = parser(__doc__)
    options.add_argument('--events', type=int, default=200_000,
                         help='rows of the backlog that is synced (default: %(default)s)')
    options.add_argument('--folder', help='where to write, by default the folder for temporary '
                         'files; should be on the kind of disk that the robot has')
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        report(measure(Path(folder), arguments.events), arguments.json)


if __name__ == '__main__':
    main()
