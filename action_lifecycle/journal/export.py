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

"""Exports a journal as text."""

from __future__ import annotations

import csv
import json
import os
from typing import Any, TextIO

from action_lifecycle.engine.errors import nearest

from .reader import JournalReader
from .row import JournalError, Row

FORMATS = ('jsonl', 'csv')


def export_rows(path: str | os.PathLike[str], format: str, stream: TextIO) -> int:  # noqa: A002
    """
    Write all rows to `stream`, one per line; returns their number.

    'jsonl': an object with the fields of Row, `data` as an object. 'csv': a header and the fields
    of Row, `data` as JSON text; open the file with `newline=''`. Raises JournalError.
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
