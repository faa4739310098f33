# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The expressions of a mapping file, evaluated with the facts of the bridge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from numbers import Real
from typing import Any

from action_lifecycle_msgs.msg import Fact, WorldState

from ...ros.conversions.evidence import fact_value, planned_fact
from ...ros.interfaces.qos import state_qos
from ...ros.node.lifecycle_node import ManagedNode
from ...world.expressions.constant_values import as_value
from ...world.expressions.expression import Expression


class FactValues:
    """
    The values of expressions, by place; create it in `configure`.

    `changed` is called in the executor's thread when facts have come. `limits`: smallest and
    largest value by place; others are not known. A value that is not known any more stays;
    `unknown` names these, with the facts that they need.
    """

    def __init__(
        self, node: ManagedNode, bridge: str, expressions: Mapping[str, Expression],
        changed: Callable[[], None], limits: Mapping[str, tuple[float, float]] = {},
    ) -> None:
        self._limits = limits
        self._expressions = expressions
        self._changed = changed
        self._declared: dict[str, Fact] = {}
        self._facts: dict[str, Fact] = {}
        self._last: dict[str, Any] = {}
        node.add_subscription(WorldState, f'{bridge}/facts', self._take, state_qos())
        node.add_subscription(
            WorldState, f'{bridge}/declared_facts', self._take_declared, state_qos())

    def value(self, place: str) -> Any:
        """Return the value of an expression, or the last one that was known; None if none was."""
        found = self._evaluate(place)
        if found is not None:
            self._last[place] = found
        return self._last.get(place)

    def has(self, place: str) -> bool:
        """Return whether an expression is given."""
        return place in self._expressions

    def is_excluded(self, place: str) -> bool:
        """Return whether a condition is known to be false now, or is not given."""
        return place not in self._expressions or self._evaluate(place) is False

    def number(self, place: str) -> float | None:
        """Return the value of an expression as a number; None if it is none."""
        try:
            found = float(self.value(place))
        except (TypeError, ValueError):
            return None
        return found if math.isfinite(found) else None

    def unknown(self) -> dict[str, str]:
        """Return why expressions have no value now, by place."""
        return {place: self._why(place, expression)
                for place, expression in self._expressions.items()
                if self._evaluate(place) is None}

    def _why(self, place: str, expression: Expression) -> str:
        value = self._given(place)
        if value is not None:
            return f"'{expression.text}' is {value}, expected {self._limits[place][0]:g} to " \
                   f'{self._limits[place][1]:g}'
        for name in expression.names:
            if self._declared and name not in self._declared:
                return f"there is no fact '{name}'"
            if name not in self._facts:
                return f"fact '{name}' is not read: it needs 'always: true' in the facts file"
            if self._facts[name].validity != Fact.VALID:
                return f"fact '{name}' is unknown or stale"
        return expression.error or f"'{expression.text}' has no value"

    def _evaluate(self, place: str) -> Any:
        """Return the value of an expression now; None if it is not known or out of limits."""
        found = self._given(place)
        return found if self._is_within(place, found) else None

    def _given(self, place: str) -> Any:
        expression = self._expressions.get(place)
        return None if expression is None else expression.evaluate(
            [self._of_fact(name) for name in expression.names])

    def _is_within(self, place: str, value: Any) -> bool:
        least, most = self._limits.get(place, (-math.inf, math.inf))
        return place not in self._limits or (
            isinstance(value, Real) and least <= value <= most)

    def _of_fact(self, name: str) -> Any:
        fact = self._facts.get(name)
        if fact is None or fact.validity != Fact.VALID:
            return None
        try:
            return as_value(fact_value(planned_fact(self._declared.get(name, fact), fact)))
        except ValueError:
            return None

    def _take(self, message: WorldState) -> None:
        self._facts = {fact.name: fact for fact in message.facts}
        self._changed()

    def _take_declared(self, message: WorldState) -> None:
        self._declared = {fact.name: fact for fact in message.facts}
        self._changed()
