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


def export_rows(path: str | os.PathLike[str], format: str, stream: TextIO) -> int:  # noqa: A002
    """
    Write all rows to `stream`, one per line; returns their number.

    'jsonl': an object with the fields of Row, `data` as an object. 'csv': a header and the fields
    of Row, `data` as a JSON string; open the file with `newline=''`. Raises JournalError.
    """
    if format not in FORMATS:
        raise JournalError(
            f"format '{format}': expected {' or '.join(FORMATS)}{nearest(format, FORMATS)}")
    columns = ['data' if name == 'data_json' else name for name in Row._fields]
    count = 0
    with JournalReader(path) as reader:
        table = csv.writer(stream)
        if format == 'csv':
            table.writerow(columns)
        for row in reader.rows():
            count += 1
            fields: dict[str, Any] = dict(zip(columns, row))
            fields['final'] = bool(row.final)
            if format == 'csv':
                table.writerow(fields.values())
            else:
                fields['data'] = row.data
                stream.write(json.dumps(fields, ensure_ascii=False) + '\n')
    return count
