# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The numbers in a condition that a fit can change.

A condition is taken as terms joined with `and`. A term that compares an expression of facts with
a number (`gap > 0.02`, `abs(x - 0.3) < 0.01`, `0.01 < gap < 0.05`), or with a number added to what
is no fact (`tool[2] > {{ clear }} - 0.02`), has a threshold; all other terms stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
import re

TEMPLATE = re.compile(r'\{\{.*?\}\}', re.DOTALL)
NUMBER = re.compile(r'(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])')
_SIGNS = {ast.Gt: 1, ast.GtE: 1, ast.Lt: -1, ast.LtE: -1}
_MIRRORED = {ast.Gt: -1, ast.GtE: -1, ast.Lt: 1, ast.LtE: 1}


@dataclass(frozen=True)
class Term:
    """
    A comparison of an expression with a number, `start` to `end` in the condition as written.

    `side`: the expression, as written. `sign` is 1 if it must be above the threshold, -1 if
    below; the threshold is `factor` times the number.
    """

    side: str
    sign: int
    factor: int
    start: int
    end: int
    number: float

    @property
    def level(self) -> float:
        """Return the number as a level: the term is true if `sign` times `side` is above it."""
        return self.sign * self.factor * self.number

    def number_at(self, level: float) -> float:
        """Return the number of a level."""
        return level * self.sign * self.factor + 0.0  # no -0.0


@dataclass(frozen=True)
class Split:
    """A condition: its terms, the other parts of the conjunction, and why parts are not fitted."""

    terms: tuple[Term, ...]
    rest: tuple[str, ...]
    left_alone: tuple[str, ...]


def split(text: str, reads_fact: Callable[[str], bool]) -> Split:
    """
    Return the parts of a condition as written, with templates.

    `reads_fact`: whether an expression, as written, reads a fact that is measured.
    """
    masked = TEMPLATE.sub(lambda found: 'T' + '_' * (len(found[0]) - 1), text).replace('\n', ' ')
    if '{%' in text:
        return Split((), (text,), ('statements of templates ({% … %}) are not fitted',))
    offset = len(masked) - len(masked.lstrip())
    try:
        tree = ast.parse(masked[offset:], mode='eval').body
    except (SyntaxError, ValueError, RecursionError):
        return Split((), (text,), ('it can not be split into terms',))
    columns = _Columns(text, masked[offset:], offset)
    terms: list[Term] = []
    rest: list[str] = []
    left_alone: list[str] = []
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) \
        else [tree]
    for part in parts:
        if not isinstance(part, ast.Compare):
            rest.append(columns.text(part))
            if any(isinstance(node, ast.Compare) and any(type(op) in _SIGNS for op in node.ops)
                   for node in ast.walk(part)):
                left_alone.append(f"'{columns.text(part)}': numbers inside 'or', 'not' and "
                                  'functions are not fitted')
            continue
        sides = [part.left, *part.comparators]
        for left, operator, right in zip(sides, part.ops, sides[1:]):
            term, why = _term(left, operator, right, columns, reads_fact)
            if term is not None:
                terms.append(term)
                continue
            rest.append(f'{columns.text(left)} {_OPERATORS[type(operator)]} '
                        f'{columns.text(right)}')
            if why:
                left_alone.append(f"'{rest[-1]}': {why}")
    return Split(tuple(terms), tuple(rest), tuple(left_alone))


_OPERATORS = {ast.Gt: '>', ast.GtE: '>=', ast.Lt: '<', ast.LtE: '<=', ast.Eq: '==',
              ast.NotEq: '!=', ast.In: 'in', ast.NotIn: 'not in', ast.Is: 'is',
              ast.IsNot: 'is not'}


class _Columns:
    """Source text of syntax nodes, whose columns count bytes of UTF-8."""

    def __init__(self, text: str, parsed: str, offset: int) -> None:
        self._text = text
        self._offset = offset
        self._parsed = parsed.encode()

    def span(self, node: ast.expr) -> tuple[int, int]:
        start = len(self._parsed[:node.col_offset].decode())
        end = len(self._parsed[:node.end_col_offset].decode())
        return start + self._offset, end + self._offset

    def text(self, node: ast.expr) -> str:
        start, end = self.span(node)
        return ' '.join(self._text[start:end].split())


def _term(
    left: ast.expr, operator: ast.cmpop, right: ast.expr, columns: _Columns,
    reads_fact: Callable[[str], bool],
) -> tuple[Term | None, str]:
    """Return the term of a comparison, or None and why its threshold is not fitted."""
    if type(operator) not in _SIGNS:
        return None, ''
    reads = reads_fact(columns.text(left)), reads_fact(columns.text(right))
    if reads == (True, True):
        return None, 'both sides are measured'
    if reads == (False, False):
        return None, ''
    side, limit = (left, right) if reads[0] else (right, left)
    sign = (_SIGNS if reads[0] else _MIRRORED)[type(operator)]
    text = columns.text(side)
    number = _number(limit)
    if number is not None:
        return Term(text, sign, 1, *columns.span(limit), number), ''
    if isinstance(limit, ast.BinOp) and isinstance(limit.op, (ast.Add, ast.Sub)):
        number = _number(limit.right)
        if number is not None:
            factor = 1 if isinstance(limit.op, ast.Add) else -1
            return Term(f'({text}) - ({columns.text(limit.left)})', sign, factor,
                        *columns.span(limit.right), number), ''
    return None, (f"its threshold '{columns.text(limit)}' is a parameter of the flow, or a "
                  'constant of the facts file; edit it there')


def _number(node: ast.expr) -> float | None:
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    if isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float)) \
            and not isinstance(inner.value, bool):
        return -float(inner.value) if negative else float(inner.value)
    return None


def with_numbers(text: str, terms: Sequence[Term], numbers: Sequence[str]) -> str:
    """Return the condition as written with other numbers at its terms."""
    for term, number in sorted(zip(terms, numbers), key=lambda pair: -pair[0].start):
        text = text[:term.start] + number + text[term.end:]
    return text


def number_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each number outside of templates, without its sign."""
    masked = TEMPLATE.sub(lambda found: 'T' * len(found[0]), text)
    for found in NUMBER.finditer(masked):
        yield found.span()


def shape(text: str) -> str:
    """Return a condition without spaces and signs, with `#` for each number."""
    return re.sub(r'[\s-]+', '', NUMBER.sub('#', text))
