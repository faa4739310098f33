# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Labels: whether the intended outcome of an attempt was there.

They come from a CSV file (an operator, a simulation), or from the journal. In the journal, the
answer of a verifier that is not the sensors is independent of the conditions; the verdict of the
sensors is not, and is a weak label.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ..documents.suggestions import nearest
from ..journal.reader import JournalReader
from ..traces import TraceKey
from ..traces.labels import attempt_name
from ..traces.labels import read_labels as read_file

SENSORS, VERIFIER, FILE = 'sensors', 'verifier', 'file'
_REFUTED = ('REFUTED', 'CONFIRM_TIMEOUT')


class Label(NamedTuple):
    """Whether the outcome was there, and who says so: file, verifier or sensors."""

    there: bool
    source: str


def read_labels(path: str, known: Collection[TraceKey]) -> dict[TraceKey, Label]:
    """
    Read a CSV file of labels, see `traces.labels`.

    `known`: the attempts of the journals. Raises DocumentError with all faults and their lines.
    """
    found = read_file(path, lambda subject: '' if subject in known else _unknown(subject, known))
    return {subject: Label(there, FILE) for subject, there in found.items()}


def _unknown(subject: TraceKey, known: Collection[TraceKey]) -> str:
    flows = {one.flow_id for one in known}
    if subject.flow_id not in flows:
        return (f"flow '{subject.flow_id[:80]}' has no confirmation in the journals"
                + nearest(subject.flow_id, flows))
    actions = {one.action_id for one in known if one.flow_id == subject.flow_id}
    if subject.action_id not in actions:
        return (f"action '{subject.action_id[:80]}' has no confirmation in flow "
                f"'{subject.flow_id}'" + nearest(subject.action_id, actions))
    return f'{attempt_name(subject)} has no confirmation in the journals'


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
