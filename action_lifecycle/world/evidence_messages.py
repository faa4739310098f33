# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads messages of evidence (Evidence, Fact) by their fields, whoever made their classes."""

from __future__ import annotations

from enum import IntEnum
import math
from typing import Any

from .evidence import TruthValue, Validity
from ..documents.json_text import json_number, json_or_text
from ..documents.stamps import to_seconds
from ..lifecycle.ports import Evidence


def evidence_from(message: Any) -> Evidence:
    """Return evidence as the journal stores it; invalid verdicts become 'unknown'."""
    return {
        'condition': message.condition, 'expression': message.expression,
        'verdict': _name(TruthValue, message.verdict),
        'stamp': to_seconds(message.stamp),
        'held': message.held if math.isfinite(message.held) else 0.0,
        'facts': list(map(fact_from, message.facts))}


def fact_from(message: Any) -> dict[str, Any]:
    """Return a fact of evidence; an invalid validity becomes 'unknown'."""
    return {
        'name': message.name, 'stamp': to_seconds(message.stamp), 'topic': message.topic,
        'validity': _name(Validity, message.validity), 'unit': message.unit,
        **({'value': json_or_text(message.value_json)} if message.value_json else {
            'numbers': [json_number(float(number)) for number in message.numbers]}),
        **({'note': message.note} if message.note else {})}


def _name(kind: type[IntEnum], number: int) -> str:
    try:
        return kind(number).name.lower()
    except ValueError:
        return 'unknown'
