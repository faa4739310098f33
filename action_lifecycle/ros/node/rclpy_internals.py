# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
All uses of undocumented parts of rclpy, except those of tasks (task_release).

Checked with rclpy 7.1.11 (Jazzy), by the tests, and in the sources of 3.3.15 (Humble) and 8.0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
import contextlib
import inspect
import os
import sys
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.impl import rcutils_logger
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.impl.logging_severity import LoggingSeverity
from rclpy.node import Node
from rclpy.task import Future


def declared_parameters(node: Node) -> Collection[str]:
    """
    Return the names of the declared parameters.

    rclpy lists them only by a service: https://github.com/ros2/rclpy/issues/1097.
    """
    return node._parameters.keys()


def parameter_overrides(node: Node) -> dict[str, Any]:
    """
    Return the parameters with which the node was started, by name; it can be changed.

    rclpy gives no access to undeclared parameters.
    """
    return node._parameter_overrides


def lifecycle_state(node: Any) -> str:
    """Return the label of a lifecycle node's state; rclpy gives it only by a service."""
    return str(node._state_machine.current_state[1])


def refuse_impossible_transitions(node: Any) -> None:
    """
    Answer False to a transition that the state does not have.

    Before rclpy 8.0.0 it ends spin(): https://github.com/ros2/rclpy/issues/1209.
    """
    service = node._service_change_state
    change = service.callback

    def answer(request: Any, response: Any) -> Any:
        try:
            return change(request, response)
        except Exception as error:  # RCLError, which is in a private module of rclpy
            wanted = request.transition.label or request.transition.id
            node.get_logger().warning(
                f"transition {wanted} is not possible while '{lifecycle_state(node)}': {error}")
            response.success = False
            return response
    service.callback = answer


def log_quickly(logger: Any) -> None:
    """
    Have a logger find the caller of each line without reading source files.

    rclpy resolves paths and reads the source around the call, for 0.3 ms a line:
    https://github.com/rai-opensource/synchros2/pull/84. Lines with filters, such as `once`, are
    left to it. Lone surrogates, for which rclpy raises an error, become question marks.
    """
    log = logger.log
    own = os.path.realpath(__file__)
    if own not in rcutils_logger._internal_callers:
        rcutils_logger._internal_callers.append(own)
    passed = {__file__, rcutils_logger.__file__}

    def quick(message: str, severity: Any, **filters: Any) -> bool:
        message = str(message).encode('utf-8', 'replace').decode()
        if filters:
            return bool(log(message, severity, **filters))
        if not logger.is_enabled_for(severity):
            return False
        frame = sys._getframe(1)
        while frame.f_code.co_filename in passed and frame.f_back is not None:
            frame = frame.f_back
        code = frame.f_code
        rcutils_logger._rclpy.rclpy_logging_rcutils_log(
            LoggingSeverity(severity), logger.name, message, code.co_name,
            os.path.abspath(code.co_filename), frame.f_lineno)
        return True
    logger.log = quick


def drop_late_responses(service: Any) -> None:
    """
    Drop responses to requests that were pending when the service was destroyed.

    In rclpy they end spin(): https://github.com/ros2/ros2/issues/1351.
    """
    send = service.send_response

    def send_response(response: Any, header: Any) -> None:
        with contextlib.suppress(InvalidHandle):
            send(response, header)
    service.send_response = send_response


def replace_lookup(client: Any, lookup: Callable[[Callable[..., Future], int], Future]) -> None:
    """
    Have `lookup(original, number)` return the future for a response, by the request number.

    rclpy drops a response to a request that is not pending, and has no callback for it; its own
    action client only logs one: https://github.com/ros2/rclpy/pull/474.
    """
    original = client.get_pending_request
    client.get_pending_request = lambda number: lookup(original, number)


def take_message(subscription: Any) -> tuple[Any, dict[str, Any]] | None:
    """
    Take the next message of a subscription that is not spun, with its info; None if there is none.

    rclpy has no counterpart of rclcpp's `Subscription::take`.
    """
    handle = subscription.handle
    with handle:  # __enter__ returns None
        return handle.take_message(subscription.msg_type, subscription.raw)


def with_info(take: Callable[[Any, dict[str, Any]], None]) -> Callable[..., None]:
    """
    Return a subscription's callback that gets each message with its info, in every executor.

    The EventsExecutor of rclpy 7.1.11 passes both as one tuple. Where there are none, as in
    Humble, the info is empty.
    """
    def taken(message: Any, info: dict[str, Any] | None = None) -> None:
        if info is None:
            message, info = message if message.__class__ is tuple else (message, {})
        take(message, info)
    taken.__signature__ = inspect.signature(take)  # type: ignore[attr-defined]  # two arguments
    return taken


def lost_messages(subscription: Any) -> Callable[[], int]:
    """
    Return a function for the number of messages that the network has lost since its last call.

    It is asked, not told by an event of rclpy, whose handler is a waitable (see GuardedNode.keep).
    """
    kind = rclpy_implementation.rcl_subscription_event_type_t.RCL_SUBSCRIPTION_MESSAGE_LOST
    try:
        with subscription.handle:
            event = rclpy_implementation.EventHandle(subscription.handle, kind)
    except rclpy_implementation.UnsupportedEventTypeError:
        return lambda: 0

    def lost() -> int:
        with event:
            status = event.take_event()
        return 0 if status is None else int(status.total_count_change)
    return lost


def not_called(handle: Any) -> Any:
    """Stand for the execution of goals that are ended elsewhere; rclpy 9 refuses None."""
    raise NotImplementedError
