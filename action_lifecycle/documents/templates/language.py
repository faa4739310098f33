# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The template language: a subset of Jinja2, parsed by Jinja2 and evaluated here.

Jinja2 compiles templates to Python code, whose time and memory can't be limited. Here each
evaluated node, each element of a loop and all output spend steps of a budget, so time and memory
of any template are bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import nodes

from .functions import (
    binary,
    COMPARISONS,
    entry_of,
    FILTERS,
    member,
    METHODS,
    Missing,
    number,
    plain_list,
    shown,
    TemplateFault,
    TESTS,
    to_text,
)
from ..budget import Budget, MAX_DEPTH, spend, TOO_DEEP, walk
from ..suggestions import nearest

MAX_TEMPLATE = 4096
"""Maximum length of a template, in characters."""
_CACHED = 256
"""Maximum length of a template whose parsed form is cached, in characters."""
_ENVIRONMENT = jinja2.Environment(keep_trailing_newline=True, autoescape=False)
_LOOP = 'loop'
Bound = Mapping[str, Any]


class Template:
    """A parsed and checked template. `reads`: the names that it needs."""

    __slots__ = ('_body', '_single', 'reads', 'tree')

    def __init__(self, text: str) -> None:
        try:
            self.tree = _ENVIRONMENT.parse(text)
        except (SyntaxError, ValueError) as error:  # raised by Python for digits of other scripts
            raise jinja2.TemplateSyntaxError(f'not a number: {error}', 1) from error
        _check(self.tree, 0)
        self._body: list[nodes.Node] = list(self.tree.body)
        self.reads = frozenset(_reads(self._body, frozenset()))
        self._single = _single(self._body)

    def fill_in(self, names: Mapping[str, Any], budget: Budget) -> Any:
        """Return the value if the template is one expression, of any type, else a string."""
        run = _Run(names, budget)
        if self._single is None:
            pieces: list[str] = []
            run.output(self._body, pieces)
            return ''.join(pieces)
        value = run.value(self._single)
        walk(budget, value)
        _check_plain(value)
        return value


def parsed(text: str) -> Template:
    """Parse a template; raises ValueError or jinja2.TemplateError if it is not valid."""
    spend(len(text))
    if len(text) > MAX_TEMPLATE:
        raise TemplateFault(f'is longer than {MAX_TEMPLATE} characters')
    return _cached(text) if len(text) <= _CACHED else Template(text)


@lru_cache(maxsize=2048)
def _cached(text: str) -> Template:
    return Template(text)


def _single(body: list[nodes.Node]) -> nodes.Node | None:
    """Return the expression of a template that consists of one expression, else None."""
    found = [part for node in body for part in (
        node.nodes if isinstance(node, nodes.Output) else [node])
        if not (isinstance(part, nodes.TemplateData) and not part.data.strip())]
    if len(found) == 1 and isinstance(found[0], nodes.Expr) \
            and not isinstance(found[0], nodes.TemplateData):
        return found[0]
    return None


# Checks of the allowed syntax


def _check(node: nodes.Node, depth: int) -> None:
    """Raise `TemplateFault` for syntax that is not in the language."""
    if depth > MAX_DEPTH:
        raise TemplateFault(TOO_DEEP)
    for child in node.iter_child_nodes():
        kind = type(child)
        if isinstance(child, nodes.Stmt) and kind not in _STATEMENTS:
            raise TemplateFault(f"'{kind.__name__.lower()}' is not allowed, only if and for")
        if kind not in _KNOWN:
            raise TemplateFault(f"'{kind.__name__.lower()}' is not allowed in a template")
        check = _CHECKS.get(kind)
        if check is not None:
            check(child)
        _check(child, depth + 1)


def _check_for(node: nodes.For) -> None:
    if node.recursive:
        raise TemplateFault("'recursive' is not allowed")
    _targets(node)


def _check_filter(node: nodes.Filter) -> None:
    if node.node is None:
        raise TemplateFault("'filter' is not allowed, only if and for")
    _known(node.name, FILTERS, 'filter')
    _no_stars(node)


def _check_test(node: nodes.Test) -> None:
    _known(node.name, TESTS, 'test')
    if node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
        raise TemplateFault(f"the test '{node.name}' takes no argument")


def _check_call(node: nodes.Call) -> None:
    if not isinstance(node.node, nodes.Getattr):
        name = node.node.name if isinstance(node.node, nodes.Name) else ''
        raise TemplateFault(
            f"'{name}' can't be called; there are only methods: {', '.join(METHODS)}")
    _known(node.node.attr, METHODS, 'method')
    if node.kwargs:
        raise TemplateFault(f"'{node.node.attr}' takes no named argument")
    _no_stars(node)


def _check_const(node: nodes.Const) -> None:
    if isinstance(node.value, int):
        number(node.value)


def _known(name: str, known: Mapping[str, Any], what: str) -> None:
    if name not in known:
        raise TemplateFault(f"there is no {what} '{name}'" + nearest(name, known)
                            + f" (known: {', '.join(known)})")


def _no_stars(node: nodes.Filter | nodes.Call) -> None:
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        raise TemplateFault("'*' and '**' are not allowed before an argument")


def _targets(node: nodes.For) -> list[str]:
    """Return the loop variables."""
    target = node.target
    names = target.items if isinstance(target, nodes.Tuple) else [target]
    if not all(isinstance(name, nodes.Name) for name in names):
        raise TemplateFault("a loop takes a name, or names with ',' between them")
    return [name.name for name in names if isinstance(name, nodes.Name)]


def _reads(body: list[nodes.Node], bound: frozenset[str]) -> Iterator[str]:
    """Yield the names that these nodes read, except the variables of enclosing loops."""
    for node in body:
        if isinstance(node, nodes.Name):
            if node.name not in bound:
                yield node.name
        elif isinstance(node, nodes.For):
            yield from _reads([node.iter, *node.else_], bound)
            inner = bound | {*_targets(node), _LOOP}
            yield from _reads([*node.body, *([node.test] if node.test else [])], inner)
        else:
            yield from _reads(list(node.iter_child_nodes()), bound)


# Evaluation


class _Run:
    """Evaluates one template once."""

    def __init__(self, names: Mapping[str, Any], budget: Budget) -> None:
        self.names = names
        self.bound: dict[str, Any] = {}  # loop variables
        self.budget = budget

    def output(self, body: list[nodes.Node], pieces: list[str]) -> None:
        """Append the output of these nodes."""
        for node in body:
            self.budget.spend()
            if isinstance(node, nodes.Output):
                for part in node.nodes:
                    pieces.append(to_text(self.value(part), self.budget))
            elif isinstance(node, nodes.If):
                self.branch(node, pieces)
            else:
                assert isinstance(node, nodes.For)
                self.loop(node, pieces)

    def branch(self, node: nodes.If, pieces: list[str]) -> None:
        for one in (node, *node.elif_):
            if self.value(one.test):
                self.output(one.body, pieces)
                return
        self.output(node.else_, pieces)

    def loop(self, node: nodes.For, pieces: list[str]) -> None:
        names = _targets(node)
        outside = self.bound
        items = plain_list(self.budget, self.value(node.iter))
        if node.test is not None:
            items = [item for item in items if self.is_chosen(node.test, names, item, outside)]
        if not items:
            self.output(node.else_, pieces)
        for index, item in enumerate(items):
            self.bound = {**outside, **_unpacked(names, item), _LOOP: {
                'index': index + 1, 'index0': index, 'first': index == 0,
                'last': index + 1 == len(items), 'length': len(items),
                'revindex': len(items) - index, 'revindex0': len(items) - index - 1}}
            self.budget.spend(5)
            self.output(node.body, pieces)
        self.bound = outside

    def is_chosen(self, test: nodes.Node, names: list[str], item: Any, outside: Bound) -> bool:
        self.bound = {**outside, **_unpacked(names, item)}
        self.budget.spend(3)
        chosen = bool(self.value(test))
        self.bound = dict(outside)
        return chosen

    def value(self, node: nodes.Node) -> Any:
        """Return the value of an expression; raises `TemplateFault` if a name is undefined."""
        found = self.get(node)
        if found.__class__ is Missing:
            raise TemplateFault(found.message)
        return found

    def get(self, node: nodes.Node) -> Any:
        """Return the value of an expression, or Missing."""
        self.budget.left -= 1
        if self.budget.left < 0:
            raise self.budget.exceeded()
        return _EXPRESSIONS[type(node)](self, node)

    def name(self, node: nodes.Name) -> Any:
        if node.name in self.bound:
            return self.bound[node.name]
        if node.name in self.names:
            return self.names[node.name]
        return Missing(f"'{node.name}' is undefined")

    def const(self, node: nodes.Const | nodes.TemplateData) -> Any:
        return node.data if isinstance(node, nodes.TemplateData) else node.value

    def list(self, node: nodes.List | nodes.Tuple) -> Any:  # noqa: A003
        return [self.value(item) for item in node.items]

    def dict(self, node: nodes.Dict) -> Any:  # noqa: A003
        return {self.value(pair.key): self.value(pair.value) for pair in node.items}

    def getattr(self, node: nodes.Getattr) -> Any:  # noqa: A003
        return entry_of(self.value(node.node), node.attr)

    def getitem(self, node: nodes.Getitem) -> Any:
        value = self.value(node.node)
        if not isinstance(node.arg, nodes.Slice):
            return entry_of(value, self.value(node.arg))
        if not isinstance(value, (str, list, tuple)):
            raise TemplateFault(f'{shown(value)} has no parts from … to')
        found = value[slice(*(
            None if part is None else self.value(part)
            for part in (node.arg.start, node.arg.stop, node.arg.step)))]
        self.budget.spend(len(found))
        return found

    def binary(self, node: nodes.BinExpr) -> Any:
        return binary(node.operator, self.value(node.left), self.value(node.right), self.budget)

    def unary(self, node: nodes.UnaryExpr) -> Any:
        value = self.value(node.node)
        if isinstance(node, nodes.Not):
            return not value
        return number(-number(value) if isinstance(node, nodes.Neg) else number(value))

    def either(self, node: nodes.And | nodes.Or) -> Any:
        left = self.value(node.left)
        return left if bool(left) == isinstance(node, nodes.Or) else self.value(node.right)

    def concat(self, node: nodes.Concat) -> Any:
        return ''.join(to_text(self.value(item), self.budget) for item in node.nodes)

    def compare(self, node: nodes.Compare) -> Any:
        left = self.value(node.expr)
        for operand in node.ops:
            right = self.value(operand.expr)
            walk(self.budget, left)
            walk(self.budget, right)
            if operand.op in ('in', 'notin'):
                if member(left, right) != (operand.op == 'in'):
                    return False
            elif not COMPARISONS[operand.op](left, right):
                return False
            left = right
        return True

    def condition(self, node: nodes.CondExpr) -> Any:
        if self.value(node.test):
            return self.get(node.expr1)
        if node.expr2 is None:
            return Missing("the 'if' has no 'else', and is false")
        return self.get(node.expr2)

    def filter(self, node: nodes.Filter) -> Any:  # noqa: A003
        assert node.node is not None
        value = self.get(node.node) if node.name in ('default', 'd') else self.value(node.node)
        return FILTERS[node.name](
            self.budget, value, *map(self.value, node.args),
            **{str(pair.key): self.value(pair.value) for pair in node.kwargs})

    def test(self, node: nodes.Test) -> Any:
        value = self.get(node.node)
        if value.__class__ is Missing and node.name not in ('defined', 'undefined'):
            raise TemplateFault(value.message)
        return TESTS[node.name](value)

    def call(self, node: nodes.Call) -> Any:
        assert isinstance(node.node, nodes.Getattr)
        return METHODS[node.node.attr](
            self.budget, self.value(node.node.node), *map(self.value, node.args))


def _unpacked(names: list[str], item: Any) -> Bound:
    if len(names) == 1:
        return {names[0]: item}
    if not isinstance(item, (list, tuple)) or len(item) != len(names):
        raise TemplateFault(f"{shown(item)} is not {len(names)} values for {', '.join(names)}")
    return dict(zip(names, item))


def _check_plain(value: Any) -> None:
    """Raise `TemplateFault` if a value is not plain data."""
    if isinstance(value, (list, tuple)):
        for item in value:
            _check_plain(item)
    elif isinstance(value, dict):
        for item in value.values():
            _check_plain(item)
    elif value is not None and not isinstance(value, (str, int, float, bytes, bytearray)):
        raise TemplateFault(f'becomes a {type(value).__name__}, expected plain data')


_STATEMENTS = (nodes.Output, nodes.If, nodes.For)
_EXPRESSIONS: dict[type[nodes.Node], Callable[[_Run, Any], Any]] = {
    nodes.Name: _Run.name, nodes.Const: _Run.const, nodes.TemplateData: _Run.const,
    nodes.List: _Run.list, nodes.Tuple: _Run.list, nodes.Dict: _Run.dict,
    nodes.Getattr: _Run.getattr, nodes.Getitem: _Run.getitem, nodes.Concat: _Run.concat,
    nodes.And: _Run.either, nodes.Or: _Run.either, nodes.Not: _Run.unary, nodes.Neg: _Run.unary,
    nodes.Pos: _Run.unary, nodes.Compare: _Run.compare, nodes.CondExpr: _Run.condition,
    nodes.Filter: _Run.filter, nodes.Test: _Run.test, nodes.Call: _Run.call,
    nodes.Add: _Run.binary, nodes.Sub: _Run.binary, nodes.Mul: _Run.binary,
    nodes.Div: _Run.binary, nodes.FloorDiv: _Run.binary, nodes.Mod: _Run.binary,
    nodes.Pow: _Run.binary}
_KNOWN = frozenset({*_STATEMENTS, *_EXPRESSIONS, nodes.Operand, nodes.Pair, nodes.Keyword,
                    nodes.Slice})
_CHECKS: dict[type[nodes.Node], Callable[[Any], None]] = {
    nodes.For: _check_for, nodes.Filter: _check_filter, nodes.Test: _check_test,
    nodes.Call: _check_call, nodes.Const: _check_const}
