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
Type inference: the kind of an expression's value, as far as known before there are samples.

So a condition that is a number, or compares a string with a number, is refused when it is loaded,
not while the robot moves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from .functions import CONSTANTS
from .paths import PathError
from .reducers import TIMING


class Kind(Enum):
    """The kind of a value; the enum values are the names in messages."""

    ANY = 'something'  #: not known
    NUMBER = 'a number'
    VECTOR = 'a list of numbers'
    NUMBERS = 'numbers'  #: of unknown shape
    TRUTH = 'a boolean'
    TRUTHS = 'several booleans'
    TEXT = 'a text'
    TEXTS = 'several texts'
    MESSAGE = 'a message whose fields are not all numbers'


_ANY, _NUMBER, _VECTOR, _NUMBERS = Kind.ANY, Kind.NUMBER, Kind.VECTOR, Kind.NUMBERS
_TRUTH, _TRUTHS, _TEXT, _TEXTS = Kind.TRUTH, Kind.TRUTHS, Kind.TEXT, Kind.TEXTS
_OF_TEXT = (_TEXT, _TEXTS)
_OF_NUMBERS = (_NUMBER, _VECTOR, _NUMBERS, _TRUTH, _TRUTHS)
_ELEMENTWISE = ('abs', 'round', 'sqrt', 'sin', 'cos', 'atan2')
_TO_NUMBER = ('sum', 'mean', 'norm', 'dist', 'angle', 'any', 'all', 'len')
Tell = Callable[[ast.expr, str], Any]


_TYPES = {Kind.NUMBER: 'number', Kind.TRUTH: 'boolean', Kind.TEXT: 'string'}
_ITEMS = {Kind.VECTOR: 'number', Kind.TRUTHS: 'boolean', Kind.TEXTS: 'string'}


def schema_of(kind: Kind) -> dict[str, Any]:
    """Return the JSON Schema of values of a kind."""
    if kind in _TYPES:
        return {'type': _TYPES[kind]}
    if kind in _ITEMS:
        return {'type': 'array', 'items': {'type': _ITEMS[kind]}}
    return {'type': 'array'} if kind is Kind.NUMBERS else {}


def kind_of(value: Any) -> Kind:
    """Return the kind of a constant or of a parameter from YAML or JSON."""
    if isinstance(value, (bool, np.bool_)):
        return _TRUTH
    if isinstance(value, (int, float)):
        return _NUMBER
    if isinstance(value, str):
        return _TEXT
    if isinstance(value, np.ndarray):
        return _VECTOR if value.ndim == 1 else _NUMBERS
    if isinstance(value, (list, tuple)) and value:
        kinds = {kind_of(item) for item in value}
        if kinds == {_TEXT}:
            return _TEXTS
        if kinds <= {_NUMBER, _TRUTH}:
            return _VECTOR
    return _ANY


def reduced(kind: Kind, elements: str, over_time: str) -> Kind:
    """Return the kind of a fact, from its field's; raises TypeError if it can't be reduced."""
    if over_time in TIMING:
        return _NUMBER
    if elements == 'count':
        kind = _NUMBER
    elif kind is Kind.MESSAGE:
        raise PathError(f'the field is {kind.value}: add the one to read to the path')
    elif elements != 'latest':
        kind = _of_elements(kind, elements)
    return kind if over_time in ('', 'latest') else _of_window(kind, over_time)


def _of_elements(kind: Kind, reducer: str) -> Kind:
    _no_text(kind, reducer)
    if reducer in ('any', 'all'):
        return _TRUTH
    if reducer in ('min', 'max'):
        return {_ANY: _ANY, _TRUTH: _TRUTH, _TRUTHS: _TRUTH}.get(kind, _NUMBER)
    return _NUMBER


def _of_window(kind: Kind, reducer: str) -> Kind:
    """Return the kind after a reduction over time, element by element."""
    _no_text(kind, reducer)
    if reducer in ('any', 'all'):
        return {_NUMBER: _TRUTH, _TRUTH: _TRUTH, _VECTOR: _TRUTHS, _TRUTHS: _TRUTHS}.get(
            kind, _ANY)
    if reducer in ('min', 'max'):
        return kind
    return {_TRUTH: _NUMBER, _TRUTHS: _VECTOR}.get(kind, kind)


def _no_text(kind: Kind, reducer: str) -> None:
    if kind in _OF_TEXT:
        raise TypeError(f"reducer '{reducer}' is for numbers, and the field is {kind.value}")


def check(node: ast.expr, kinds: Mapping[str, Kind], condition: bool, tell: Tell) -> Kind:
    """
    Return the kind of a syntax tree, given the kinds of names (other names may be of any kind).

    `tell(node, message)` is called for each fault; `condition`: the result must be boolean.
    """
    walk = _Walk(kinds, tell)
    return walk.truth(node) if condition else walk.kind(node)


def is_number(node: ast.expr, kinds: Mapping[str, Kind]) -> bool:
    """Whether the value of a syntax tree is certainly one number or boolean."""
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, str)
    if isinstance(node, ast.Name):
        return node.id in CONSTANTS or kinds.get(node.id) in (_NUMBER, _TRUTH)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand, kinds)
    if isinstance(node, ast.BinOp):
        return is_number(node.left, kinds) and is_number(node.right, kinds)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in _TO_NUMBER or all(is_number(item, kinds) for item in node.args)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return kinds.get(node.value.id) is _VECTOR and not isinstance(
            node.slice, (ast.Slice, ast.Tuple))
    return isinstance(node, ast.BoolOp)


class _Walk:

    def __init__(self, kinds: Mapping[str, Kind], tell: Tell) -> None:
        self.kinds = kinds
        self.tell = tell

    def kind(self, node: ast.expr) -> Kind:
        found: Kind = getattr(self, '_' + type(node).__name__.lower(), lambda node: _ANY)(node)
        return found

    def truth(self, node: ast.expr) -> Kind:
        kind = self.kind(node)
        if kind not in (_TRUTH, _ANY):
            what = f"'{ast.unparse(node)}' is {kind.value}"
            hint = {_NUMBER: f', such as {ast.unparse(node)} > 0',
                    _TRUTHS: ': write any(…) or all(…)'}.get(kind, ', such as a comparison')
            self.tell(node, f'{what}; expected something true or false{hint}')
        return _TRUTH

    def _constant(self, node: ast.Constant) -> Kind:
        return kind_of(node.value)

    def _name(self, node: ast.Name) -> Kind:
        if node.id in self.kinds:
            return self.kinds[node.id]
        return kind_of(CONSTANTS[node.id]) if node.id in CONSTANTS else _ANY

    def _boolop(self, node: ast.BoolOp) -> Kind:
        for value in node.values:
            self.truth(value)
        return _TRUTH

    def _unaryop(self, node: ast.UnaryOp) -> Kind:
        if isinstance(node.op, ast.Not):
            return self.truth(node.operand)
        return self.arithmetic(node.operand)

    def _binop(self, node: ast.BinOp) -> Kind:
        kinds = {self.arithmetic(node.left), self.arithmetic(node.right)}
        return _widest(kinds)

    def arithmetic(self, node: ast.expr) -> Kind:
        """Return the kind of an operand of arithmetic."""
        kind = self.kind(node)
        if kind in _OF_TEXT and not isinstance(node, ast.Constant):
            self.tell(node, f"'{ast.unparse(node)}' is {kind.value}; a text has no arithmetic")
            return _ANY
        return {_TRUTH: _NUMBER, _TRUTHS: _NUMBERS}.get(kind, kind)

    def _compare(self, node: ast.Compare) -> Kind:
        left, left_kind = node.left, self.kind(node.left)
        kinds: set[Kind] = set()  # of elementwise comparisons; `in` gives one boolean
        for operator, right in zip(node.ops, node.comparators):
            right_kind = self.kind(right)
            if isinstance(operator, (ast.In, ast.NotIn)):
                self.member(left, left_kind, right, right_kind)
            else:
                self.comparable(left, left_kind, right, right_kind)
                kinds |= {left_kind, right_kind}
            left, left_kind = right, right_kind
        if kinds & {_ANY, _NUMBERS}:
            return _ANY
        return _TRUTHS if kinds & {_VECTOR, _TRUTHS} else _TRUTH

    def comparable(self, left: ast.expr, kind: Kind, right: ast.expr, other: Kind) -> None:
        if (kind in _OF_TEXT and other in _OF_NUMBERS) or (
                kind in _OF_NUMBERS and other in _OF_TEXT) or {kind, other} == set(_OF_TEXT):
            self.clash(left, kind, right, other, 'they are never equal')

    def member(self, left: ast.expr, kind: Kind, right: ast.expr, other: Kind) -> None:
        if isinstance(right, (ast.List, ast.Tuple)):
            for item in right.elts:
                self.comparable(left, kind, item, self.kind(item))
        elif other in (_NUMBER, _TRUTH):
            self.tell(right, f"'{ast.unparse(right)}' is {other.value}; 'in' needs a list")
        elif (kind in _OF_TEXT and other in _OF_NUMBERS) or (
                kind in _OF_NUMBERS and other in _OF_TEXT):
            self.clash(left, kind, right, other, 'it is never in there')

    def clash(self, left: ast.expr, kind: Kind, right: ast.expr, other: Kind, why: str) -> None:
        self.tell(left, f"'{ast.unparse(left)}' is {kind.value}, '{ast.unparse(right)}' is "
                  f'{other.value}: {why}')

    def _call(self, node: ast.Call) -> Kind:
        name = node.func.id if isinstance(node.func, ast.Name) else ''
        kinds = [self.kind(argument) for argument in node.args]
        if name in ('any', 'all'):
            self.numeric(node, kinds)
            return _TRUTH
        if name == 'len':
            return _NUMBER
        if name in ('min', 'max'):
            return _NUMBER if all(kind in (_NUMBER, _VECTOR) for kind in kinds) else _ANY
        self.numeric(node, kinds)
        return _widest(set(kinds)) if name in _ELEMENTWISE else _NUMBER

    def numeric(self, node: ast.Call, kinds: list[Kind]) -> None:
        for argument, kind in zip(node.args, kinds):
            if kind in _OF_TEXT:
                self.tell(argument, f"'{ast.unparse(argument)}' is {kind.value}; expected numbers")

    def _subscript(self, node: ast.Subscript) -> Kind:
        kind = self.kind(node.value)
        if kind in (_NUMBER, _TRUTH):
            self.tell(node, f"'{ast.unparse(node.value)}' is {kind.value}, it has no elements")
            return _ANY
        if isinstance(node.slice, ast.Slice):
            return kind
        return {_VECTOR: _NUMBER, _TEXTS: _TEXT, _TRUTHS: _ANY}.get(kind, kind)

    def _list(self, node: ast.List | ast.Tuple) -> Kind:
        kinds = {self.kind(item) for item in node.elts}
        return _TEXTS if kinds == {_TEXT} else _VECTOR if kinds <= {_NUMBER} else _NUMBERS

    _tuple = _list


def _widest(kinds: set[Kind]) -> Kind:
    for kind in (_ANY, _NUMBERS, _VECTOR):
        if kind in kinds:
            return kind
    return _NUMBER
