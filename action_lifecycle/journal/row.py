# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The content of a journal row, its encoding and its hash.

The hash (BLAKE2b, 128 bits, in hex) covers all other columns, including the hash of the row
before. Its input is the strings and integers in their order, in UTF-8 and joined by U+001F, then
the three times as little-endian doubles (NaN for no ROS time). It detects corruption and
accidental edits, not forgery.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
import json
from math import isfinite, nan
import struct
from types import MappingProxyType
from typing import Any, NamedTuple

from ..documents.errors import ContentRefused, LifecycleError

MAX_DATA = 1024 * 1024  # characters of JSON
MAX_TEXT = 64 * 1024  # characters, all string fields together
MAX_DEPTH = 64
MAX_ATTEMPT = 2**63 - 1
SEPARATOR = '\x1f'

_TEXTS = ('kind', 'flow_id', 'action_id', 'event', 'from_state', 'to_state', 'cause', 'actor')

ALTERED = 'does not have the content that it was written with'

_INT, _TEXT, _TIME = (int,), (str,), (float,)
_TYPES: tuple[tuple[type, ...], ...] = (
    _INT, _TEXT, _TEXT, _TEXT, _INT, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _INT,
    (float, type(None)), _TEXT, _TIME, _TIME, _TEXT, _TEXT)  # of the fields of Row
_EMPTY: Mapping[str, Any] = MappingProxyType({})
_pack_times = struct.Struct('<3d').pack
_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, check_circular=False,
    separators=(',', ':')).encode


class JournalError(LifecycleError):
    """The journal can't be opened, read or written; the message names the file and why."""


class NoJournal(JournalError):
    """There is no journal at the path, or this user may not read it."""


def damaged(path: str, what: str) -> JournalError:
    """Return the error for damage of the journal at `path`, with what to do."""
    return JournalError(
        f"{path}: damaged: {what}; 'action_lifecycle journal verify {path}' lists the damage, "
        "'A damaged journal' in docs/journal.md says what to do")


class EntryRefused(JournalError, ContentRefused):
    """The content of an entry is not valid for the journal."""


class Entry(NamedTuple):
    """
    An entry to append.

    `kind`: 'transition' (of an action), 'flow' (of a flow), 'note' (opens and closes nothing), or
    a kind of the caller. (kind, flow_id, action_id) is the subject; it is open, and kept by
    compaction, until an entry with `final`. `data`: JSON data such as evidence, goal id, outcome,
    error code. `ros_time` in s, None without a ROS clock.
    """

    kind: str
    flow_id: str = ''
    action_id: str = ''
    attempt: int = 0
    event: str = ''
    from_state: str = ''
    to_state: str = ''
    cause: str = ''
    actor: str = ''
    data: Mapping[str, Any] = _EMPTY
    final: bool = False
    ros_time: float | None = None


class Row(NamedTuple):
    """
    A recorded entry with its sequence number, times (s) and hash.

    `boot_time` is CLOCK_BOOTTIME, comparable within one `boot_id` only; `wall_time` is in s since
    1970 and may jump.
    """

    seq: int
    kind: str
    flow_id: str
    action_id: str
    attempt: int
    event: str
    from_state: str
    to_state: str
    cause: str
    actor: str
    data_json: str
    final: bool
    ros_time: float | None
    boot_id: str
    boot_time: float
    wall_time: float
    prev_hash: str
    hash: str  # noqa: A003

    @property
    def data(self) -> dict[str, Any]:
        """Parse `data_json`; raises JournalError unless it is a JSON object."""
        try:
            parsed = json.loads(self.data_json)
        except (TypeError, ValueError, RecursionError) as error:
            raise JournalError(f'damaged: row {self.seq} has data that are not JSON: {error}'
                               ) from error
        if not isinstance(parsed, dict):
            raise JournalError(f'damaged: row {self.seq} has data that are not a JSON object, '
                               f'but {self.data_json[:60]}')
        return parsed

    @property
    def data_or_empty(self) -> dict[str, Any]:
        """Parse `data_json`; an empty object if it is damaged."""
        try:
            return self.data
        except JournalError:
            return {}

    def intact(self) -> bool:
        """
        Return whether the row matches its hash, which includes `prev_hash`.

        In an intact row all fields have the types of Row, and `data` is an object.
        """
        try:
            text = _text(self[:-1])
            return self.hash == _hash(text, self.ros_time, self.boot_time, self.wall_time)
        except (TypeError, ValueError, struct.error):
            return False

    def fault(self) -> str:
        """Return the fault of the row ('does not have …'), '' for an intact one."""
        return '' if self.intact() else self.ill_formed() or ALTERED

    def ill_formed(self) -> str:
        """Return the fault of a field of a wrong type, '' if there is none."""
        for name, value, expected in zip(self._fields, self, _TYPES):
            if not isinstance(value, expected):
                return f'has a {name} of type {type(value).__name__}'
        try:
            _ = self.data
        except JournalError as error:
            return str(error).removeprefix(f'damaged: row {self.seq} ')
        return ''


def make_row(
    entry: Entry, seq: int, boot_id: str, boot_time: float, wall_time: float, prev_hash: str
) -> Row:
    """
    Return the row for `entry`.

    Raises EntryRefused, which names the field, for values that are not JSON or too large.
    """
    (kind, flow_id, action_id, attempt, event, from_state, to_state, cause, actor, data, final,
     ros_time) = entry
    try:
        data_json = _encode(dict(data)) if data else '{}'
        if ros_time is not None:
            ros_time = float(ros_time)
        fields = (
            seq, kind, flow_id, action_id, attempt, event, from_state, to_state, cause, actor,
            data_json, bool(final), ros_time, boot_id, boot_time, wall_time, prev_hash)
        text = _text(fields)
        row = Row._make((*fields, _hash(text, ros_time, boot_time, wall_time)))
    except (TypeError, ValueError, RecursionError) as error:
        raise EntryRefused(_what_is_wrong(entry) or f'entry refused: {error}') from error
    if (len(data_json) > MAX_DATA or len(text) - len(data_json) > MAX_TEXT
            or text.count(SEPARATOR) != 13 or type(attempt) is not int
            or not 0 <= attempt <= MAX_ATTEMPT
            or not kind or (ros_time is not None and not isfinite(ros_time))):
        raise EntryRefused(_what_is_wrong(entry) or 'entry refused')
    return row


def _text(fields: tuple[Any, ...]) -> str:
    """Return the strings and integers for the hash of a row."""
    (seq, kind, flow_id, action_id, attempt, event, from_state, to_state, cause, actor, data_json,
     final, _, boot_id, _, _, prev_hash) = fields
    return SEPARATOR.join((
        f'{seq:d}', kind, flow_id, action_id, f'{attempt:d}', event, from_state, to_state, cause,
        actor, data_json, f'{final:d}', boot_id, prev_hash))


def _hash(text: str, ros_time: float | None, boot_time: float, wall_time: float) -> str:
    times = _pack_times(nan if ros_time is None else ros_time, boot_time, wall_time)
    return blake2b(text.encode() + times, digest_size=16).hexdigest()


def _what_is_wrong(entry: Entry) -> str:
    """Return the first fault of an entry, with the field and what was expected."""
    size = 0
    for name in _TEXTS:
        text = getattr(entry, name)
        if not isinstance(text, str):
            return f'{name}: expected a text, got {text!r}'
        if SEPARATOR in text or any('\ud800' <= letter <= '\udfff' for letter in text):
            return f'{name}: U+001F and surrogates are not allowed, got {text[:100]!r}'
        size += len(text)
    if not entry.kind:
        return 'kind: must not be empty'
    if size > MAX_TEXT:
        return f'text fields: {size} characters together, at most {MAX_TEXT} are allowed'
    if type(entry.attempt) is not int or not 0 <= entry.attempt <= MAX_ATTEMPT:
        return f'attempt: expected an integer of 0 to {MAX_ATTEMPT}, got {entry.attempt!r}'
    if entry.ros_time is not None and not _is_finite(entry.ros_time):
        return f'ros_time: expected a finite number of seconds or None, got {entry.ros_time!r}'
    if not isinstance(entry.data, Mapping):
        return f'data: expected a mapping, got {type(entry.data).__name__}'
    for path, fault in _json_faults('data', entry.data, 0):
        return f'{path}: {fault}'
    size = len(_encode(dict(entry.data)))
    if size > MAX_DATA:
        return f'data: {size} characters of JSON, at most {MAX_DATA} are allowed'
    return ''


def _is_finite(number: object) -> bool:
    return isinstance(number, (int, float)) and isfinite(number)


def _json_faults(path: str, value: object, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the path and the fault of each value that is not valid JSON data."""
    if depth > MAX_DEPTH:
        yield path[:100], f'nested deeper than {MAX_DEPTH}'
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                yield path, f'expected texts as keys, got {key!r}'
            else:
                yield from _json_faults(f'{path}.{key}', item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _json_faults(f'{path}[{index}]', item, depth + 1)
    elif isinstance(value, str):
        if any('\ud800' <= letter <= '\udfff' for letter in value):
            yield path, 'a lone surrogate is not valid text'
    elif isinstance(value, float):
        if not isfinite(value):
            yield path, f'{value} is not a JSON number'
    elif value is not None and not isinstance(value, int):
        yield path, f'{type(value).__name__} is not a JSON value'
