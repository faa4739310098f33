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

"""
Writers killed at random moments, and what is read while they write.

JOURNAL_KILLS sets how many kills there are (200 in a soak run), JOURNAL_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import threading
import time

from action_lifecycle.ledger import Journal, JournalError, JournalReader, verify_journal
import pytest

KILLS = int(os.environ.get('JOURNAL_KILLS', '6'))
SEED = int(os.environ.get('JOURNAL_SEED') or random.SystemRandom().randrange(10**6))


class Told:
    """What a writer was promised, read from its stdout in a thread of its own."""

    def __init__(self, process):
        self.row = self.safe = self.compacted = 0
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


@pytest.mark.timeout(120 + 2 * KILLS)
def test_killed_writer_loses_no_acknowledged_row(path, start_writer):
    print(f'JOURNAL_SEED={SEED}')
    chance = random.Random(SEED)
    known = compacted = 0
    for _ in range(KILLS):
        writer = start_writer(str(chance.randrange(10**6)))
        told = Told(writer)
        told.wait_for_row(known + chance.randrange(1, 200))
        time.sleep(chance.random() * 0.05)
        writer.kill()
        writer.wait()
        told.wait_for_end()
        known, compacted = told.row, max(compacted, told.compacted)
        assert verify_journal(path) == []
        with JournalReader(path) as reader:
            assert reader.last_seq() >= max(known, told.safe)
            contiguous = [row.seq for row in reader.rows(after=compacted)]
            assert contiguous == list(range(compacted + 1, reader.last_seq() + 1))
            states = {}
            for row in reader.rows(kind='transition'):
                states[row.action_id] = row
            assert {row.action_id: row for row in reader.open_actions()} == {
                action: row for action, row in states.items() if not row.final}
    with Journal(path) as journal:
        assert journal.last_seq() >= known


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
