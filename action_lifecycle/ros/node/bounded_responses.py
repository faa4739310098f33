# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Has a client of a service not read responses that are too large.

A list of messages costs 50 µs of Python for each message in it: a response of 2 MB with 30,000
poses takes 1.4 s. rclpy can take a message serialized, but not a response. It takes a response as
a C structure, for which all threads wait (30 ms for 5 MB, much longer on a busy machine), and
converts it. Both are done by functions that the type has in capsules. The function here that makes
an empty structure for rclpy takes all responses before, while other threads run, and converts
those with a small serialized size. Checked with rclpy 7.1.11, by the tests.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import ctypes
from dataclasses import dataclass
import functools
from types import SimpleNamespace
from typing import Any

from rclpy.logging import get_logger

from .guarded_node import GuardedNode

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


class _RequestId(ctypes.Structure):
    _fields_ = [('writer_guid', ctypes.c_int8 * 16), ('sequence_number', ctypes.c_int64)]


class _Info(ctypes.Structure):
    """rmw_service_info_t."""

    _fields_ = [('source_timestamp', ctypes.c_int64), ('received_timestamp', ctypes.c_int64),
                ('request_id', _RequestId)]


def itself(unread: TooLarge) -> Any:
    """Return what stands for a response that is too large."""
    return unread


def bound_responses(
    node: GuardedNode, client: Any, limit: int, stand_in: Callable[[TooLarge], Any] = itself
) -> None:
    """Have a client of `node` give a stand-in for a response of more than `limit` bytes."""
    service = client.srv_type
    try:
        response = _Taker(node, client, limit, stand_in).response()
    except (AttributeError, OSError, ValueError) as error:  # another rclpy
        get_logger('action_lifecycle').error(
            f"responses of service '{client.srv_name}' are read whatever their size: {error!r}")
        return
    client.srv_type = SimpleNamespace(Request=service.Request, Response=response)


class _Taker:
    """Takes the responses of a client when rclpy begins to take one; rclpy then finds none."""

    def __init__(
        self, node: GuardedNode, client: Any, limit: int, stand_in: Callable[[TooLarge], Any]
    ) -> None:
        self._functions = _functions()  # raises OSError where the libraries have other names
        self._node = node
        self._client = client
        self._limit = limit
        self._stand_in = stand_in
        self._take_all = node.guarded(self._take_them, what=f'service {client.srv_name}')
        self._kind = kind = type(client.srv_type.Response)
        kind.__import_type_support__()
        self._support = _pointer(kind._TYPE_SUPPORT)
        self._make = ctypes.CFUNCTYPE(ctypes.c_void_p)(_pointer(kind._CREATE_ROS_MESSAGE))
        self._free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_pointer(kind._DESTROY_ROS_MESSAGE))
        # all threads wait for this one
        self._convert = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(
            _pointer(kind._CONVERT_TO_PY))

    def response(self) -> Any:
        """Return an object that rclpy takes for the class of a response."""
        create = ctypes.CFUNCTYPE(ctypes.c_void_p)(self._create)
        # one that arrives in between is taken by rclpy
        convert = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(self._read)
        return type('Response', (), {
            '_CREATE_ROS_MESSAGE': _capsule(create), '_CONVERT_TO_PY': _capsule(convert),
            '_DESTROY_ROS_MESSAGE': self._kind._DESTROY_ROS_MESSAGE,
            '_TYPE_SUPPORT': self._kind._TYPE_SUPPORT, '_functions': (create, convert)})()

    def _create(self) -> int:
        self._take_all()
        empty: int = self._make()
        return empty

    def _take_them(self) -> None:
        while self._take():
            pass

    def _take(self) -> bool:
        """Take the next response; returns whether there was one."""
        info, message, handle = _Info(), self._make(), self._client.handle
        try:
            with handle:
                if self._functions.take(handle.pointer, ctypes.byref(info), message):
                    return False
            self._node.executor.create_task(
                self._deliver, info.request_id.sequence_number, self._read(message))
            return True
        finally:
            self._free(message)

    def _deliver(self, number: int, response: Any) -> None:
        with contextlib.suppress(KeyError):  # nobody waits for it
            self._client.get_pending_request(number).set_result(response)

    def _read(self, message: int) -> Any:
        data = _Serialized(allocator=self._functions.allocator)
        try:
            if self._functions.serialize(message, self._support, ctypes.byref(data)) == 0 \
                    and data.length > self._limit:
                begin = ctypes.string_at(data.buffer, min(data.length, HEADER + KEPT))
                return self._stand_in(TooLarge(data.length, self._limit, begin[HEADER:]))
        except Exception:  # of another rclpy; its size is not known then
            pass
        finally:
            self._functions.free(ctypes.byref(data))
        return self._convert(message)


def _pointer(capsule: Any) -> int:
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(('PyCapsule_GetName', api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ('PyCapsule_GetPointer', api))
    found: int = pointer_of(capsule, name_of(capsule))
    return found


def _capsule(function: Any) -> Any:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ('PyCapsule_New', ctypes.pythonapi))
    return make(ctypes.cast(function, ctypes.c_void_p), None, None)


@functools.lru_cache(maxsize=1)
def _functions() -> SimpleNamespace:
    """Return functions of C, during which other threads run."""
    utilities, middleware, client = map(
        ctypes.CDLL, ('librcutils.so', 'librmw_implementation.so', 'librcl.so'))
    utilities.rcutils_get_default_allocator.restype = _Allocator
    utilities.rcutils_uint8_array_fini.argtypes = [ctypes.POINTER(_Serialized)]
    middleware.rmw_serialize.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_Serialized)]
    client.rcl_take_response_with_info.argtypes = [
        ctypes.c_void_p, ctypes.POINTER(_Info), ctypes.c_void_p]
    return SimpleNamespace(
        allocator=utilities.rcutils_get_default_allocator(),
        free=utilities.rcutils_uint8_array_fini, serialize=middleware.rmw_serialize,
        take=client.rcl_take_response_with_info)
