# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Expressions over facts: a subset of Python, checked when loaded and compiled once.

Allowed: numbers, strings, `true`/`false`, names of facts and parameters, `[1, 2, 3]` (a vector),
`+ - * / // % **`, comparisons (also chained), `in`, `and or not`, indices and slices, and the
functions in `FUNCTIONS`. An exponent must be a literal of at most 16. Everything else is a fault
with its column.

Comparisons and arithmetic with an unknown fact are unknown; `and`, `or` and `not` follow Kleene's
three-valued logic (`true or unknown` is true). A NaN, a division by zero, an index out of range
and operands of unsuitable types give unknown, too, and so does an infinity that is not computed
from an ordered fact. Conditions must consist of comparisons, `any`,
`all` and boolean facts.

Angles are in rad, everything else is in the units of the facts.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
import functools
import itertools
import math
import re
import threading
from typing import Any

from .compiler import Compiled, Compiler, Leaf
from .functions import CONSTANTS, FUNCTIONS, Text
from .value_types import Kind

NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]*\Z')  # valid names of facts and parameters
TRIALS = 1_000
"""Maximum number of combinations of values with which a condition is tried."""
TRIED = (0.0, *(sign * value for sign in (1, -1)
                for value in (0.5, 1.0, math.pi / 2, math.pi, 10.0, 1e3, 1e100, math.inf)))
INFINITE = (math.inf, -math.inf)
_OR_NOT = re.compile(r'\b(or|not)\b')


def is_reserved(name: str) -> bool:
    """Whether a name has a meaning in expressions, so that no fact can have it."""
    return name in FUNCTIONS or name in CONSTANTS


class Expression:
    """
    A checked and compiled expression.

    `names`: the facts and parameters that it reads, in the order of the arguments of `evaluate`.
    `kind`: the kind of its value, as far as known. `compiled()` returns its code, as a function
    and as a tree of `and`, `or`, `not`; it is called at the first evaluation.
    """

    __slots__ = ('_compiled', '_fast', '_tree', 'error', 'kind', 'names', 'text')

    def __init__(self, text: str, names: tuple[str, ...], kind: Kind,
                 compiled: Callable[[], Compiled]) -> None:
        self.text = text
        self.names = names
        self.kind = kind
        self._compiled: Callable[[], Compiled] | None = compiled
        self._fast: Callable[..., Any]
        self._tree: Any
        self.error = ''  #: why the last result was unknown with all values known

    def evaluate(self, values: Sequence[Any]) -> Any:
        """Return the result for these values of `names`; None stands for unknown."""
        if self._compiled is not None:
            self._fast, self._tree = self._compiled()
            self._compiled = None
        for value in values:
            if value is None:
                break
        else:
            try:
                return self._fast(*values)
            except Exception:
                pass  # evaluated as a tree below, as only a part may be unknown
        self.error = ''
        return self._kleene(self._tree, values)

    def is_certain(self, known: Mapping[str, Any]) -> bool:
        """Whether it is true with these values alone: then it shows nothing that is measured."""
        values = [known.get(name, CONSTANTS.get(name)) for name in self.names]
        if any(value is None for value in values) and not _OR_NOT.search(self.text):
            return False  # a part is unknown, and nothing but `or` and `not` can outweigh it
        return self.evaluate(values) is True

    def _kleene(self, node: Any, values: Sequence[Any]) -> Any:
        if isinstance(node, Leaf):
            arguments = [values[index] for index in node.names]
            if any(argument is None for argument in arguments):
                return None
            try:
                return node.function(*arguments)
            except Exception as error:
                self.error = str(error)
                return None
        results = [self._kleene(part, values) for part in node.parts]
        if node.kind == 'not':
            return None if results[0] is None else not results[0]
        decisive = node.kind == 'or'
        if any(result is not None and bool(result) == decisive for result in results):
            return decisive
        return None if any(result is None for result in results) else not decisive


def certain_fault(expression: Expression, known: Mapping[str, Any]) -> str:
    """
    Return why a condition is no evidence, given the values that no sensor measures.

    It is none if it is true without any fact, and none if it is true whatever the facts are, as
    far as trials can tell: with values of all kinds, and those in and beside its literals.
    """
    why = 'while all its facts are unknown' if expression.is_certain(known) else \
        'whatever its facts are' if _is_always_true(expression, known) else ''
    return why and (f'it is true {why}, so it shows nothing; expected a condition that needs a '
                    'fact to be true')


def _is_always_true(expression: Expression, known: Mapping[str, Any]) -> bool:
    """Whether it is true in all trials, of which there are at most `TRIALS`."""
    syntax = ast.parse(expression.text.replace('\n', ' ').strip(), mode='eval')
    literals = [node.value for node in ast.walk(syntax) if isinstance(node, ast.Constant)]
    numbers = {float(sign * value) for value in literals if isinstance(value, (int, float))
               for sign in (1, -1)}
    beside = {value + sign * max(1.0, abs(value)) * 1e-6 for value in numbers for sign in (1, -1)}
    tried = [True, False, *{*TRIED, *numbers, *beside},
             *(Text(value) for value in literals if isinstance(value, str))]
    choices = [[known[name]] if name in known else [CONSTANTS[name]] if name in CONSTANTS
               else tried for name in expression.names]
    # most facts have no value when they are infinite
    return math.prod(map(len, choices)) <= TRIALS and all(
        found is True or found is None and any(value in INFINITE for value in values
                                               if value.__class__ is float)
        for values in itertools.product(*choices) for found in [expression.evaluate(values)])


def compile_expression(
    text: str, names: Collection[str] | None, *, condition: bool = False,
    source: str = 'expression', kinds: Mapping[str, Kind] | None = None, dotted: bool = False,
    ordered: frozenset[str] = frozenset(),
) -> Expression:
    """
    Compile an expression over `names` (None: any); `condition`: it must be boolean.

    `kinds`: the known kinds of the values of names; operands that do not fit are faults.
    `dotted`: names may be paths of fields, such as status.code. `ordered`: names whose values may
    be infinite; what is computed from them may, too, and from others it is unknown. Raises
    DocumentError with all faults; their file is `source`, their columns count in `text`.
    """
    if not text.strip() and condition:
        return Expression(
            text, (), Kind.TRUTH, lambda: (lambda: True, Leaf(lambda: True, ())))
    return Expression(text, *_compiled(
        text, None if names is None else tuple(names), tuple((kinds or {}).items()), condition,
        source, dotted, ordered))


@functools.lru_cache(maxsize=2000)
def _compiled(
    text: str, names: tuple[str, ...] | None, kinds: tuple[tuple[str, Kind], ...],
    condition: bool, source: str, dotted: bool, ordered: frozenset[str],
) -> tuple[tuple[str, ...], Kind, Callable[[], Compiled]]:
    """Compile a text once: flows have the same conditions at each of their actions."""
    found, kind, code = Compiler(
        text, names, source, dict(kinds), dotted, ordered).compile(condition)
    lock = threading.Lock()
    made: list[Compiled] = []

    def once() -> Compiled:
        with lock:
            if not made:
                made.append(code())
        return made[0]

    return found, kind, once
