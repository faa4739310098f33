# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Parameters that say what they may be, and are judged before they are set.

rclpy checks types and ranges; here are choices and checks of one's own, a sentence for what is
wrong at start, a whole number where a double is meant, and who is told of a change.
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

from ..engine.errors import LifecycleError, nearest

MAX_TEXT = 4096  #: characters of a parameter that is a text, or of each text in a list
QOS = 'qos_overrides.'  #: parameters that rclpy declares when the topic is created
Check = Callable[[Any], str]


class _Rule(NamedTuple):
    choices: Collection[str]
    check: Check | None
    changed: Callable[[Any], None] | None


class Parameters:
    """The parameters of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._rules: dict[str, _Rule] = {}
        self._overrides: dict[str, Any] = node._parameter_overrides
        node.add_on_set_parameters_callback(self._judge)

    def declare(
        self, name: str, default: Any, description: str, *, dynamic: bool = False,
        limits: tuple[float, float] | None = None, choices: Collection[str] = (),
        check: Check | None = None, changed: Callable[[Any], None] | None = None,
    ) -> None:
        """
        Declare a parameter; it can be set at start only, unless it is `dynamic`.

        `limits`: least and greatest; `choices`: the only texts it may be; `check(value)`: returns
        what is wrong, empty if nothing; `changed(value)` is told of a new value, not of the first.
        Raises LifecycleError when what the node was started with is none of that.
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
        self._rules[name] = _Rule(choices, check, None)  # nobody is told of the first value
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
        Return a sentence for each parameter that the node was started with and does not have.

        `known`: names that other nodes of the process have, for a file may be meant for all.
        `qos`: of the QoS overrides, which exist once their topics do; else of all others.
        """
        declared = set(self._node._parameters)
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
                return (f'a text of {len(text)} characters; expected at most {MAX_TEXT}, without '
                        'NUL')
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
    """Return what rclpy's exception says, without what it says around it."""
    return str(error.args[0]).rpartition('Reason: ')[2].strip('. ')
