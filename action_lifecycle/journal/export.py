# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Exports a journal as JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import os
from typing import Any, TextIO

from .reader import JournalReader
from .row import JournalError, Row
from ..documents.suggestions import nearest

FORMATS = ('jsonl', 'csv')
_COLUMNS = ['data' if name == 'data_json' else name for name in Row._fields]


def export_rows(path: str | os.PathLike[str], format: str, stream: TextIO) -> int:  # noqa: A002
    """
    Write all rows to `stream`, one per line; returns their number.

    'jsonl': an object with the fields of Row, `data` as an object. 'csv': a header and the fields
    of Row, `data` as a JSON string; open the file with `newline=''`. Raises JournalError.
    """
    if format not in FORMATS:
        raise JournalError(
            f"format '{format}': expected {' or '.join(FORMATS)}{nearest(format, FORMATS)}")
    count = 0
    with JournalReader(path) as reader:
        table = csv.writer(stream)
        if format == 'csv':
            table.writerow(_COLUMNS)
        for row in reader.rows():
            count += 1
            if format == 'csv':
                table.writerow(_fields(row).values())
            else:
                stream.write(json_line(row))
    return count


def json_line(row: Row) -> str:
    """Return a row as a line of 'jsonl'; raises JournalError if its data are no object."""
    return json.dumps({**_fields(row), 'data': row.data}, ensure_ascii=False) + '\n'


def _fields(row: Row) -> dict[str, Any]:
    return {**dict(zip(_COLUMNS, row)), 'final': bool(row.final)}
