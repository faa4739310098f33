# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The messages between the robot's process and workers: JSON, with binary data as base64."""

from __future__ import annotations

import base64
import json
from typing import Any

from ..documents.errors import LifecycleError
from ..documents.json_text import read_json

MAX_MESSAGE = 4 * 2**20
"""Maximum size of a message, in bytes."""
_BINARY = '$bytes'


class WireError(LifecycleError):
    """A value can't be sent, or a message can't be read."""


def pack(value: Any) -> bytes:
    """Serialize lists, mappings, strings, numbers, booleans, None and bytes; raises WireError."""
    try:
        message = json.dumps(value, allow_nan=False, default=_binary).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(f'it is no JSON: {error}') from error
    if len(message) > MAX_MESSAGE:
        raise WireError(f'it has {len(message)} bytes as JSON, at most {MAX_MESSAGE} are taken')
    return message


def unpack(message: bytes) -> Any:
    """Return the value of a message; raises WireError."""
    try:
        return _read(message, hook=_object)
    except LifecycleError as error:
        raise WireError(str(error)) from error


def to_json_data(value: Any) -> Any:
    """
    Return a value as plain JSON data, such as for a journal row.

    Raises WireError, also if `from_json_data` could not read it back.
    """
    message = pack(value)
    unpack(message)
    return _read(message)


def from_json_data(data: Any) -> Any:
    """Return the value of `to_json_data`; raises WireError."""
    return unpack(json.dumps(data).encode())


def _read(message: bytes, hook: Any = None) -> Any:
    return read_json(message, "a message can't be read", surrogates=True, most=MAX_MESSAGE,
                     hook=hook)


def _binary(value: Any) -> dict[str, str]:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {_BINARY: base64.b64encode(value).decode()}
    raise TypeError(f'{type(value).__name__} is not serializable')


def _object(found: dict[str, Any]) -> Any:
    if found.keys() != {_BINARY}:
        return found
    try:
        return base64.b64decode(found[_BINARY], validate=True)
    except (TypeError, ValueError):
        raise ValueError(f"'{_BINARY}': expected base64, got {found[_BINARY]!r:.100}") from None
