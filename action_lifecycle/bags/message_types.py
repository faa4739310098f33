# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Deserializes messages (CDR) of any type that is known by its definition.

The fields of the messages have the same types as those of rclpy's messages: lists of numbers are
array.array, arrays of a fixed length are numpy arrays, an octet is one byte, and a string that is
not valid UTF-8 has replacement characters.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Mapping
import struct
import sys
from typing import Any

import numpy as np

from .definitions import FieldDef, type_table, TypeDef
from .errors import BagError
from .storage import Definition

_Reader = Callable[[bytes, int], tuple[Any, int]]
_BASES = {  # struct and array code, size
    'bool': ('?', 1), 'byte': ('c', 1), 'octet': ('c', 1), 'char': ('B', 1),
    'int8': ('b', 1), 'uint8': ('B', 1), 'int16': ('h', 2), 'uint16': ('H', 2),
    'int32': ('i', 4), 'uint32': ('I', 4), 'int64': ('q', 8), 'uint64': ('Q', 8),
    'float32': ('f', 4), 'float64': ('d', 8)}
_ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}
_NATIVE = '<' if sys.byteorder == 'little' else '>'


class BagType:
    """A message type of a bag; raises BagError if it can't be read."""

    def __init__(self, name: str, definition: Definition) -> None:
        self.name = name
        self.table = type_table(name, definition)
        self._classes = {key: _message_class(entry)
                         for key, entry in self.table.items()}
        self._readers: dict[str, _Reader] = {}
        self._reader_of(_NATIVE)

    @property
    def message_class(self) -> Any:
        """Return the class of the messages."""
        return self._classes[self.name]

    def read(self, data: bytes) -> Any:
        """Return the message; raises ValueError if the data is not of this type."""
        order = _ORDERS.get(data[:2])
        if order is None:
            raise ValueError(f'it begins with {data[:4]!r}, which is no CDR of a known kind')
        try:  # bytes may be left over: Fast DDS reserves more than it needs
            return self._reader_of(order)(data[4:], 0)[0]
        except struct.error as error:
            raise ValueError(str(error)) from None

    def _reader_of(self, order: str) -> _Reader:
        if order not in self._readers:
            self._readers[order] = _Compiler(self.table, self._classes, order).message(self.name)
        return self._readers[order]


def _message_class(definition: TypeDef) -> Any:
    """Return a class like those of rclpy: constants, and the names and types of the fields."""
    package, _, name = definition.name.split('/')
    fields = {field.name: _described(field) for field in definition.fields}
    return type(name, (), {
        **definition.constants, '__module__': __name__, '__doc__': f'{package}/{name}.',
        '__init__': _set_fields,
        'get_fields_and_field_types': classmethod(lambda cls: dict(fields))})


def _set_fields(self: Any, **values: Any) -> None:
    self.__dict__.update(values)


def _described(field: FieldDef) -> str:
    base = field.base.replace('/msg/', '/')
    if field.form == 'one':
        return base
    return f'sequence<{base}>' if field.form == 'sequence' else f'{base}[{field.length}]'


class _Compiler:
    """Makes readers of types for one byte order."""

    def __init__(
        self, table: Mapping[str, TypeDef], classes: Mapping[str, Any], order: str
    ) -> None:
        self._table = table
        self._classes = classes
        self._order = order
        self._messages: dict[str, _Reader] = {}
        self._length = struct.Struct(order + 'I').unpack_from

    def message(self, name: str) -> _Reader:
        if name not in self._messages:
            self._messages[name] = self._message(self._table[name])
        return self._messages[name]

    def _message(self, definition: TypeDef) -> _Reader:
        readers = [(field.name, self._field(definition, field)) for field in definition.fields]
        cls = self._classes[definition.name]
        new = cls.__new__
        if not readers:  # C has no empty structs: there is one byte
            def empty(data: bytes, at: int) -> tuple[Any, int]:
                if at > len(data):  # tools leave out the byte at the end
                    raise ValueError('it is cut off')
                return new(cls), at + 1
            return empty

        def read(data: bytes, at: int) -> tuple[Any, int]:
            message = new(cls)
            values = message.__dict__
            for name, reader in readers:
                values[name], at = reader(data, at)
            return message, at
        return read

    def _field(self, definition: TypeDef, field: FieldDef) -> _Reader:
        if field.is_message:
            single, size = self.message(field.base), 1
        elif field.base == 'string':
            single, size = self._string, 4
        elif field.base in _BASES:
            return self._basic(field)
        else:
            raise BagError(f"type '{definition.name}': field '{field.name}' is a {field.base}, "
                           'which is not supported')
        if field.form == 'one':
            return single
        if field.form == 'array':
            return lambda data, at: _several(single, field.length, data, at)

        def sequence(data: bytes, at: int) -> tuple[Any, int]:
            count, at = self._count(data, at, size)
            return _several(single, count, data, at)
        return sequence

    def _string(self, data: bytes, at: int) -> tuple[str, int]:
        at = (at + 3) & -4
        length, = self._length(data, at)
        end = at + 4 + length
        if end > len(data):
            raise ValueError(f'a string of {length} bytes, {len(data) - at - 4} are left')
        text = data[at + 4:end]
        return text.partition(b'\0')[0].decode('utf-8', 'replace'), end

    def _count(self, data: bytes, at: int, size: int) -> tuple[int, int]:
        """Return the length of a sequence of elements of at least `size` bytes."""
        at = (at + 3) & -4
        count, = self._length(data, at)
        at += 4
        if at + count * size > len(data):
            raise ValueError(f'a list of {count} elements, {len(data) - at} bytes are left')
        return count, at

    def _basic(self, field: FieldDef) -> _Reader:
        code, size = _BASES[field.base]
        unpack = struct.Struct(self._order + code).unpack_from
        if field.form == 'one':
            if size == 1:
                return lambda data, at: (unpack(data, at)[0], at + 1)

            def read(data: bytes, at: int) -> tuple[Any, int]:
                at = (at + size - 1) & -size
                return unpack(data, at)[0], at + size
            return read
        elements = self._listed(code) if code in '?c' else \
            self._numbers(code, size) if field.form == 'sequence' else self._array(code, size)
        if field.form == 'array':
            return lambda data, at: elements(data, at, field.length)

        def sequence(data: bytes, at: int) -> tuple[Any, int]:
            count, at = self._count(data, at, size)
            return elements(data, at, count)
        return sequence

    @staticmethod
    def _listed(code: str) -> Callable[[bytes, int, int], tuple[Any, int]]:
        def read(data: bytes, at: int, count: int) -> tuple[Any, int]:
            return list(struct.unpack_from(f'{count}{code}', data, at)), at + count
        return read

    def _numbers(self, code: str, size: int) -> Callable[[bytes, int, int], tuple[Any, int]]:
        swapped = self._order != _NATIVE

        def read(data: bytes, at: int, count: int) -> tuple[Any, int]:
            found = array.array(code)
            if count:
                at = (at + size - 1) & -size
                end = at + count * size
                if end > len(data):
                    raise ValueError(f'a list of {count} elements is cut off')
                found.frombytes(memoryview(data)[at:end])
                at = end
                if swapped:
                    found.byteswap()
            return found, at
        return read

    def _array(self, code: str, size: int) -> Callable[[bytes, int, int], tuple[Any, int]]:
        kind = np.dtype(self._order + code)

        def read(data: bytes, at: int, count: int) -> tuple[Any, int]:
            at = (at + size - 1) & -size
            found = np.frombuffer(data, kind, count, at)
            return found.astype(code), at + count * size
        return read


def _several(single: _Reader, count: int, data: bytes, at: int) -> tuple[list[Any], int]:
    items = []
    for _ in range(count):
        item, at = single(data, at)
        items.append(item)
    return items, at
