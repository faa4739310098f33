# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Damaged journals: bytes, pages and values that are not what was written, read by everybody."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
import random
import shutil
import sqlite3
from typing import Any

from action_lifecycle.engine import load_graph
from action_lifecycle.graphs.packaged import config_file
from action_lifecycle.journal import JournalReader, verify_journal
from action_lifecycle.journal.export import export_rows
from action_lifecycle.journal.projection import Projection
from action_lifecycle.journal.row import JournalError, Row
from unit.flow.robot import Clock, Process, Robot

from .case import Case
from .edits import edit, plain_flow
from .rig import folder, hand_over, Rig
from .values import mutated, number, text
from .yaml_text import Writer

PAGE = 4096
TEMPLATES = 12
"""Journals that inputs are made from."""
_TEXTS = ('kind', 'flow_id', 'action_id', 'event', 'from_state', 'to_state', 'cause', 'actor',
          'data_json', 'boot_id', 'prev_hash', 'hash')
_NUMBERS = ('attempt', 'final', 'ros_time', 'boot_time', 'wall_time', 'seq')


def template(seed: int) -> dict[str, bytes]:
    """Return the files of a journal, by the end of their names, as a crash leaves them."""
    rng = random.Random(seed)
    rig = Rig('template')
    try:
        hand_over(rng, rig.robot)
        for _ in range(rng.randrange(1, 4)):
            data = plain_flow(rng)
            run = rig.submit(Writer(rng).write(data))
            rig.clock.run(rng.choice((0.0, 0.5, 1.5, 9.0)))
            try:
                from action_lifecycle.flow.files.edit import parse_edit
                rig.orchestrator.edit(run.flow_id, parse_edit(
                    Writer(rng).write(edit(rng, list(data['actions'])))), 'me', 'why')
            except Case.refused:
                pass
            if rng.random() < 0.3:
                rig.orchestrator.cancel(run.flow_id, 'me', 'why')
            rig.clock.run(rng.choice((0.0, 0.5)))
        path = rig.folder / 'journal'
        if rng.random() < 0.3:
            rig.process.journal.compact(synced_to=rig.process.journal.last_seq() // 2)
        if rng.random() < 0.5:
            rig.process.journal.close()
        return {end: file.read_bytes() for end in ('', '-wal')
                if (file := Path(f'{path}{end}')).exists()}
    finally:
        rig.close()


class Journals(Case):
    """
    Journals with flipped bytes, lost or exchanged pages, a torn end, or other values in rows.

    A journal counts as accepted when the node that restores its flows starts with it.
    """

    def prepare(self) -> None:
        self.templates = [template(seed) for seed in range(TEMPLATES)]
        self.graph = load_graph(config_file('graphs/action.yaml'))
        self.where: Path | None = None

    def begin(self, rng: random.Random) -> None:
        if self.where is not None:
            shutil.rmtree(self.where, ignore_errors=True)
        self.where = folder('journals')

    def make(self, rng: random.Random) -> Any:
        which = rng.randrange(TEMPLATES)
        files = {end: bytearray(content) for end, content in self.templates[which].items()}
        done = []
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            end = rng.choice(list(files))
            done.append((end, self._damage(rng, files, end)))
        values = [_change(rng) for _ in range(rng.choice((1, 1, 2)))] \
            if rng.random() < 0.4 else []
        if values:
            files = {end: bytearray(content) for end, content in self.templates[which].items()}
            done = []
        return _Damaged(which, done, values, files)

    def _damage(self, rng: random.Random, files: dict[str, bytearray], end: str) -> str:
        content = files[end]
        pages = max(1, len(content) // PAGE)
        page, other = rng.randrange(pages) * PAGE, rng.randrange(pages) * PAGE
        change = rng.choice(('bits', 'bits', 'bits', 'bytes', 'zero', 'swap', 'copy', 'cut',
                             'noise', 'old', 'header', 'gone', 'grow'))
        if not content and change not in ('gone', 'grow'):
            return 'empty'
        if change == 'bits':
            for _ in range(rng.choice((1, 1, 3, 30))):
                content[_place(rng, content)] ^= 1 << rng.randrange(8)
        elif change == 'bytes':
            place = _place(rng, content)
            content[place:place + 8] = bytes(rng.randrange(256) for _ in range(8))
        elif change == 'zero':
            content[page:page + PAGE] = bytes(len(content[page:page + PAGE]))
        elif change == 'swap':
            first, second = bytes(content[page:page + PAGE]), bytes(content[other:other + PAGE])
            if len(first) == len(second):
                content[page:page + PAGE], content[other:other + PAGE] = second, first
        elif change == 'copy':
            if len(content[page:page + PAGE]) == len(content[other:other + PAGE]):
                content[other:other + PAGE] = content[page:page + PAGE]
        elif change == 'cut':
            del content[rng.choice((page, rng.randrange(len(content)))):]
        elif change == 'noise':
            size = len(content[page:page + PAGE])
            content[page:page + PAGE] = rng.randbytes(size)
        elif change == 'old':
            source = rng.choice(self.templates).get(end, b'')
            content[page:page + PAGE] = source[page:page + PAGE]
        elif change == 'header':
            content[rng.randrange(min(100, len(content)))] = rng.randrange(256)
        elif change == 'grow':
            content.extend(rng.randbytes(rng.choice((1, 100, PAGE, 3 * PAGE))))
        elif end:
            del files[end]
        return change

    def check(self, given: Any) -> bool:
        assert self.where is not None
        path = self.where / 'journal'
        for old in self.where.iterdir():
            old.unlink()
        for end, content in given.files.items():
            Path(f'{path}{end}').write_bytes(content)
        if given.values:
            _alter(path, given.values)
        for look in (verify_journal, self._read, self._project, self._export):
            try:
                look(path)
            except JournalError as error:
                assert str(path) in str(error) or 'row' in str(error), f'names no file: {error}'
        clock = Clock()
        process = Process(path, clock, Robot(clock))
        try:
            process.orchestrator.restore()
            clock.run(5.0)
        finally:
            process.kill()
        return True

    def _read(self, path: Path) -> None:
        with JournalReader(path) as reader:
            reader.last_seq()
            for row in reader.rows(limit=500):
                row.intact()
                if row.intact():
                    row.data  # noqa: B018
            for kind in ('transition', 'flow', 'lock', 'job'):
                reader.open_rows(kind)
            reader.snapshot()
            list(reader.rows(flow_id='f1', limit=50))

    def _project(self, path: Path) -> None:
        with JournalReader(path) as reader:
            Projection(reader, self.graph).find(open_only=True)

    def _export(self, path: Path) -> None:
        for form in ('jsonl', 'csv'):
            export_rows(path, form, io.StringIO())


class _Damaged:
    """A damaged journal; its repr says how it came about, not what is in it."""

    def __init__(self, which: int, done: list[Any], values: list[Any], files: Any) -> None:
        self.which, self.done, self.values, self.files = which, done, values, files

    def __repr__(self) -> str:
        digest = hashlib.sha256(b''.join(self.files.values())).hexdigest()[:12]
        return f'template {self.which}, {self.done}, {self.values}, sha256 {digest}'


def _place(rng: random.Random, content: bytearray) -> int:
    """Return a place, more often one where something stands."""
    place = rng.randrange(len(content))
    for _ in range(9):
        if content[place]:
            break
        place = rng.randrange(len(content))
    return place


def _change(rng: random.Random) -> tuple[float, str, Any, bool]:
    """Return a row (as a part of all), a column, its new value, and if the hash fits again."""
    if rng.random() < 0.75:
        column = rng.choice(_TEXTS)
        value: Any = rng.choice((
            text(rng).encode('utf-8', 'replace').decode().replace('\x00', ''), 'terminated',
            'completed', 'f2', 'a1', '{}', '[]', '{"names": 3}', 'null', '{', b'\xff\xfe', b'', 3,
            1.5, '{"text": 1}', '[' * 3000, ''))
        if column == 'data_json' and rng.random() < 0.5:
            value = mutated  # a mutation of what stands there
    else:
        column = rng.choice(_NUMBERS)
        value = rng.choice((0, 1, -1, 2**63 - 1, -2**63, 1e308, 'x', b'\xff', 1.5, number(rng)))
        if isinstance(value, int) and abs(value) >= 2 ** 63:
            value = 7
    return rng.random(), column, value, rng.random() < 0.3


def _alter(path: Path, values: list[Any]) -> None:
    """Change values of rows as a careless hand does with the sqlite3 program."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute('PRAGMA ignore_check_constraints = ON')
        sequence = [seq for seq, in connection.execute('SELECT seq FROM entry ORDER BY seq')]
        for part, column, value, rehashed in values:
            if not sequence:
                break
            seq = sequence[int(part * len(sequence))]
            if value is mutated:
                value = _mutated_data(connection, seq, part)
            try:
                connection.execute(f'UPDATE entry SET {column} = ? WHERE seq = ?', (value, seq))
                if rehashed:
                    _rehash(connection, seq)
            except (sqlite3.Error, TypeError, ValueError, AttributeError):
                pass  # a value that the table does not take, or that has no hash
    finally:
        connection.close()


def _mutated_data(connection: sqlite3.Connection, seq: int, part: float) -> str:
    try:
        (found,), = connection.execute('SELECT data_json FROM entry WHERE seq = ?', (seq,))
        return json.dumps(mutated(random.Random(part), json.loads(found)))
    except (ValueError, TypeError):
        return '{}'


def _rehash(connection: sqlite3.Connection, seq: int) -> None:
    from action_lifecycle.journal.row import _hash, _text
    fields, = connection.execute(
        f"SELECT {', '.join(Row._fields)} FROM entry WHERE seq = ?", (seq,))
    row = Row._make(fields)
    connection.execute('UPDATE entry SET hash = ? WHERE seq = ?', (
        _hash(_text(row[:-1]), row.ros_time, row.boot_time, row.wall_time), seq))


CASE = Journals()
