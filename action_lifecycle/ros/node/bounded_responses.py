# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Has a client of a service not read responses that are too large.

A list of messages costs 50 µs of Python for each message in it: a response of 2 MB with 30,000
poses takes 1.4 s. rclpy can take a message serialized, but not a response. It takes a response as
a C structure and converts it by a function that the type has in a capsule. The function here looks
at the serialized size first. Checked with rclpy 7.1.11, by the tests.
"""

from __future__ import annotations

from collections.abc import Callable
import ctypes
from dataclasses import dataclass
import functools
from types import SimpleNamespace
from typing import Any

from rclpy.logging import get_logger

HEADER = 4  #: bytes before the first field of a serialized message
KEPT = 64  #: bytes of a response that is too large, from the first field on


@dataclass(frozen=True)
class TooLarge:
    """A response that was not read: its serialized size and its first bytes."""

    size: int
    limit: int
    begin: bytes

    def __str__(self) -> str:
        return f'{self.size} bytes; at most {self.limit} are read'


class _Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in (
        'allocate', 'deallocate', 'reallocate', 'zero_allocate', 'state')]


class _Serialized(ctypes.Structure):
    _fields_ = [('buffer', ctypes.c_void_p), ('length', ctypes.c_size_t),
                ('capacity', ctypes.c_size_t), ('allocator', _Allocator)]


def itself(unread: TooLarge) -> Any:
    """Return what stands for a response that is too large."""
    return unread


def bound_responses(
    client: Any, limit: int, stand_in: Callable[[TooLarge], Any] = itself
) -> None:
    """Have a client give a stand-in in place of a response of more than `limit` bytes."""
    service = client.srv_type
    try:
        response = _bounded(service.Response, limit, stand_in)
    except (AttributeError, OSError, ValueError) as error:  # another rclpy
        get_logger('action_lifecycle').error(
            f"responses of service '{client.srv_name}' are read whatever their size: {error!r}")
        return
    client.srv_type = SimpleNamespace(Request=service.Request, Response=response)


@functools.lru_cache(maxsize=1000)  # so that the functions live as long as the process
def _bounded(response: Any, limit: int, stand_in: Callable[[TooLarge], Any]) -> Any:
    """Return an object that rclpy takes for the class of a response."""
    _functions()  # raises OSError where the libraries have other names
    kind = type(response)
    kind.__import_type_support__()
    convert = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(_pointer(kind._CONVERT_TO_PY))
    support = _pointer(kind._TYPE_SUPPORT)

    def read(message: int) -> Any:
        try:
            size, begin = _measured(message, support)
            if size > limit:
                return stand_in(TooLarge(size, limit, begin))
        except Exception:  # of another rclpy; its size is not known then
            pass
        return convert(message)

    function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(read)
    api = ctypes.pythonapi
    capsule = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
            ('PyCapsule_New', api))(ctypes.cast(function, ctypes.c_void_p), None, None)
    return type(response.__name__, (), {
        '_CREATE_ROS_MESSAGE': kind._CREATE_ROS_MESSAGE,
        '_DESTROY_ROS_MESSAGE': kind._DESTROY_ROS_MESSAGE,
        '_TYPE_SUPPORT': kind._TYPE_SUPPORT, '_CONVERT_TO_PY': capsule, '_function': function})()


def _pointer(capsule: Any) -> int:
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(('PyCapsule_GetName', api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ('PyCapsule_GetPointer', api))
    found: int = pointer_of(capsule, name_of(capsule))
    return found


@functools.lru_cache(maxsize=1)
def _functions() -> tuple[_Allocator, Callable[..., int], Callable[..., int]]:
    utilities, middleware = map(ctypes.CDLL, ('librcutils.so', 'librmw_implementation.so'))
    utilities.rcutils_get_default_allocator.restype = _Allocator
    middleware.rmw_serialize.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_Serialized)]
    utilities.rcutils_uint8_array_fini.argtypes = [ctypes.POINTER(_Serialized)]
    return (utilities.rcutils_get_default_allocator(), middleware.rmw_serialize,
            utilities.rcutils_uint8_array_fini)


def _measured(message: int, support: int) -> tuple[int, bytes]:
    """Return the serialized size (bytes) of a C structure, and the first bytes."""
    allocator, serialize, free = _functions()
    data = _Serialized(allocator=allocator)
    try:
        if serialize(message, support, ctypes.byref(data)):  # other threads run meanwhile
            raise RuntimeError('rmw_serialize')
        begin = ctypes.string_at(data.buffer, min(data.length, HEADER + KEPT))
        return data.length, begin[HEADER:]
    finally:
        free(ctypes.byref(data))
