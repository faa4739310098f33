# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conditions: expressions over facts and parameters of several kinds, compiled and judged."""

from __future__ import annotations

import math
import random
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.world import Condition, parse_facts, WorldModel
from action_lifecycle.world.condition import compile_condition
from action_lifecycle.world.evidence import FactValue, Validity
from action_lifecycle.world.expressions.expression import compile_expression
from action_lifecycle.world.expressions.value_types import Kind

from .case import Case
from .expressions import condition, expression, NAMES, value_of
from .values import number, value

KINDS = {'number': Kind.NUMBER, 'vector': Kind.VECTOR, 'truth': Kind.TRUTH,
         'truths': Kind.TRUTHS, 'text': Kind.TEXT, 'texts': Kind.TEXTS, 'any': Kind.ANY}
FACTS = """\
estop: none
facts:
  gap: {constant: 0.02}
  tool: {constant: [0.1, 0.2, 0.3]}
  done: {constant: true}
  mode: {constant: auto}
  names: {constant: [a, b]}
  force: {expression: gap * 1000}
  seen: {topic: t, type: a/msg/B, field: data}
"""


class Conditions(Case):
    """Expressions with values of each name, and conditions that a world model judges."""

    def prepare(self) -> None:
        self.facts = parse_facts(FACTS)
        self.model = WorldModel(self.facts)
        self.kinds = {name: KINDS[kind] for name, kind in NAMES.items()}

    def make(self, rng: random.Random) -> Any:
        if rng.random() < 0.7:
            wanted = rng.random() < 0.7
            text = condition(rng) if wanted else expression(rng)
            values = [{name: value_of(rng, kind) for name, kind in NAMES.items()
                       if name in text} for _ in range(2)]
            return text, wanted, rng.random() < 0.6, values
        parameters = {
            name: rng.choice((number, value))(rng) if rng.random() < 0.2 else _parameter(rng, kind)
            for name, kind in NAMES.items() if name not in self.facts and rng.random() < 0.8}
        times = [number(rng) if rng.random() < 0.1 else rng.uniform(0.0, 2.0) for _ in range(3)]
        return condition(rng), parameters, times

    def check(self, given: Any) -> bool:
        if len(given) == 3:
            return self._judge(*given)
        text, wanted, known, values = given
        compiled = compile_expression(
            text, NAMES if known else None, condition=wanted,
            kinds=self.kinds if known else None)
        for entry in values:
            found = compiled.evaluate([entry.get(name) for name in compiled.names])
            if wanted:
                assert found is None or found is True or found is False, repr(found)
            else:
                fact = FactValue('x', found, 0.0, '', Validity.VALID)
                fact.numbers()
                fact.as_dict()
        return True

    def _judge(self, text: str, parameters: dict[str, Any], times: list[Any]) -> bool:
        asked = Condition('c', text, *times)
        faults = asked.faults()
        compile_condition(text, self.facts, parameters)
        try:
            verdict, evidence = self.model.evaluate([asked], 10.0, parameters)
        except DocumentError:
            if not faults:
                raise AssertionError('what is accepted when it is checked is refused when it is '
                                     'judged') from None
            raise
        for entry in evidence:
            entry.as_dict()
            assert math.isfinite(entry.held)
        self.model.expression(text, 10.0, parameters)
        return True


def _parameter(rng: random.Random, kind: str) -> Any:
    """Return a parameter as YAML has it."""
    made = value_of(rng, kind)
    if made is None or isinstance(made, (int, float, bool)):
        return made
    return str(made) if isinstance(made, str) else list(made) if isinstance(made, tuple) \
        else made.tolist()


CASE = Conditions()
