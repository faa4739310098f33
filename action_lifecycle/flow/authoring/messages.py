# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Classes and instances of ROS messages as the fields of a flow file; without ROS."""

from __future__ import annotations

import array
from collections.abc import Iterator, Mapping
import importlib
import re
from typing import Any

from ...documents.suggestions import nearest

MAX_DEPTH = 20
"""Maximum depth of nested messages."""


def type_name(given: Any, kind: str) -> str:
    """
    Return the name of a type, such as nav2_msgs/action/NavigateToPose.

    `given`: the name, or the class of the type. `kind`: action, srv or msg. Raises TypeError.
    """
    if isinstance(given, str):
        return given
    parts = getattr(given, '__module__', '').split('.')
    sent = {'action': 'Goal', 'srv': 'Request', 'msg': 'SLOT_TYPES'}[kind]
    if not isinstance(given, type) or len(parts) < 2 or parts[1] != kind \
            or not hasattr(given, sent):
        raise TypeError(f'{given!r} is no class of a ROS type of kind {kind}; expected one such '
                        f'as {_EXAMPLES[kind]}, or its name as a text')
    return f'{parts[0]}/{kind}/{given.__name__}'


_EXAMPLES = {'action': 'nav2_msgs.action.NavigateToPose', 'srv': 'std_srvs.srv.SetBool',
             'msg': 'geometry_msgs.msg.Twist'}


def sent_fields(given: Any, of_type: Any) -> Any:
    """
    Return the fields of a goal, a request or a message; None for none.

    `given`: a mapping or a message. `of_type`: its type as a class, with which the names of the
    fields are checked here, or a name. Raises TypeError.
    """
    if given is None:
        return None
    expected = _sent_class(of_type)
    if isinstance(given, Mapping):
        for wrong in _unknown_fields(given, expected, ''):
            raise TypeError(wrong)
        return given
    if not is_message(given):
        raise TypeError(f'expected a mapping of fields or a message, got {given!r}')
    if expected is not None and not isinstance(given, expected):
        raise TypeError(f'expected a {_shown(expected)}, got a {_shown(type(given))}')
    return fields_of_message(given)


def is_message(thing: Any) -> bool:
    """Return whether a thing is a ROS message."""
    kind = type(thing)
    return hasattr(kind, 'get_fields_and_field_types') and hasattr(kind, 'SLOT_TYPES')


def fields_of_message(message: Any, depth: int = 0) -> dict[str, Any]:
    """Return the fields of a message that differ from its defaults, as plain data."""
    if depth > MAX_DEPTH:
        raise TypeError(f'a message that is nested more than {MAX_DEPTH} deep')
    defaults = type(message)()
    return {name: _plain(value, depth) for name in message.get_fields_and_field_types()
            if _differs(value := getattr(message, name), getattr(defaults, name))}


def _differs(value: Any, default: Any) -> bool:
    if hasattr(value, 'tolist'):
        value, default = value.tolist(), default.tolist()
    return bool(value != default)


def _plain(value: Any, depth: int) -> Any:
    if is_message(value):
        return fields_of_message(value, depth + 1)
    if hasattr(value, 'tolist') and not isinstance(value, array.array):
        return value.tolist()
    if isinstance(value, (bytes, bytearray)):
        return list(value)
    if isinstance(value, (list, tuple, array.array)):
        return [_plain(item, depth) for item in value]
    return value


def _sent_class(of_type: Any) -> Any:
    """Return the class of what is sent for a type, None if only its name is known."""
    if not isinstance(of_type, type):
        return None
    return getattr(of_type, 'Goal', None) or getattr(of_type, 'Request', None) or of_type


def _unknown_fields(given: Mapping[str, Any], expected: Any, path: str) -> Iterator[str]:
    """Yield messages about fields that a class does not have."""
    if expected is None:
        return
    known = expected.get_fields_and_field_types()
    for name, value in given.items():
        if name not in known:
            yield f"'{path}{name}' is no field of {_shown(expected)}" + (
                nearest(str(name), known) or f" (known: {', '.join(known)})")
            continue
        inner = _message_class(known[name])
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if inner and isinstance(item, Mapping) and not {'fact', 'expr'} & item.keys():
                yield from _unknown_fields(item, inner, f'{path}{name}.')


def _message_class(kind: str) -> Any:
    """Return the class of a field of messages, None for other fields."""
    name = re.sub(r'^sequence<(.*?)(, \d+)?>$|\[\d+\]$', r'\1', kind)
    if '/' not in name:
        return None
    package, _, cls = name.partition('/')
    return getattr(importlib.import_module(f'{package}.msg'), cls)


def _shown(cls: type) -> str:
    package, kind, *_ = (*cls.__module__.split('.'), '')
    return f'{package}/{kind}/{cls.__name__}'
