# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Labels of attempts in a CSV file: whether the intended outcome was there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import csv
import io

from .contents import TraceKey
from ..documents.errors import DocumentError, Fault
from ..documents.input_file import open_input

COLUMNS = ('flow_id', 'action_id', 'attempt', 'there')
TRUTH = {'true': True, '1': True, 'yes': True, 'false': False, '0': False, 'no': False}
MAX_BYTES = 256 * 1024 * 1024


def read_labels(
    path: str, fault_of: Callable[[TraceKey], str] = lambda subject: ''
) -> dict[TraceKey, bool]:
    """
    Read a CSV file with the columns of `COLUMNS`; others are ignored.

    `fault_of`: why an attempt can't have a label; '' if it can. Raises DocumentError with all
    faults and their lines.
    """
    faults: list[Fault] = []
    found: dict[TraceKey, bool] = {}
    lines: dict[TraceKey, int] = {}
    for line, values in _rows(path, faults):
        text = values['attempt'].strip()
        there = TRUTH.get(values['there'].strip().lower())
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            faults.append(Fault(
                path, line, 1, f"attempt '{text[:40]}': expected a number, 1 or more"))
            continue
        if there is None:
            faults.append(Fault(path, line, 1, f"there '{values['there'][:40]}': expected true or "
                                               'false'))
            continue
        subject = TraceKey(values['flow_id'].strip(), values['action_id'].strip(), int(text))
        if fault := fault_of(subject):
            faults.append(Fault(path, line, 1, fault))
        elif found.setdefault(subject, there) != there:
            faults.append(Fault(
                path, line, 1, f'{attempt_name(subject)} is {values["there"].strip()} here, but '
                f'{str(found[subject]).lower()} in line {lines[subject]}'))
        else:
            lines.setdefault(subject, line)
    if faults:
        raise DocumentError(faults)
    return found


def attempt_name(subject: TraceKey) -> str:
    """Return the name of an attempt, for messages."""
    return f'{subject.flow_id}/{subject.action_id}, attempt {subject.attempt}'


def _rows(path: str, faults: list[Fault]) -> Iterable[tuple[int, dict[str, str]]]:
    """Yield line and fields of each row; adds faults of the file and of short rows."""
    try:
        with io.TextIOWrapper(open_input(path), 'utf-8-sig', newline='') as file:
            if file.seek(0, 2) > MAX_BYTES:
                raise DocumentError([Fault(path, 1, 1, f'larger than {MAX_BYTES} bytes')])
            file.seek(0)
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            missing = [name for name in COLUMNS if header.count(name) != 1]
            if missing:
                raise DocumentError([Fault(
                    path, 1, 1, f"expected the columns {', '.join(COLUMNS)}, each once; not so: "
                    f"{', '.join(missing)} (found: {', '.join(header)[:200] or 'nothing'})")])
            places = {name: header.index(name) for name in COLUMNS}
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    faults.append(Fault(path, reader.line_num, 1,
                                        f'{len(row)} fields, expected {len(header)}'))
                else:
                    yield reader.line_num, {name: row[place] for name, place in places.items()}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, 'strerror', None) or str(error)
        raise DocumentError([Fault(path, 1, 1, f'can not be read as CSV in UTF-8: {why}')]
                            ) from error
