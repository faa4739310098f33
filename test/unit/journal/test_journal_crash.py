# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Writers killed at random moments, and what is read while they write.

JOURNAL_KILLS sets how many kills there are (200 in a soak run), JOURNAL_LANES at how many journals
at once, JOURNAL_SEED repeats a run.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from action_lifecycle.journal import Journal, JournalError, JournalReader, verify_journal
import pytest

from .conftest import WRITER

KILLS = int(os.environ.get('JOURNAL_KILLS', '6'))
LANES = int(os.environ.get('JOURNAL_LANES', '1'))
SEED = int(os.environ.get('JOURNAL_SEED') or random.SystemRandom().randrange(10**6))


class Told:
    """What a writer was promised, read from its stdout in a thread of its own."""

    def __init__(self, process):
        self.row = self.safe = self.compacted = self.pid = self.ended = 0
        self._process = process
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            word, seq = line.split()
            setattr(self, word.decode(), int(seq))

    def wait_for_row(self, seq, seconds=20):
        deadline = time.monotonic() + seconds
        while self.row < seq:
            assert self._process.poll() is None, 'the writer ended by itself'
            assert time.monotonic() < deadline, f'row {seq} was not written in {seconds} s'
            time.sleep(0.001)

    def wait_for_end(self):
        self._thread.join(10)


class Writers:
    """Writers to one journal, forked one after the other by a process that imports only once."""

    def __init__(self, path):
        self._process = subprocess.Popen(
            [sys.executable, str(WRITER), str(path), 'forking'], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, bufsize=0,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
        self.told = Told(self._process)

    def start(self, seed):
        self.told.pid = 0
        self._process.stdin.write(f'{seed}\n'.encode())

    def wait_for_row(self, seq, seconds=60):
        deadline = time.monotonic() + seconds
        while not self.told.pid or self.told.row < seq:
            assert self._process.poll() is None, 'the process that forks ended by itself'
            assert not self.told.pid or self.told.ended != self.told.pid, 'the writer ended'
            assert time.monotonic() < deadline, f'row {seq} was not written in {seconds} s'
            time.sleep(0.001)

    def kill(self):
        """Kill the writer and take in all that it has told."""
        os.kill(self.told.pid, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while self.told.ended != self.told.pid:
            assert time.monotonic() < deadline, 'a killed writer lives on'
            time.sleep(0.001)

    def close(self):
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


def kill_writers(path, kills, seed):
    """Kill as many writers and look at the journal after each; return how many rows were told."""
    chance = random.Random(seed)
    writers = Writers(path)
    told = writers.told
    known = compacted = 0
    try:
        for kill in range(1, kills + 1):
            writers.start(chance.randrange(10**6))
            writers.wait_for_row(known + chance.randrange(1, 100))
            time.sleep(chance.random() * 0.02)
            writers.kill()
            known, compacted = told.row, max(compacted, told.compacted)
            look_at(path, max(known, told.safe), compacted)
            if kill % 100 == 0:
                print(f'{path.name}: {kill} kills, {known} rows acknowledged', flush=True)
    finally:
        writers.close()
    with Journal(path) as journal:
        assert journal.last_seq() >= known
    return known


def look_at(path, acknowledged, compacted):
    assert verify_journal(path) == []
    with JournalReader(path) as reader:
        assert reader.last_seq() >= acknowledged
        rows = list(reader.rows())
        contiguous = [row.seq for row in rows if row.seq > compacted]
        assert contiguous == list(range(compacted + 1, reader.last_seq() + 1))
        states = {row.action_id: row for row in rows if row.kind == 'transition'}
        assert {row.action_id: row for row in reader.open_actions()} == {
            action: row for action, row in states.items() if not row.final}


@pytest.mark.timeout(120 + 2 * KILLS)
def test_killed_writer_loses_no_acknowledged_row(tmp_path):
    print(f'JOURNAL_SEED={SEED}')
    began = time.monotonic()
    with ThreadPoolExecutor(LANES) as pool:
        lanes = [pool.submit(kill_writers, tmp_path / f'{lane}.journal',
                             KILLS // LANES + (lane < KILLS % LANES), SEED + lane)
                 for lane in range(LANES)]
        rows = sum(lane.result() for lane in lanes)
    print(f'{KILLS} kills, {rows} rows acknowledged, {time.monotonic() - began:.0f} s')


def test_reader_follows_a_writer_row_by_row_until_it_dies(path, start_writer):
    writer = start_writer('0', 'keep')
    told = Told(writer)
    told.wait_for_row(10)
    with JournalReader(path) as reader:
        seqs = []
        while len(seqs) < 1500:
            seqs += [row.seq for row in reader.rows(after=seqs[-1] if seqs else 0)]
            reader.open_actions()
        writer.kill()
        writer.wait()
        told.wait_for_end()
        seqs += [row.seq for row in reader.rows(after=seqs[-1])]
    assert seqs[-1] >= told.row
    assert seqs == list(range(1, seqs[-1] + 1))


def test_lock_of_a_dead_writer_does_not_block_and_that_of_a_living_one_does(path, start_writer):
    writer = start_writer()
    Told(writer).wait_for_row(5)
    try:
        Journal(path)
    except JournalError as error:
        assert re.search(f'already open for writing by pid {writer.pid} on host', str(error))
    else:
        raise AssertionError('two writers')
    writer.kill()
    writer.wait()
    Journal(path).close()


def test_copy_made_while_writing_is_a_shorter_journal_or_is_refused(path, start_writer, tmp_path):
    told = Told(start_writer())
    outcomes = []
    for number in range(max(8, KILLS)):
        told.wait_for_row((number + 1) * 150)
        folder = tmp_path / f'copy-{number}'
        folder.mkdir()
        names = [path.name, f'{path.name}-wal']
        # The database after its WAL and before it: both orders are somebody's backup script.
        for name in names if number % 2 else reversed(names):
            subprocess.run(['cp', str(path.with_name(name)), str(folder)], check=True)
        try:
            faults = verify_journal(folder / path.name)
            with JournalReader(folder / path.name) as reader:
                last = reader.last_seq()
        except JournalError as error:
            outcomes.append(str(error))
        else:
            outcomes.append('damaged' if faults else 'shorter')
            assert faults or last > 0
        shutil.rmtree(folder)
    print(outcomes)
