# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One trace as the bytes of a file of traces, to be sent to another machine."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from urllib.parse import quote

from .contents import TraceError, TraceKey
from .store import BUSY_S, require_traces, TABLES, trace_errors
from ..documents.database_input import DatabaseInput

MAX_IMAGE = 16 * 1024 * 1024
"""Maximum size (bytes) of the values of a trace that is sent."""
MAX_BYTES = 2 * MAX_IMAGE
"""Maximum size (bytes) of an image: values, indexes and partly filled pages."""
LONGEST = 5.0
"""Maximum CPU time (s) of a query of an image, which may be made to take for ever."""
CAN_SERIALIZE = hasattr(sqlite3.Connection, 'serialize')
NEEDED = 'to send or read the trace of another machine, Python 3.11 or newer is needed'
_PARTS = (
    'INSERT INTO trace SELECT * FROM source.trace '
    'WHERE (flow_id, action_id, attempt) = (:flow_id, :action_id, :attempt)',
    'INSERT INTO curve SELECT * FROM source.curve WHERE trace IN (SELECT id FROM trace)',
    'INSERT INTO chunk SELECT * FROM source.chunk WHERE curve IN (SELECT id FROM curve)',
    'INSERT INTO event SELECT * FROM source.event WHERE trace IN (SELECT id FROM trace)')
_SIZE = """
    WITH subject AS (SELECT id FROM source.trace
                     WHERE (flow_id, action_id, attempt) = (:flow_id, :action_id, :attempt))
    SELECT (SELECT total(length(points)) FROM source.chunk WHERE curve IN (
                SELECT id FROM source.curve WHERE trace IN subject))
         + (SELECT total(length(data_json)) FROM source.event WHERE trace IN subject)"""


def trace_image(path: str | os.PathLike[str], key: TraceKey) -> bytes | None:
    """
    Return a file of traces with only this trace of the file at `path`; None if it has none.

    The trace is as it is at one moment, and equal traces give equal bytes. SQLite copies the rows
    as they are stored, without the lock of the interpreter. Raises TraceError, also for a trace of
    more than MAX_IMAGE bytes.
    """
    if not CAN_SERIALIZE:
        raise TraceError(NEEDED)
    name = os.fspath(path)
    with trace_errors(name), contextlib.closing(sqlite3.connect(
            'file::memory:', uri=True, timeout=BUSY_S, isolation_level=None)) as image:
        for statement in TABLES:
            image.execute(statement)
        image.execute('ATTACH ? AS source', (f'file:{quote(os.fsencode(name))}?mode=ro',))
        require_traces(image, name, 'source')
        image.execute('BEGIN')
        (size,) = image.execute(_SIZE, key._asdict()).fetchone()
        if size > MAX_IMAGE:
            raise TraceError(f'the trace is too large: {size / 1e6:.1f} MB; at most '
                             f'{MAX_IMAGE / 1e6:.1f} MB are sent')
        found, *_ = [image.execute(part, key._asdict()).rowcount for part in _PARTS]
        image.execute('COMMIT')
        return image.serialize() if found else None


def open_image(image: bytes, name: str) -> DatabaseInput:
    """
    Open the bytes of a file that another machine has sent, which may be anything.

    Later, reading it ends with an error of SQLite if it is damaged or takes too long.
    """
    if not CAN_SERIALIZE:
        raise TraceError(f'{name}: {NEEDED}')
    reader = sqlite3.connect(':memory:', isolation_level=None, factory=DatabaseInput)
    try:
        reader.watch(name, LONGEST)
        reader.deserialize(image or b'\0')
        reader.execute('PRAGMA trusted_schema = OFF')
        reader.execute('PRAGMA cell_size_check = ON')
    except BaseException:
        reader.close()
        raise
    return reader
