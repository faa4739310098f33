# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random messages of installed types, for hypothesis."""

from __future__ import annotations

from typing import Any

from action_lifecycle.ros.interfaces.message_fields import FLOATS, RANGES
from action_lifecycle.ros.interfaces.types import class_of, fields_of
from hypothesis import strategies as st
from rosidl_parser.definition import (
    AbstractNestedType,
    Array,
    BasicType,
    BoundedSequence,
    NamespacedType,
)


def messages(cls: Any) -> st.SearchStrategy[Any]:
    """Return messages of a class."""
    return st.builds(cls, **{name: _of(kind) for name, kind in fields_of(cls).items()})


def _of(kind: Any) -> st.SearchStrategy[Any]:
    if isinstance(kind, AbstractNestedType):
        if isinstance(kind, Array):
            least = most = kind.size
        else:
            least, most = 0, min(3, kind.maximum_size if isinstance(kind, BoundedSequence) else 3)
        return st.lists(_of(kind.value_type), min_size=least, max_size=most)
    if isinstance(kind, NamespacedType):
        return messages(class_of(kind))
    if not isinstance(kind, BasicType):
        return st.text(st.characters(exclude_characters='\0', exclude_categories=('Cs',)),
                       max_size=min(5, getattr(kind, 'maximum_size', None) or 5))
    if kind.typename == 'boolean':
        return st.booleans()
    if kind.typename in FLOATS:
        return st.floats(width=32 if kind.typename == 'float' else 64)
    if kind.typename == 'octet':
        return st.binary(min_size=1, max_size=1)
    low, high = RANGES.get(kind.typename, (0, 255))
    return st.integers(low, high)
