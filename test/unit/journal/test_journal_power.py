# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Power cuts, replayed from what a writer asked of the kernel.

strace records every write and sync of a writer. A cut at some moment leaves of each file what was
written before its last sync began, and of what was written since then any sectors, in any mix.
JOURNAL_CUTS sets how many cuts are tried, JOURNAL_SEED repeats a run.
"""

from __future__ import annotations

import os
from pathlib import Path
import random
import re
import shutil
import subprocess
import sys

from action_lifecycle.journal import JournalReader, verify_journal
import pytest

CUTS = int(os.environ.get('JOURNAL_CUTS', '15'))
SEED = int(os.environ.get('JOURNAL_SEED') or random.SystemRandom().randrange(10**6))
SECTOR = 512

CALL = re.compile(r'(\d+) +(\w+)\((.*)')
RESULT = re.compile(r'\) += +(-?\d+)')


class Disk:
    """The files of one journal as a disk may hold them after a power cut."""

    def __init__(self, path):
        self._names = {str(path): path.name, f'{path}-wal': f'{path.name}-wal'}
        self._open = {}
        self.safe = {name: bytearray() for name in self._names.values()}
        self.pending = {name: [] for name in self._names.values()}
        self._begun = {}
        self._writes = 0
        self.promised = 0

    def begin(self, thread, call, arguments):
        """Take note of a call that was entered: what it writes may be on the disk from here."""
        descriptor = re.match(r'\w+', arguments)[0]
        name = self._open.get(descriptor)
        if call == 'pwrite64' and name:
            _, data, rest = arguments.split('"', 2)
            offset = int(re.match(r', \d+, (\d+)', rest)[1])
            self.written(name, offset, bytes.fromhex(data.replace('\\x', '')))
        elif call == 'ftruncate' and name:
            self.written(name, int(re.match(r'\w+, (\d+)', arguments)[1]), None)
        elif call == 'close':
            self._open.pop(descriptor, None)
        # Only what was there when a sync began is safe at its end.
        self._begun[thread] = (call, arguments, name, self._writes)

    def written(self, name, offset, data):
        """Take note of bytes written at `offset`, or of all from there on being cut off."""
        self._writes += 1
        self.pending[name].append((self._writes, offset, data))

    def end(self, thread, result):
        """Take note of a call that returned."""
        call, arguments, name, written = self._begun.pop(thread)
        if call == 'openat' and result >= 0:
            path = bytes.fromhex(arguments.split('"')[1].replace('\\x', '')).decode()
            if path in self._names:
                self._open[str(result)] = self._names[path]
        elif call in ('fdatasync', 'fsync') and name:
            pending = self.pending[name]
            while pending and pending[0][0] <= written:
                apply(self.safe[name], *pending.pop(0)[1:])
        elif call == 'write' and arguments.startswith('1, '):
            word, seq = bytes.fromhex(arguments.split('"')[1].replace('\\x', '')).split()
            if word == b'safe':
                self.promised = int(seq)

    def cut(self, folder, chance):
        """Write into `folder` what a cut at this moment may leave."""
        share = chance.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for name, safe in self.safe.items():
            image = bytearray(safe)
            for _, offset, data in self.pending[name]:
                if data is None:
                    if chance.random() < share:
                        apply(image, offset, None)
                    continue
                for start in range(0, len(data), SECTOR):
                    if chance.random() < share:
                        apply(image, offset + start, data[start:start + SECTOR])
            (folder / name).write_bytes(image)


def apply(image, offset, data):
    if data is None:
        del image[offset:]
        return
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset:offset + len(data)] = data


def record(path, log, rows):
    """Return the lines that strace wrote about a writer until so many rows were safe."""
    writer = Path(__file__).with_name('writer_process.py')
    traced = subprocess.Popen(
        ['strace', '-f', '--seccomp-bpf', '-xx', '-s', '100000', '-o', str(log), '-e',
         'trace=openat,close,pwrite64,ftruncate,fdatasync,fsync,write',
         sys.executable, str(writer), str(path), str(SEED)],
        stdout=subprocess.PIPE, env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path),
                                     'JOURNAL_CHECKPOINT_BYTES': '300000'})
    last = 0
    for line in traced.stdout:
        word, seq = line.split()
        if word == b'safe':
            last = int(seq)
        if last >= rows:
            break
    traced.stdout.close()  # what the writer then has to tell ends it
    traced.wait()
    if not last:
        pytest.skip('strace may not trace here')
    lines = log.read_text().splitlines()
    if not any('pwrite64(' in line for line in lines):
        pytest.skip('this SQLite writes by other calls than those that are replayed')
    return lines


@pytest.mark.timeout(120 + CUTS)
@pytest.mark.skipif(not shutil.which('strace'), reason='needs strace')
def test_what_a_barrier_promised_survives_any_power_cut(path, tmp_path):
    print(f'JOURNAL_SEED={SEED}')
    chance = random.Random(SEED)
    lines = record(path, tmp_path / 'strace.log', rows=600)
    disk = Disk(path)
    first = next(number for number, line in enumerate(lines) if 'write(1, ' in line)
    cuts = set(chance.sample(range(first + 1, len(lines)), CUTS))
    promises = []
    for number, line in enumerate(lines):
        call, result = CALL.match(line), RESULT.search(line)
        if call:
            disk.begin(*call.groups())
        if result:
            disk.end(line.split()[0], int(result[1]))
        if number in cuts:
            folder = tmp_path / f'cut-{number}'
            folder.mkdir()
            disk.cut(folder, chance)
            image = folder / path.name
            assert verify_journal(image) == [], f'cut at line {number}'
            with JournalReader(image) as reader:
                promises.append((disk.promised, reader.last_seq()))
                assert reader.last_seq() >= disk.promised, f'cut at line {number}'
            shutil.rmtree(folder)
    print(promises)
    assert max(promised for promised, _ in promises) > 0
