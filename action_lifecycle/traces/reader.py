# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads a file of traces, also while the bridge writes it, after it was killed, or as bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import json
from math import inf, isfinite
import os
import sqlite3
from typing import Any, TYPE_CHECKING

import numpy as np

from .contents import (
    BOOLEAN,
    Confirmed,
    Curve,
    Mark,
    NUMBER,
    SAMPLES,
    TEXT,
    Trace,
    TraceError,
    TraceKey,
    VerdictChange,
)
from .curve import POINTS
from .image import open_image
from .store import BUSY_S, CHANGE, CONFIRMED, MARK, require_traces, trace_errors
from ..documents.database_input import memory_of, open_database
from ..documents.errors import LifecycleError
from ..documents.json_text import read_json
from ..lifecycle.ports import Condition

if TYPE_CHECKING:
    from typing_extensions import Self  # in typing from Python 3.11 on


MAX_VALUE, MAX_TRACE = 32 << 20, 100 << 20
"""Maximum size (bytes) of one value, and memory of the values of one trace."""
CHUNKS = 16 * POINTS  #: of a curve; more are damage


def has_traces(path: str | os.PathLike[str]) -> bool:
    """
    Return whether the file at `path` has a trace; raises TraceError as `TraceReader`.

    A file that a writer is creating has none: its tables come after its first page.
    """
    while True:
        begun = _has_tables(path)
        try:
            with TraceReader(path) as reader:
                return next(iter(reader.traces()), None) is not None
        except TraceError:
            if begun:
                raise
            if not _has_tables(path):
                return False


def _has_tables(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is anything but a database without tables."""
    try:
        with contextlib.closing(open_database(path, MAX_VALUE, busy=BUSY_S)) as database:
            return bool(database.execute('SELECT count(*) FROM sqlite_schema').fetchone()[0])
    except (sqlite3.Error, OSError):
        return True


class TraceReader:
    """
    Reads the traces at `path`; a context manager.

    `image`: what `trace_image` of another machine gave; read instead of a file, and `path` is its
    name. Raises TraceError if the file is missing, damaged, or of another kind or version.
    """

    def __init__(self, path: str | os.PathLike[str], image: bytes | None = None) -> None:
        self.path = os.fspath(path)
        if image is None and not os.path.exists(self.path):
            raise TraceError(f'{self.path}: no evidence traces: parameter trace_file of the '
                             'bridge names their file; the launch files set it')
        with trace_errors(self.path):
            self._reader = open_database(self.path, MAX_VALUE, busy=BUSY_S) if image is None \
                else open_image(image, self.path)
            try:
                require_traces(self._reader, self.path)
            except BaseException:
                self._reader.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def subjects(self, flow_id: str = '', action_id: str = '') -> list[TraceKey]:
        """Return the subjects in order of their start; '' means any."""
        self._taken = 0
        with trace_errors(self.path):
            return [TraceKey(*self._typed(row, (str, str, int))) for row in self._rows(
                'SELECT flow_id, action_id, attempt FROM trace '
                "WHERE ? IN ('', flow_id) AND ? IN ('', action_id) ORDER BY id",
                (flow_id, action_id))]

    def traces(self, flow_id: str = '', action_id: str = '') -> Iterator[Trace]:
        """Yield the traces in order of their start; '' means any."""
        for key in self.subjects(flow_id, action_id):
            trace = self.find(key)
            if trace is not None:  # not removed meanwhile
                yield trace

    def trace(self, key: TraceKey) -> Trace:
        """Return a trace; raises TraceError if there is none."""
        trace = self.find(key)
        if trace is None:
            raise TraceError(f'{self.path}: no trace of attempt {key.attempt} of action '
                             f"'{key.flow_id}/{key.action_id}'")
        return trace

    def find(self, key: TraceKey) -> Trace | None:
        """Return a trace, or None."""
        with trace_errors(self.path):
            self._taken = 0
            self._reader.execute('BEGIN')  # one state of the file for all parts
            try:
                return self._find(TraceKey(*key))
            finally:
                self._reader.execute('ROLLBACK')

    def _find(self, key: TraceKey) -> Trace | None:
        row = self._reader.execute(
            'SELECT id, started, ended FROM trace '
            'WHERE (flow_id, action_id, attempt) = (?, ?, ?)', key).fetchone()
        if row is None:
            return None
        number, started, ended = self._typed(row, (int, float, (float, type(None))))
        changes, marks, confirmed = [], [], []
        for time, kind, name, text in self._rows(
                'SELECT time, kind, name, data_json FROM event WHERE trace = ? ORDER BY id',
                (number,)):
            data = self._json(text, key)
            self._typed((time, name), (float, str))
            try:
                if kind == MARK:
                    marks.append(Mark(time, name, str(data)))
                elif kind == CHANGE:
                    changes.append(VerdictChange(time, name, data['expression'], data['verdict']))
                elif kind == CONFIRMED:
                    confirmed.append(_confirmed(time, name, data))
            except (LookupError, TypeError, ValueError, OverflowError) as error:
                raise self._damaged(key, f'an event of kind {kind}: {error!r}') from error
        curves: dict[str, Curve] = {}
        samples: dict[str, Curve] = {}
        for curve, fact, unit, topic in self._rows(
                'SELECT id, fact, unit, topic FROM curve WHERE trace = ? ORDER BY id',
                (number,)):
            self._typed((fact, unit, topic), (str, str, str))
            name = fact.removesuffix(SAMPLES)
            (curves if name == fact else samples)[name] = self._curve(
                key, curve, name, unit, topic)
        return Trace(key, started, ended, curves, changes, marks, confirmed, samples)

    def _curve(self, key: TraceKey, number: int, fact: str, unit: str, topic: str) -> Curve:
        parts: list[tuple[str, np.ndarray, Any]] = []
        for kind, width, data in self._rows(
                'SELECT kind, width, points FROM chunk WHERE curve = ? '
                'ORDER BY run, first LIMIT ?',
                (number, CHUNKS)):
            try:
                parts.append((kind, *_unpacked(width, data)))
            except (LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
                raise self._damaged(key, f"curve of fact '{fact}': {error}") from error
        kinds = {kind for kind, _, values in parts if not _empty(values)}
        kind = kinds.pop() if len(kinds) == 1 else TEXT if kinds else NUMBER
        times = np.concatenate([times for _, times, _ in parts]) if parts else np.empty((0, 2))
        return Curve(fact, unit, topic, kind if kind in (NUMBER, BOOLEAN) else TEXT,
                     times[:, 0], times[:, 1], _joined([values for _, _, values in parts]))

    def _rows(self, sql: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        for row in self._reader.rows(sql, values):
            self._taken += memory_of(row)
            if self._taken > MAX_TRACE:
                raise TraceError(f'{self.path}: more than {MAX_TRACE} bytes in one trace')
            yield row

    def _json(self, text: str, key: TraceKey) -> Any:
        try:
            return read_json(text, 'an event')
        except LifecycleError as error:
            raise self._damaged(key, str(error)) from error

    def _typed(self, row: tuple[Any, ...], types: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the row; raises TraceError if a value has another type, or is not finite."""
        if not all(isinstance(value, kind) and (value.__class__ is not float or isfinite(value))
                   for value, kind in zip(row, types)):
            raise TraceError(f'{self.path}: damaged: a row with {str(row):.200}')
        return row

    def _damaged(self, key: TraceKey, what: str) -> TraceError:
        return TraceError(f'{self.path}: damaged: trace of attempt {key.attempt} of '
                          f"'{key.flow_id}/{key.action_id}': {what}")


def _unpacked(width: int, data: bytes) -> tuple[np.ndarray, Any]:
    """Return arrival and stamp (n, 2), and the values of a chunk."""
    if width == 0:
        rows = json.loads(data)  # lists of numbers and texts; a megabyte of them
        return (np.array([[row[0], row[1]] for row in rows], float).reshape(-1, 2),
                [row[2] for row in rows])
    if not 0 < width <= 100_000 or len(data) % (8 * (2 + width)):
        raise ValueError(f'{len(data)} bytes for points of {width} values')
    table = np.frombuffer(data, '<f8').reshape(-1, 2 + width)
    return table[:, :2], table[:, 2] if width == 1 else table[:, 2:]


def _empty(values: Any) -> bool:
    """Whether no point of a chunk has a value."""
    if isinstance(values, list):
        return all(value is None for value in values)
    return bool(np.isnan(values).all())


def _joined(parts: list[Any]) -> Any:
    """Return the values of all chunks as one array, or as a list if they differ in shape."""
    if not parts:
        return np.empty(0)
    known = [part for part in parts if isinstance(part, list) or not _empty(part)] or parts
    if all(isinstance(part, np.ndarray) and part.shape[1:] == known[0].shape[1:]
           for part in known):
        shape = known[0].shape[1:]
        return np.concatenate([part if part.shape[1:] == shape else np.full(
            (len(part), *shape), np.nan) for part in parts])
    values: list[Any] = []
    for part in parts:
        values += part if isinstance(part, list) else [
            None if np.isnan(row).all() else row.tolist() for row in part]
    return values


def _confirmed(ended: float, verdict: str, data: Mapping[str, Any]) -> Confirmed:
    after = float(data['after'])
    return Confirmed(
        float(data['started']), after if isfinite(after) else -inf, ended,
        [Condition(**condition) for condition in data['conditions']], dict(data['parameters']),
        verdict, list(data['evidence']))
