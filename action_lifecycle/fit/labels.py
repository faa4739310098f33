# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Labels: whether the intended outcome of an attempt was there.

They come from a CSV file (an operator, a simulation), or from the journal. In the journal, the
answer of a verifier that is not the sensors is independent of the conditions; the verdict of the
sensors is not, and is a weak label.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
import csv
from typing import NamedTuple

from ..documents.errors import DocumentError, Fault
from ..documents.suggestions import nearest
from ..journal.reader import JournalReader
from ..traces import TraceKey

COLUMNS = ('flow_id', 'action_id', 'attempt', 'there')
TRUTH = {'true': True, '1': True, 'yes': True, 'false': False, '0': False, 'no': False}
SENSORS, VERIFIER, FILE = 'sensors', 'verifier', 'file'
_REFUTED = ('REFUTED', 'CONFIRM_TIMEOUT')
MAX_BYTES = 256 * 1024 * 1024


class Label(NamedTuple):
    """Whether the outcome was there, and who says so: file, verifier or sensors."""

    there: bool
    source: str


def read_labels(path: str, known: Collection[TraceKey]) -> dict[TraceKey, Label]:
    """
    Read a CSV file with the columns of `COLUMNS`; others are ignored.

    `known`: the attempts of the journals. Raises DocumentError with all faults and their lines.
    """
    faults: list[Fault] = []
    found: dict[TraceKey, Label] = {}
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
        if subject not in known:
            faults.append(Fault(path, line, 1, _unknown(subject, known)))
        elif subject in found and found[subject].there != there:
            faults.append(Fault(
                path, line, 1, f'{_name(subject)} is {values["there"].strip()} here, but '
                f'{str(found[subject].there).lower()} in line {lines[subject]}'))
        else:
            found[subject] = Label(there, FILE)
            lines.setdefault(subject, line)
    if faults:
        raise DocumentError(faults)
    return found


def _rows(path: str, faults: list[Fault]) -> Iterable[tuple[int, dict[str, str]]]:
    """Yield line and fields of each row; adds faults of the file and of short rows."""
    try:
        with open(path, encoding='utf-8-sig', newline='') as file:
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


def _unknown(subject: TraceKey, known: Collection[TraceKey]) -> str:
    flows = {one.flow_id for one in known}
    if subject.flow_id not in flows:
        return (f"flow '{subject.flow_id[:80]}' has no confirmation in the journals"
                + nearest(subject.flow_id, flows))
    actions = {one.action_id for one in known if one.flow_id == subject.flow_id}
    if subject.action_id not in actions:
        return (f"action '{subject.action_id[:80]}' has no confirmation in flow "
                f"'{subject.flow_id}'" + nearest(subject.action_id, actions))
    return f'{_name(subject)} has no confirmation in the journals'


def _name(subject: TraceKey) -> str:
    return f'{subject.flow_id}/{subject.action_id}, attempt {subject.attempt}'


def journal_labels(journal: JournalReader) -> dict[TraceKey, Label]:
    """
    Return the labels that the journal has itself.

    Attempts that ended for other reasons than their outcome (stale facts, a cancel) have none.
    """
    found: dict[TraceKey, Label] = {}
    for row in journal.rows(kind='transition'):
        subject = TraceKey(row.flow_id, row.action_id, row.attempt)
        if row.from_state == 'sensor_confirm' and row.to_state == 'error':
            if row.data.get('error_code') in _REFUTED:
                found[subject] = Label(False, SENSORS)
        elif row.from_state == 'status_verification_requested':
            source = SENSORS if row.data.get('actor', row.actor) in ('', 'sensors') else VERIFIER
            if row.to_state == 'completed':
                found[subject] = Label(True, source)
            elif row.to_state == 'error' and source == VERIFIER \
                    and row.data.get('error_code') == 'VERIFY_FAILED':
                found[subject] = Label(False, source)
    return found


def confirmations_of(journal: JournalReader) -> set[TraceKey]:
    """Return the attempts that the sensors were asked about."""
    return {TraceKey(row.flow_id, row.action_id, row.attempt)
            for row in journal.rows(kind='transition')
            if 'sensor_confirm' in (row.from_state, row.to_state)
            or row.to_state == 'status_verification_requested'}


def flows_named(journal: JournalReader, name: str) -> set[str]:
    """Return the ids of the flows of this name."""
    return {row.flow_id for row in journal.rows(kind='flow') if row.data.get('name') == name}
