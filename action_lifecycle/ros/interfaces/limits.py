# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Size limits of messages from outside: requests, goals, and responses of other nodes."""

from __future__ import annotations

from array import array
import functools
import re
from typing import Any

from ...lifecycle.running.work_states import MAX_RESULT

MAX_DOCUMENT = 4 * 1024 * 1024  #: characters of a flow, an edit, JSON
MAX_TEXT = 65_536  #: characters of any other string
MAX_ITEMS = 20_000  #: of a sequence, except of bytes
MAX_BYTES = 4 * 1024 * 1024  #: of a sequence of bytes (uint8)
RESULT_BYTES = 4 * MAX_RESULT
"""
Serialized size of a result or feedback from which on it is not read.

A larger result could not be kept: the shortest JSON is "0," for the 8 bytes of an int64.
"""
READ_BYTES = 262_144
"""Serialized size from which on a response, or a sample with lists of messages, is not read."""
DOCUMENTS = frozenset(('flow', 'flow_yaml', 'edit_yaml'))  #: fields, and those named *_json
_CONTROL = re.compile('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]')
_NUMBER = re.compile(r'(boolean|octet|u?int\d+|float|double)(\[\d+\])?\Z')


def message_fault(message: Any, path: str = '') -> str:
    """Return the fault of a field that is too large or has control characters; '' if none."""
    for name in _fields(type(message)):
        fault = _fault(getattr(message, name), name, f'{path}{name}')
        if fault:
            return fault
    return ''


def _fault(value: Any, name: str, path: str) -> str:
    if isinstance(value, str):
        document = name in DOCUMENTS or name.endswith('_json')
        limit = MAX_DOCUMENT if document else MAX_TEXT
        if len(value) > limit:
            return f'{path}: {len(value)} characters; expected at most {limit}'
        found = None if document else _CONTROL.search(value)
        return f'{path}: has the control character {found[0]!r}' if found else ''
    if hasattr(value, '__len__'):
        limit = MAX_BYTES if isinstance(value, array) and value.itemsize == 1 else MAX_ITEMS
        if len(value) > limit:
            return f'{path}: {len(value)} items; expected at most {limit}'
        if isinstance(value, list):
            for index, item in enumerate(value):
                fault = _fault(item, name, f'{path}[{index}]')
                if fault:
                    return fault
        return ''
    if not hasattr(type(value), 'get_fields_and_field_types'):
        return ''  # an element of a sequence of booleans
    return message_fault(value, f'{path}.')


@functools.lru_cache(maxsize=500)
def _fields(kind: Any) -> tuple[str, ...]:
    """Return the fields that may be large: all except numbers."""
    return tuple(name for name, text in kind.get_fields_and_field_types().items()
                 if not _NUMBER.match(text))
