# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Checks an expression, infers the kind of its value, and compiles it.

A condition that is a number, or compares a string with a number, is refused when it is loaded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from .functions import (
    CONSTANTS,
    count,
    flat,
    FUNCTIONS,
    known,
    limited,
    OPERATORS,
    ordered,
    power,
    Text,
    truth,
    vector,
)
from .syntax_hints import node_text, syntax_hint
from .value_types import Kind, kind_of, kinds_text, NUMERIC, TEXTUAL, widest
from ...documents.errors import DocumentError, Fault, LifecycleError
from ...documents.suggestions import nearest

UNKNOWN_NAME = 'unknown name'
"""How the message of a fault about a name begins that is not known."""
MAX_LENGTH = 2000
MAX_DEPTH = 24
MAX_NODES = 400
MAX_EXPONENT = 16
MAX_ELEMENTS = 32_000_000
"""Maximum number of array elements that one evaluation processes, over all its parts."""

_HELPERS: dict[str, Any] = {
    '__builtins__': {}, '_known': known, '_ordered': ordered, '_truth': truth,
    '_vector': vector, '_power': power,
    '_text': Text, '_count': count, '_limited': limited, '_flat': flat,
    **{'_o_' + name: function for name, function in OPERATORS.items()},
}
"""Global names of compiled expressions; functions are added when they are first called."""
_SCALAR = (Kind.NUMBER, Kind.TRUTH)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)


class Leaf(NamedTuple):
    """A part below `and`, `or`, `not`; it is unknown if one of its `names` is unknown."""

    function: Callable[..., Any]
    names: tuple[int, ...]  #: indices into the expression's names


class Logic(NamedTuple):
    """`and`, `or` or `not` of other parts."""

    kind: str
    parts: tuple[Any, ...]


Compiled = tuple[Callable[..., Any], Any]
"""The code of an expression: as a function, and as a tree of Logic and Leaf."""


class Part(NamedTuple):
    """The checked code of a syntax node, and the kind of its value, as far as known."""

    code: ast.expr
    kind: Kind = Kind.ANY


class _Paths(ast.NodeTransformer):
    """Turns each path of fields, such as status.code or items[0].id, into one name."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:  # noqa: N802
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute) or (
                isinstance(inner, ast.Subscript) and isinstance(_number(inner.slice), int)):
            inner = inner.value
        if not isinstance(inner, ast.Name):
            return node
        return ast.copy_location(ast.Name(ast.unparse(node), ast.Load()), node)


class Compiler:
    """Checks the syntax tree and rewrites it to the code that is executed."""

    def __init__(self, text: str, names: Collection[str] | None, source: str,
                 kinds: Mapping[str, Kind], dotted: bool = False,
                 ordered: Collection[str] = ()) -> None:
        self.text = text
        self.ordered = ordered  #: names of values that may be infinite
        self.dotted = dotted  #: names may be paths, such as status.code
        self.known_names = names
        self.source = source
        self.kinds = kinds
        self.faults: list[Fault] = []
        self.kind_faults: list[Fault] = []  #: reported if there are no other faults
        self.used: dict[str, int] = {}
        self.nodes = 0

    def compile(  # noqa: A003
        self, condition: bool
    ) -> tuple[tuple[str, ...], Kind, Callable[[], Compiled]]:
        """
        Return the names that are read, the kind of the value, and a function that compiles.

        `condition`: the result must be boolean. Raises DocumentError with all faults.
        """
        tree = self.parse()
        self.most = MAX_ELEMENTS // max(1, sum(isinstance(node, ast.expr)
                                               for node in ast.walk(tree)))
        fast, kind = self.rewrite(tree, condition, 0)
        if self.faults or self.kind_faults:
            raise DocumentError(self.faults or self.kind_faults)
        names = tuple(self.used)

        def compiled() -> Compiled:
            self.nodes = 0  # the leaves are rewritten once more
            return self.function(fast, names), self.logic(tree, condition)

        return names, kind, compiled

    def parse(self) -> ast.expr:
        if not self.text.strip():
            self.give_up(1, 'is empty')
        if len(self.text) > MAX_LENGTH:
            self.give_up(1, f'longer than {MAX_LENGTH} characters')
        line = self.text.replace('\n', ' ')
        stripped = line.lstrip()
        self.offset = len(line) - len(stripped) + 1
        try:
            tree = ast.parse(stripped, mode='eval').body
            return _Paths().visit(tree) if self.dotted else tree
        except SyntaxError as error:
            column = (error.offset or len(stripped)) + self.offset - 1
            self.give_up(min(column, max(1, len(line))), syntax_hint(stripped) or error.msg)
        except (RecursionError, MemoryError):
            self.give_up(1, f'nested deeper than {MAX_DEPTH} levels')
        except ValueError as error:
            self.give_up(1, str(error))

    def give_up(self, column: int, message: str) -> NoReturn:
        raise DocumentError([*self.faults, Fault(self.source, 1, column, message)])

    def fault(self, node: ast.expr, message: str) -> Part:
        self.faults.append(Fault(self.source, 1, node.col_offset + self.offset, message))
        return Part(ast.Constant(value=0))

    def kind_fault(self, node: ast.expr, message: str) -> None:
        self.kind_faults.append(Fault(self.source, 1, node.col_offset + self.offset, message))

    def function(self, body: ast.expr, names: Sequence[str]) -> Callable[..., Any]:
        arguments = ast.arguments(
            posonlyargs=[], args=[ast.arg(arg=name) for name in names], kwonlyargs=[],
            kw_defaults=[], defaults=[])
        code = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
        # the code only contains nodes made by rewrite()
        made: Callable[..., Any] = eval(compile(code, self.source, 'eval'), _HELPERS)
        return made

    def logic(self, node: ast.expr, condition: bool) -> Any:
        """Return the tree of `and`, `or`, `not` with compiled leaves."""
        if isinstance(node, ast.BoolOp):
            kind = 'and' if isinstance(node.op, ast.And) else 'or'
            return Logic(kind, tuple(self.logic(value, True) for value in node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Logic('not', (self.logic(node.operand, True),))
        names = tuple(dict.fromkeys(
            part.id for part in ast.walk(node)
            if isinstance(part, ast.Name) and part.id in self.used))
        body = self.rewrite(node, condition, 0).code
        return Leaf(self.function(body, names), tuple(self.used[name] for name in names))

    def rewrite(self, node: ast.expr, truth: bool, depth: int) -> Part:
        """Return the checked code of a node and its kind; `truth`: it must be boolean."""
        self.nodes += 1
        if depth > MAX_DEPTH:
            self.give_up(node.col_offset + self.offset, f'nested deeper than {MAX_DEPTH} levels')
        if self.nodes > MAX_NODES:
            self.give_up(node.col_offset + self.offset, f'more than {MAX_NODES} parts')
        method = getattr(self, '_' + type(node).__name__.lower(), None)
        if method is None:
            return self.fault(node, f'{node_text(node)} is not allowed in an expression')
        part: Part = method(node, truth, depth + 1)
        if not truth:
            return part
        if part.kind not in (Kind.TRUTH, Kind.ANY):
            hint = {Kind.NUMBER: f', such as {ast.unparse(node)} > 0',
                    Kind.TRUTHS: ': write any(…) or all(…)'}.get(
                        part.kind, ', such as a comparison')
            self.kind_fault(node, f"'{ast.unparse(node)}' is {part.kind.value}; "
                            f'expected something true or false{hint}')
        certain = isinstance(node, (ast.BoolOp, ast.UnaryOp, ast.Constant))
        return Part(part.code if certain else _call('_truth', part.code), Kind.TRUTH)

    def _boolop(self, node: ast.BoolOp, truth: bool, depth: int) -> Part:
        values = [self.rewrite(value, True, depth).code for value in node.values]
        return Part(ast.BoolOp(node.op, values), Kind.TRUTH)

    def _unaryop(self, node: ast.UnaryOp, truth: bool, depth: int) -> Part:
        if isinstance(node.op, ast.Not):
            operand = self.rewrite(node.operand, True, depth)
            return Part(ast.UnaryOp(node.op, operand.code), Kind.TRUTH)
        if isinstance(node.op, ast.Invert):
            return self.fault(node, "'~' is not allowed in an expression")
        self.no_truth(node, truth)
        operand = self.number(node.operand, depth)
        return Part(ast.UnaryOp(node.op, operand.code), widest([operand.kind]))

    def _binop(self, node: ast.BinOp, truth: bool, depth: int) -> Part:
        self.no_truth(node, truth)
        if not isinstance(node.op, _OPERATORS):
            return self.fault(node, f"operator '{node_text(node.op)}' is not allowed")
        for operand in (node.left, node.right):
            if isinstance(operand, ast.Constant) and isinstance(operand.value, str):
                self.fault(operand, 'a text has no arithmetic')
        left = self.number(node.left, depth)
        if isinstance(node.op, ast.Pow):
            exponent = _number(node.right)
            if exponent is None or not abs(exponent) <= MAX_EXPONENT:
                return self.fault(
                    node.right, f'an exponent must be a number of at most {MAX_EXPONENT}')
            return Part(self.limited('_power', left.code, ast.Constant(value=exponent)),
                        widest([left.kind]))
        right = self.number(node.right, depth)
        code = ast.BinOp(left.code, node.op, right.code) if _are_scalar(left, right) \
            else self.limited('_o_' + type(node.op).__name__, left.code, right.code)
        return Part(code, widest([left.kind, right.kind]))

    def number(self, node: ast.expr, depth: int) -> Part:
        """Return an operand of arithmetic."""
        part = self.term(node, depth)
        if part.kind not in TEXTUAL:
            return part
        self.kind_fault(
            node, f"'{ast.unparse(node)}' is {part.kind.value}; a text has no arithmetic")
        return Part(part.code)

    def term(self, node: ast.expr, depth: int) -> Part:
        """Return an operand or argument; booleans become 1 or 0, since numpy adds them as `or`."""
        code, kind = self.rewrite(node, False, depth)
        plain = isinstance(node, (ast.Constant, ast.BinOp)) or (
            isinstance(node, ast.Name) and kind in (Kind.NUMBER, Kind.VECTOR))
        return Part(code if plain else _call('_count', code), kind)

    def limited(self, function: str, *arguments: ast.expr) -> ast.expr:
        """Return a call that raises NoValue if the arrays are too large."""
        return _call('_limited', ast.Constant(value=self.most),
                     ast.Name(function, ast.Load()), *arguments)

    def _compare(self, node: ast.Compare, truth: bool, depth: int) -> Part:
        left, first = node.left, self.operand(node.left, depth)
        operands = [first]
        kinds: set[Kind] = set()  # of elementwise comparisons; `in` gives one boolean
        for operator, right in zip(node.ops, node.comparators):
            if not isinstance(operator, _COMPARISONS):
                return self.fault(right, "'is' is not allowed; compare with ==")
            if isinstance(operator, (ast.In, ast.NotIn)):
                second = self.container(left, first.kind, right, depth)
            else:
                second = self.operand(right, depth)
                self.check_comparable(left, first.kind, right, second.kind)
                kinds |= {first.kind, second.kind}
            operands.append(second)
            left, first = right, second
        codes = [operand.code for operand in operands]
        code: ast.expr = ast.Compare(codes[0], node.ops, codes[1:]) if _are_scalar(*operands) \
            else self.of_arrays(node.ops, codes)
        if kinds & {Kind.ANY, Kind.NUMBERS}:
            return Part(code)
        return Part(code, Kind.TRUTHS if kinds & {Kind.VECTOR, Kind.TRUTHS} else Kind.TRUTH)

    def of_arrays(self, operators: list[ast.cmpop], operands: list[ast.expr]) -> ast.expr:
        """Return a comparison of operands that may be arrays."""
        if len(operands) == 2 and not isinstance(operators[0], (ast.In, ast.NotIn)):
            return self.limited('_o_' + type(operators[0]).__name__, *operands)
        flat: list[ast.expr] = [
            part if isinstance(part, ast.Tuple) else _call('_flat', part) for part in operands]
        return ast.Compare(flat[0], operators, flat[1:])

    def operand(self, node: ast.expr, depth: int) -> Part:
        """Return an operand of a comparison; a NaN raises NoValue, since it compares as false."""
        code, kind = self.rewrite(node, False, depth)
        return Part(self.checked(node, code), kind)

    def checked(self, node: ast.expr, code: ast.expr, bound: bool = True) -> ast.expr:
        """
        Return the code of a value that raises NoValue if it is NaN, or infinite without an excuse.

        `bound`: the constant `inf` may be the value.
        """
        signed = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(signed, (ast.Name, ast.Constant, ast.Subscript)) and (
                bound or getattr(signed, 'id', '') not in CONSTANTS):
            return code  # no fact has such a value
        infinite = any(isinstance(part, ast.Name) and part.id in self.ordered
                       for part in ast.walk(node))
        return _call('_ordered' if infinite else '_known', code)

    def container(self, left: ast.expr, kind: Kind, right: ast.expr, depth: int) -> Part:
        """Return the right operand of `in`; `kind`: that of the left one."""
        if isinstance(right, (ast.List, ast.Tuple)):
            items = [self.rewrite(item, False, depth) for item in right.elts]
            for item, part in zip(right.elts, items):
                self.check_comparable(left, kind, item, part.kind)
            return Part(ast.Tuple([part.code for part in items], ast.Load()), _kind_of_list(items))
        part = self.operand(right, depth)
        if part.kind in _SCALAR:
            self.kind_fault(
                right, f"'{ast.unparse(right)}' is {part.kind.value}; 'in' needs a list")
        elif {kind, part.kind} != TEXTUAL:  # a text may be in several texts
            self.check_comparable(left, kind, right, part.kind, 'it is never in there')
        return part

    def check_comparable(self, left: ast.expr, kind: Kind, right: ast.expr, other: Kind,
                         why: str = 'they are never equal') -> None:
        if (kind in TEXTUAL and other in NUMERIC) or (
                kind in NUMERIC and other in TEXTUAL) or {kind, other} == TEXTUAL:
            self.kind_fault(left, f"'{ast.unparse(left)}' is {kind.value}, "
                            f"'{ast.unparse(right)}' is {other.value}: {why}")

    def _constant(self, node: ast.Constant, truth: bool, depth: int) -> Part:
        value = node.value
        if truth and not isinstance(value, bool):
            return self.fault(node, 'expected something true or false, such as a comparison')
        if not isinstance(value, (bool, int, float, str)):
            return self.fault(node, f'{value!r} is not allowed in an expression')
        if isinstance(value, int) and abs(value) > 2 ** 63:
            return self.fault(node, 'a number beyond 64 bits')
        code = ast.Constant(value=value)
        return Part(_call('_text', code) if isinstance(value, str) else code, kind_of(value))

    def _name(self, node: ast.Name, truth: bool, depth: int) -> Part:
        name = node.id
        if self.known_names is None or name in self.known_names:
            self.used.setdefault(name, len(self.used))
            return Part(ast.Name(name, ast.Load()),
                        self.kinds.get(name, kind_of(CONSTANTS.get(name))))
        if name in CONSTANTS:
            return self._constant(
                ast.copy_location(ast.Constant(value=CONSTANTS[name]), node), truth, depth)
        if name in FUNCTIONS:
            return self.fault(node, f"'{name}' is a function; write {name}(…)")
        return self.fault(node, f"{UNKNOWN_NAME} '{name}'" + nearest(
            name, {*self.known_names, *FUNCTIONS, *CONSTANTS}))

    def _call(self, node: ast.Call, truth: bool, depth: int) -> Part:
        name = node.func.id if isinstance(node.func, ast.Name) else ''
        try:
            found = FUNCTIONS.load(name)
        except LifecycleError as error:
            return self.fault(node, str(error))
        if found is None:
            names = FUNCTIONS.names()
            return self.fault(node, f"call of '{name or node_text(node.func)}' is not allowed"
                              + nearest(name, names) + f" (functions: {', '.join(names)})")
        if node.keywords or not found.fewest <= len(node.args) <= found.most:
            count = str(found.fewest) if found.fewest == found.most \
                else f'{found.fewest} to {found.most}'
            return self.fault(node, f"'{name}' takes {count} argument(s)")
        if truth and found.gives is not Kind.TRUTH:
            return self.fault(node, f"'{name}' gives a number; expected something true or false")
        _HELPERS['_f_' + name] = found.call
        arguments = [self.term(value, depth) for value in node.args]
        for argument, part in zip(node.args, arguments):
            if part.kind is not Kind.ANY and part.kind not in found.takes:
                self.kind_fault(argument, f"'{ast.unparse(argument)}' is {part.kind.value}; "
                                f'expected {kinds_text(found.takes)}')
        codes = [part.code if len(arguments) == 1 else self.checked(argument, part.code, False)
                 for argument, part in zip(node.args, arguments)]  # the result may be finite
        code = _call('_f_' + name, *codes) if _are_scalar(*arguments) \
            else self.limited('_f_' + name, *codes)
        return Part(code, found.kind([part.kind for part in arguments]))

    def _subscript(self, node: ast.Subscript, truth: bool, depth: int) -> Part:
        index = self.index(node.slice)
        value, kind = self.rewrite(node.value, False, depth)
        if kind in _SCALAR:
            self.kind_fault(
                node, f"'{ast.unparse(node.value)}' is {kind.value}, it has no elements")
            kind = Kind.ANY
        elif not isinstance(node.slice, ast.Slice):
            kind = {Kind.VECTOR: Kind.NUMBER, Kind.TEXTS: Kind.TEXT, Kind.TRUTHS: Kind.ANY}.get(
                kind, kind)
        return Part(ast.Subscript(value, index, ast.Load()), kind)

    def index(self, node: ast.expr) -> ast.expr:
        """Return an index: an integer or a slice, or several of them."""
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.index(item) for item in node.elts], ast.Load())
        if isinstance(node, ast.Slice):
            return ast.Slice(*(None if part is None else self.index(part)
                               for part in (node.lower, node.upper, node.step)))
        value = _number(node)
        if not isinstance(value, int):
            return self.fault(node, 'an index must be a whole number').code
        return ast.Constant(value=value)

    def _list(self, node: ast.List | ast.Tuple, truth: bool, depth: int) -> Part:
        self.no_truth(node, truth)
        items = [self.rewrite(item, False, depth) for item in node.elts]
        return Part(_call('_vector', ast.Constant(value=self.most),
                          *(item.code for item in items)), _kind_of_list(items))

    _tuple = _list

    def no_truth(self, node: ast.expr, truth: bool) -> None:
        if truth:
            self.fault(node, 'gives a number; expected something true or false')


def _kind_of_list(items: Sequence[Part]) -> Kind:
    kinds = {item.kind for item in items}
    return Kind.TEXTS if kinds == {Kind.TEXT} else \
        Kind.VECTOR if kinds <= {Kind.NUMBER} else Kind.NUMBERS


def _are_scalar(*parts: Part) -> bool:
    """Whether the values are certainly numbers or booleans, not arrays."""
    return all(part.kind in _SCALAR for part in parts)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _number(node: ast.expr) -> int | float | None:
    """Return the value of a literal number with an optional sign, else None."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) \
            and not isinstance(node.value, bool):
        return sign * node.value
    return None
