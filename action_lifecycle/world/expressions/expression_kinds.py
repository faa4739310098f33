# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Type inference: the kind of an expression's value, as far as known before there are samples.

A condition that is a number, or compares a string with a number, is refused when it is loaded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from .functions import CONSTANTS, Function, FUNCTIONS
from .value_types import Kind, kind_of, kinds_text, NUMERIC, TEXTUAL, widest

_ANY, _NUMBER, _VECTOR, _NUMBERS = Kind.ANY, Kind.NUMBER, Kind.VECTOR, Kind.NUMBERS
_TRUTH, _TRUTHS, _TEXT, _TEXTS = Kind.TRUTH, Kind.TRUTHS, Kind.TEXT, Kind.TEXTS
Tell = Callable[[ast.expr, str], Any]


def check(node: ast.expr, kinds: Mapping[str, Kind], condition: bool, fault: Tell) -> Kind:
    """
    Return the kind of a syntax tree, given the kinds of names (other names may be of any kind).

    `fault(node, message)` is called for each fault; `condition`: the result must be boolean.
    """
    walk = _Walk(kinds, fault)
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
    if isinstance(node, ast.Call):
        return _gives_number(node, kinds)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return kinds.get(node.value.id) is _VECTOR and not isinstance(
            node.slice, (ast.Slice, ast.Tuple))
    return isinstance(node, ast.BoolOp)


def _gives_number(node: ast.Call, kinds: Mapping[str, Kind]) -> bool:
    found = _called(node)
    if found is None:
        return False
    if isinstance(found.gives, Kind):
        return found.gives in (_NUMBER, _TRUTH)
    return all(is_number(item, kinds) for item in node.args) and found.kind(
        [_NUMBER] * len(node.args)) is _NUMBER


def _called(node: ast.Call) -> Function | None:
    return FUNCTIONS.get(node.func.id) if isinstance(node.func, ast.Name) else None


class _Walk:

    def __init__(self, kinds: Mapping[str, Kind], fault: Tell) -> None:
        self.kinds = kinds
        self.fault = fault

    def kind(self, node: ast.expr) -> Kind:
        found: Kind = getattr(self, '_' + type(node).__name__.lower(), lambda node: _ANY)(node)
        return found

    def truth(self, node: ast.expr) -> Kind:
        kind = self.kind(node)
        if kind not in (_TRUTH, _ANY):
            what = f"'{ast.unparse(node)}' is {kind.value}"
            hint = {_NUMBER: f', such as {ast.unparse(node)} > 0',
                    _TRUTHS: ': write any(…) or all(…)'}.get(kind, ', such as a comparison')
            self.fault(node, f'{what}; expected something true or false{hint}')
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
        return widest(kinds)

    def arithmetic(self, node: ast.expr) -> Kind:
        """Return the kind of an operand of arithmetic."""
        kind = self.kind(node)
        if kind in TEXTUAL and not isinstance(node, ast.Constant):
            self.fault(node, f"'{ast.unparse(node)}' is {kind.value}; a text has no arithmetic")
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
        if (kind in TEXTUAL and other in NUMERIC) or (
                kind in NUMERIC and other in TEXTUAL) or {kind, other} == TEXTUAL:
            self.clash(left, kind, right, other, 'they are never equal')

    def member(self, left: ast.expr, kind: Kind, right: ast.expr, other: Kind) -> None:
        if isinstance(right, (ast.List, ast.Tuple)):
            for item in right.elts:
                self.comparable(left, kind, item, self.kind(item))
        elif other in (_NUMBER, _TRUTH):
            self.fault(right, f"'{ast.unparse(right)}' is {other.value}; 'in' needs a list")
        elif (kind in TEXTUAL and other in NUMERIC) or (
                kind in NUMERIC and other in TEXTUAL):
            self.clash(left, kind, right, other, 'it is never in there')

    def clash(self, left: ast.expr, kind: Kind, right: ast.expr, other: Kind, why: str) -> None:
        self.fault(left, f"'{ast.unparse(left)}' is {kind.value}, '{ast.unparse(right)}' is "
                   f'{other.value}: {why}')

    def _call(self, node: ast.Call) -> Kind:
        kinds = [self.kind(argument) for argument in node.args]
        found = _called(node)
        if found is None:
            return _ANY  # another fault
        for argument, kind in zip(node.args, kinds):
            if kind is not _ANY and kind not in found.takes:
                self.fault(argument, f"'{ast.unparse(argument)}' is {kind.value}; expected "
                           + kinds_text(found.takes))
        return found.kind(kinds)

    def _subscript(self, node: ast.Subscript) -> Kind:
        kind = self.kind(node.value)
        if kind in (_NUMBER, _TRUTH):
            self.fault(node, f"'{ast.unparse(node.value)}' is {kind.value}, it has no elements")
            return _ANY
        if isinstance(node.slice, ast.Slice):
            return kind
        return {_VECTOR: _NUMBER, _TEXTS: _TEXT, _TRUTHS: _ANY}.get(kind, kind)

    def _list(self, node: ast.List | ast.Tuple) -> Kind:
        kinds = {self.kind(item) for item in node.elts}
        return _TEXTS if kinds == {_TEXT} else _VECTOR if kinds <= {_NUMBER} else _NUMBERS

    _tuple = _list
