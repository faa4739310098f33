# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Parameters with constraints that are checked before they are set.

rclpy checks types and ranges. This adds choices, own checks, messages for wrong values at start,
integers for doubles, and callbacks for changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from .rclpy_internals import declared_parameters, parameter_overrides
from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest

MAX_TEXT = 4096  #: maximum length of a string parameter, or of a string in a list
QOS = 'qos_overrides.'  #: parameters that rclpy declares when the topic is created
Check = Callable[[Any], str]


class _Rule(NamedTuple):
    choices: Collection[str]
    check: Check | None
    changed: Callable[[Any], None] | None


class NodeParameters:
    """The parameters of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._rules: dict[str, _Rule] = {}
        self._overrides: dict[str, Any] = parameter_overrides(node)
        node.add_on_set_parameters_callback(self._judge)

    def declare(
        self, name: str, default: Any, description: str, *, dynamic: bool = False,
        limits: tuple[float, float] | None = None, choices: Collection[str] = (),
        check: Check | None = None, changed: Callable[[Any], None] | None = None,
    ) -> None:
        """
        Declare a parameter; it is read-only after the start unless `dynamic`.

        `limits`: minimum and maximum; `choices`: the allowed strings; `check(value)` returns a
        fault or ''; `changed(value)` is called for new values, not for the first one. Raises
        LifecycleError if the value at start is not valid.
        """
        descriptor = ParameterDescriptor(
            description=description, read_only=not dynamic,
            additional_constraints=f"one of {', '.join(choices)}" if choices else '')
        if limits is not None and isinstance(default, float):
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(limits[0]), to_value=float(limits[1]))]
        elif limits is not None:
            descriptor.integer_range = [
                IntegerRange(from_value=int(limits[0]), to_value=int(limits[1]))]
        given = self._overrides.get(name)
        if isinstance(default, float) and given is not None and type(given.value) is int:
            self._overrides[name] = Parameter(name, value=float(given.value))
        self._rules[name] = _Rule(choices, check, None)  # no callback for the first value
        try:
            self._node.declare_parameter(name, default, descriptor)
        except InvalidParameterTypeException:
            raise LifecycleError(
                f"parameter '{name}': {given.value!r} is of type {given.type_.name.lower()}; "
                f'expected {Parameter(name, value=default).type_.name.lower()}') from None
        except InvalidParameterValueException as error:
            raise LifecycleError(f"parameter '{name}': {_reason(error)}") from None
        self._rules[name] = _Rule(choices, check, changed)

    def unknown(self, known: Collection[str] = (), *, qos: bool) -> list[str]:
        """
        Return a message for each unknown parameter with which the node was started.

        `known`: parameters of other nodes in the process, as they may share a file. `qos`: only
        QoS overrides, which are declared with their topics; else only other parameters.
        """
        declared = set(declared_parameters(self._node))
        return [
            f"parameter '{name}' is not known and changes nothing" + nearest(name, declared)
            for name in sorted(set(self._overrides) - declared - set(known))
            if name.startswith(QOS) is qos]

    def _judge(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        wrong = '; '.join(fault for fault in map(self._fault, parameters) if fault)
        if wrong:
            return SetParametersResult(successful=False, reason=wrong)
        for parameter in parameters:
            rule = self._rules.get(parameter.name)
            if rule is not None and rule.changed is not None:
                rule.changed(parameter.value)
        return SetParametersResult(successful=True)

    def _fault(self, parameter: Parameter) -> str:
        value = parameter.value
        for text in _texts(value):
            if len(text) > MAX_TEXT or '\0' in text:
                return (f'a string of {len(text)} characters; expected at most {MAX_TEXT}, '
                        'without NUL')
        rule = self._rules.get(parameter.name)
        if rule is None:
            return ''
        if rule.choices and value not in rule.choices:
            return (f"'{value}': expected one of {', '.join(rule.choices)}"
                    + nearest(str(value), rule.choices))
        return rule.check(value) if rule.check is not None else ''


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else ()


def _reason(error: Exception) -> str:
    """Return the reason in the message of an rclpy exception."""
    return str(error.args[0]).rpartition('Reason: ')[2].strip('. ')
