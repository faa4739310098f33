# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The kinds of values of facts, parameters and expressions."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Any

import numpy as np


class Kind(Enum):
    """The kind of a value; the enum values are the names in messages."""

    ANY = 'something'  #: not known
    NUMBER = 'a number'
    VECTOR = 'a list of numbers'
    NUMBERS = 'numbers'  #: of unknown shape
    TRUTH = 'a boolean'
    TRUTHS = 'several booleans'
    TEXT = 'a text'
    TEXTS = 'several texts'
    MESSAGE = 'a message whose fields are not all numbers'


NUMERIC = frozenset((Kind.NUMBER, Kind.VECTOR, Kind.NUMBERS, Kind.TRUTH, Kind.TRUTHS))
TEXTUAL = frozenset((Kind.TEXT, Kind.TEXTS))
ANYTHING = frozenset(Kind)
_TYPES = {Kind.NUMBER: 'number', Kind.TRUTH: 'boolean', Kind.TEXT: 'string'}
_ITEMS = {Kind.VECTOR: 'number', Kind.TRUTHS: 'boolean', Kind.TEXTS: 'string'}


def schema_of_kind(kind: Kind) -> dict[str, Any]:
    """Return the JSON Schema of values of a kind."""
    if kind in _TYPES:
        return {'type': _TYPES[kind]}
    if kind in _ITEMS:
        return {'type': 'array', 'items': {'type': _ITEMS[kind]}}
    return {'type': 'array'} if kind is Kind.NUMBERS else {}


def kind_of(value: Any) -> Kind:
    """Return the kind of a constant or of a parameter from YAML or JSON."""
    if isinstance(value, (bool, np.bool_)):
        return Kind.TRUTH
    if isinstance(value, (int, float)):
        return Kind.NUMBER
    if isinstance(value, str):
        return Kind.TEXT
    if isinstance(value, np.ndarray):
        return Kind.VECTOR if value.ndim == 1 else Kind.NUMBERS
    if isinstance(value, (list, tuple)) and value:
        kinds = {kind_of(item) for item in value}
        if kinds == {Kind.TEXT}:
            return Kind.TEXTS
        if kinds <= {Kind.NUMBER, Kind.TRUTH}:
            return Kind.VECTOR
    return Kind.ANY


def widest(kinds: Collection[Kind]) -> Kind:
    """Return the kind of an elementwise operation on values of these kinds."""
    if Kind.ANY in kinds:
        return Kind.ANY
    if Kind.NUMBERS in kinds or Kind.TRUTHS in kinds:
        return Kind.NUMBERS
    return Kind.VECTOR if Kind.VECTOR in kinds else Kind.NUMBER


def kinds_text(kinds: Collection[Kind]) -> str:
    """Return kinds as a string for messages."""
    if kinds == NUMERIC:
        return 'numbers'
    return ' or '.join(kind.value for kind in Kind if kind in kinds)
