# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Endpoints that offer a type under the hash of another definition, as of another distribution."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import ctypes
from typing import Any

PYTHON = ctypes.pythonapi
PYTHON.PyCapsule_GetName.restype = ctypes.c_char_p
PYTHON.PyCapsule_GetName.argtypes = [ctypes.py_object]
PYTHON.PyCapsule_GetPointer.restype = ctypes.c_void_p
PYTHON.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
PYTHON.PyCapsule_New.restype = ctypes.py_object
PYTHON.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

GetHash = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
GetHandle = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
KEPT: list[Any] = []  # the middleware keeps pointers to these


class TypeSupport(ctypes.Structure):
    """`rosidl_message_type_support_t` of Jazzy and Kilted."""

    _fields_ = [('identifier', ctypes.c_char_p), ('data', ctypes.c_void_p),
                ('handle', ctypes.c_void_p), ('hash', ctypes.c_void_p),
                ('description', ctypes.c_void_p), ('sources', ctypes.c_void_p)]


class TypeHash(ctypes.Structure):
    """`rosidl_type_hash_t`."""

    _fields_ = [('version', ctypes.c_uint8), ('value', ctypes.c_uint8 * 32)]


def _with_other_hash(address: int) -> int:
    """Return the address of a copy of a type support, whose hash differs in the first byte."""
    copy = TypeSupport.from_buffer_copy(TypeSupport.from_address(address))
    digest = TypeHash.from_buffer_copy(TypeHash.from_address(GetHash(copy.hash)(address)))
    digest.value[0] ^= 0xff
    get_hash = GetHash(lambda support: ctypes.addressof(digest))
    original = GetHandle(copy.handle)

    def handle(support: int, identifier: bytes) -> int:  # Cyclone DDS asks the inner one
        inner = original(address, identifier)
        return _with_other_hash(inner) if inner and inner != address else inner

    get_handle = GetHandle(handle)
    copy.hash = ctypes.cast(get_hash, ctypes.c_void_p).value
    copy.handle = ctypes.cast(get_handle, ctypes.c_void_p).value
    KEPT.extend([copy, digest, get_hash, get_handle])
    return ctypes.addressof(copy)


@contextmanager
def other_definition(cls: Any) -> Iterator[None]:
    """Give publishers and subscriptions of a class that are made meanwhile another hash."""
    kind = type(cls)
    kind.__import_type_support__()
    ours = kind._TYPE_SUPPORT
    name = PYTHON.PyCapsule_GetName(ours)
    kind._TYPE_SUPPORT = PYTHON.PyCapsule_New(
        _with_other_hash(PYTHON.PyCapsule_GetPointer(ours, name)), name, None)
    try:
        yield
    finally:
        kind._TYPE_SUPPORT = ours
