# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
YAML documents with the line and column of every value.

Scalars follow the YAML 1.2 core schema (`on`, `no` and `1:30` are strings); keys are always
strings. Anchors, aliases and merge keys work; their expansion is bounded. All faults are reported
at once, as far as the syntax permits.

The document is built from PyYAML's events: `compose()` alone takes longer (`document_vs_compose`
in bench/engine.py), stops at the first unknown alias, and does not keep the positions of aliases.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import re
import typing
from typing import Any, Union

import yaml

from .budget import MAX_DEPTH, MAX_DIGITS, TOO_DEEP, TOO_MANY_DIGITS
from .errors import DocumentError, Fault, MAX_FAULTS
from .input_file import open_input
from .suggestions import nearest
from .yaml_hints import hint, is_template, UNQUOTED_TEMPLATE

MAX_BYTES = 64 * 1024 * 1024
MAX_NODES = 4_000_000

Key = Union[str, int]
Position = tuple[int, int]

_Loader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_INT = re.compile(r'[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z')
_FLOAT = re.compile(r'[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z')
_SPECIAL: dict[str, object] = {
    '': None, '~': None, 'null': None, 'Null': None, 'NULL': None,
    'true': True, 'True': True, 'TRUE': True, 'false': False, 'False': False, 'FALSE': False,
    **{sign + word: float(sign + 'inf')
       for sign in ('', '+', '-') for word in ('.inf', '.Inf', '.INF')},
    '.nan': float('nan'), '.NaN': float('nan'), '.NAN': float('nan'),
}
_TAGS = {f'tag:yaml.org,2002:{name}'
         for name in ('str', 'int', 'float', 'bool', 'null', 'map', 'seq')}
_STR = 'tag:yaml.org,2002:str'


@dataclass(eq=False, repr=False)
class Document:
    """A parsed document: `name` of the file, plain `data`, and the positions of all values."""

    name: str
    data: Any
    _start: Position
    _marks: dict[int, dict[Key, Position]]  #: by id of the list or mapping, and key

    def mark(self, path: typing.Sequence[Key] = ()) -> Position:
        """
        Return line and column (from 1) of the entry at `path`, or of its nearest known parent.

        Unknown keys are skipped, since a model may have more levels than the file (a list around a
        single entry, the member of a union).
        """
        here, position = self.data, self._start
        for key in path:
            found = self._marks.get(id(here), {}).get(key)
            if found is not None:
                here, position = here[key], found
        return position

    def fault(self, path: typing.Sequence[Key], message: str) -> Fault:
        """Return a fault with the position of the entry at `path`, see `mark`."""
        return Fault(self.name, *self.mark(path), message)


def read_document(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Document:
    """Read a YAML file; raises `DocumentError` with all faults."""
    name = str(path)
    try:
        with open_input(path) as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise DocumentError(
            [Fault(name, 1, 1, f'can not be read: {error.strerror}')]
        ) from error
    return parse_document(content, name, max_bytes=max_bytes)


def parse_document(text: str | bytes, name: str, *, max_bytes: int = MAX_BYTES) -> Document:
    """Parse a YAML string; `name`: file name for messages. Raises `DocumentError`."""
    content = text.encode('utf-8', 'surrogatepass') if isinstance(text, str) else text
    if len(content) > max_bytes:
        raise DocumentError([Fault(name, 1, 1, f'larger than the limit of {max_bytes} bytes')])
    try:
        decoded = content.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        before = content[:error.start]
        line = before.count(b'\n') + 1
        column = error.start - (before.rfind(b'\n') + 1) + 1
        raise DocumentError([Fault(
            name, line, column, f'byte 0x{content[error.start]:02x} is not valid UTF-8'
        )]) from error
    return _Builder(name, decoded, max_bytes).build()


class _Anchor(typing.NamedTuple):
    """The data of an anchored node, and its size with aliases expanded."""

    data: Any
    nodes: int
    characters: int
    height: int  #: nesting depth of lists and mappings


class _Builder:
    """Builds plain data and marks from the event stream of the parser."""

    def __init__(self, name: str, text: str, most: int) -> None:
        self.name = name
        self.text = text
        self.most = most
        self.faults: list[Fault] = []
        self.marks: dict[int, dict[Key, Position]] = {}
        self.anchors: dict[str, _Anchor | None] = {}  # None: inside of that node
        self.nodes = self.characters = 0  # with aliases expanded
        self.expanded = 0  # characters of expanded aliases
        self.deepest = 0

    def build(self) -> Document:
        loader = None
        try:
            loader = _Loader(self.text)
            document = self._document(loader)
        except yaml.MarkedYAMLError as error:
            found = hint(self.text, error)
            if all(fault.line != found.line + 1 for fault in self.faults):
                self.faults.append(
                    Fault(self.name, found.line + 1, found.column + 1, found.message))
            raise DocumentError(self.faults) from error
        except yaml.reader.ReaderError as error:
            line = self.text.count('\n', 0, error.position) + 1
            raise DocumentError([Fault(
                self.name, line, 1, f'character {error.character!r} is not allowed in YAML'
            )]) from error
        finally:
            if loader is not None:
                loader.dispose()
        if self.faults:
            raise DocumentError(self.faults)
        return document

    def _document(self, loader: Any) -> Document:
        loader.get_event()  # stream start
        if loader.check_event(yaml.StreamEndEvent):
            raise DocumentError([Fault(self.name, 1, 1, 'is empty')])
        loader.get_event()  # document start
        first = loader.peek_event()
        data = self._node(loader, 0)
        loader.get_event()  # document end
        if not loader.check_event(yaml.StreamEndEvent):
            self._fault(loader.peek_event(), 'a second document starts here; expected one')
        return Document(self.name, data, _position(first), self.marks)

    def _node(self, loader: Any, depth: int) -> Any:
        """Return the data of the next node."""
        event = loader.get_event()
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        if event.tag is not None and event.tag not in _TAGS and event.tag != '!':
            self._fault(event, f"unknown tag '{event.tag}'; a text that begins with '!' must be "
                        'put in quotes')
        anchor, outer = event.anchor, (self.nodes, self.characters, self.deepest)
        if anchor is not None:
            self.anchors[anchor] = None
            self.deepest = depth
        self._count(event, 1, depth)
        if isinstance(event, yaml.ScalarEvent):
            self.characters += len(event.value)
            data = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            data = self._sequence(loader, depth)
        else:
            data = self._mapping(loader, depth)
        if anchor is not None:
            self.anchors[anchor] = _Anchor(
                data, self.nodes - outer[0], self.characters - outer[1], self.deepest - depth)
            self.deepest = max(self.deepest, outer[2])
        return data

    def _alias(self, event: Any, depth: int) -> Any:
        if event.anchor not in self.anchors:
            self._fault(event, f"alias '*{event.anchor}' names no anchor"
                        + (nearest(event.anchor, self.anchors)
                           or "; a text that begins with '*' must be put in quotes"))
            return None
        found = self.anchors[event.anchor]
        if found is None:
            self._fault(event, f"alias '*{event.anchor}' stands inside its own anchor")
            return None
        self._count(event, found.nodes, depth + found.height)
        self.characters += found.characters
        self.expanded += found.characters
        if self.expanded > self.most:
            self._give_up(event, f'aliases expand to more than {self.most} characters')
        return found.data

    def _scalar(self, event: Any) -> Any:
        value: str = event.value
        plain = event.implicit[0]
        if event.tag in (_STR, '!') or (event.tag is None and not plain):
            return value
        if value in _SPECIAL:
            return _SPECIAL[value]
        if len(value) > MAX_DIGITS and (_INT.match(value) or _FLOAT.match(value)):
            self._fault(event, TOO_MANY_DIGITS)
            return None
        if _INT.match(value):
            if value[:2] in ('0x', '0o'):
                return int(value, 0)
            return int(value)
        if _FLOAT.match(value):
            return float(value)
        return value

    def _sequence(self, loader: Any, depth: int) -> list[Any]:
        items: list[Any] = []
        marks: dict[Key, Position] = {}
        while not loader.check_event(yaml.SequenceEndEvent):
            marks[len(items)] = _position(loader.peek_event())
            items.append(self._node(loader, depth + 1))
        loader.get_event()
        self.marks[id(items)] = marks
        return items

    def _mapping(self, loader: Any, depth: int) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        marks: dict[Key, Position] = {}
        merged: list[tuple[Any, Any]] = []
        while not loader.check_event(yaml.MappingEndEvent):
            event = loader.peek_event()
            if not isinstance(event, yaml.ScalarEvent):
                self._fault(event, UNQUOTED_TEMPLATE if is_template(
                    self.text, event.start_mark.index) else 'a key must be a plain text')
                self._node(loader, depth + 1)
                self._node(loader, depth + 1)
                continue
            loader.get_event()
            self.characters += len(event.value)
            value = self._node(loader, depth + 1)
            if event.value == '<<' and event.implicit[0]:
                merged.append((event, value))
            elif event.value in entries:
                first = marks[event.value][0]
                self._fault(event, f"duplicate key '{event.value}', first in line {first}")
            else:
                entries[event.value] = value
                marks[event.value] = _position(event)
        loader.get_event()
        for event, value in merged:
            self._merge(event, value, entries, marks)
        self.marks[id(entries)] = marks
        return entries

    def _merge(
        self, event: Any, value: Any, entries: dict[str, Any], marks: dict[Key, Position]
    ) -> None:
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                self._fault(event, "'<<' merges mappings only")
                continue
            for key, item in source.items():
                if key not in entries:
                    entries[key] = item
                    marks[key] = self.marks[id(source)].get(key, _position(event))

    def _count(self, event: Any, nodes: int, depth: int) -> None:
        """Count a node or an expanded alias, which reaches down to `depth`."""
        self.nodes += nodes
        self.deepest = max(self.deepest, depth)
        if depth > MAX_DEPTH:
            self._give_up(event, TOO_DEEP)
        if self.nodes > MAX_NODES:
            self._give_up(event, f'expands to more than {MAX_NODES} values')

    def _fault(self, event: Any, message: str) -> None:
        if len(self.faults) >= MAX_FAULTS:
            raise DocumentError(self.faults)
        self.faults.append(Fault(self.name, *_position(event), message))

    def _give_up(self, event: Any, message: str) -> typing.NoReturn:
        self._fault(event, message)
        raise DocumentError(self.faults)


def _position(event: Any) -> Position:
    return event.start_mark.line + 1, event.start_mark.column + 1
