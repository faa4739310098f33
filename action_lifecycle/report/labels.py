# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Labels of attempts: whether the outcome was there, as a person or a simulation knows it."""

from __future__ import annotations

import csv
import os

from ..documents.errors import LifecycleError

COLUMNS = ('flow_id', 'action_id', 'attempt', 'there')
MAX_LABELS = 1_000_000

Labels = dict[tuple[str, str, int], bool]
"""Whether the outcome was there, by flow, action and attempt."""


def read_labels(path: str | os.PathLike[str]) -> Labels:
    """
    Read a CSV file with the columns flow_id, action_id, attempt and there (true or false).

    Raises LifecycleError, which names file and line; other columns are ignored.
    """
    labels: Labels = {}
    try:
        with open(path, encoding='utf-8', newline='') as stream:
            reader = csv.DictReader(stream)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise LifecycleError(f"{path}: line 1: expected the columns {', '.join(COLUMNS)}, "
                                     f"missing: {', '.join(missing)}")
            for row in reader:
                flow_id, action_id, attempt, there = (row[name] or '' for name in COLUMNS)
                where = f'{path}: line {reader.line_num}'
                if not (attempt.isascii() and attempt.isdigit() and len(attempt) < 19):
                    raise LifecycleError(f"{where}: attempt: expected 1, 2, …, got '{attempt}'")
                if there not in ('true', 'false'):
                    raise LifecycleError(f"{where}: there: expected true or false, got '{there}'")
                key = flow_id, action_id, int(attempt)
                if labels.setdefault(key, there == 'true') != (there == 'true'):
                    raise LifecycleError(
                        f"{where}: attempt {attempt} of '{flow_id}/{action_id}' has two labels")
                if len(labels) > MAX_LABELS:
                    raise LifecycleError(f'{where}: more than {MAX_LABELS} labels')
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LifecycleError(f'{path}: can not be read: {error}') from error
    return labels
