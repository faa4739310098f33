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
and operands of unsuitable types give unknown, too. Conditions must consist of comparisons, `any`,
`all` and boolean facts.

Angles are in rad, everything else is in the units of the facts.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
import re
from typing import Any, NamedTuple, NoReturn

from .expression_kinds import check, is_number
from .functions import (
    CONSTANTS,
    count,
    flat,
    FUNCTIONS,
    known,
    limited,
    OPERATORS,
    power,
    Text,
    truth,
    vector,
)
from .syntax_hints import node_text, syntax_hint
from .value_types import Kind
from ...documents.errors import DocumentError, Fault, LifecycleError
from ...documents.suggestions import nearest

MAX_LENGTH = 2000
MAX_DEPTH = 24
MAX_NODES = 400
MAX_EXPONENT = 16
MAX_ELEMENTS = 32_000_000
"""Maximum number of array elements that one evaluation processes, over all its parts."""

NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]*\Z')  # valid names of facts and parameters

_HELPERS: dict[str, Any] = {
    '__builtins__': {}, '_known': known, '_truth': truth, '_vector': vector, '_power': power,
    '_text': Text, '_count': count, '_limited': limited, '_flat': flat,
    **{'_o_' + name: function for name, function in OPERATORS.items()},
}
"""Global names of compiled expressions; functions are added when they are first called."""
_NUMERIC = (Kind.NUMBER, Kind.VECTOR)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)


def is_reserved(name: str) -> bool:
    """Whether a name has a meaning in expressions, so that no fact can have it."""
    return name in FUNCTIONS or name in CONSTANTS


class Leaf(NamedTuple):
    """A part below `and`, `or`, `not`; it is unknown if one of its `names` is unknown."""

    function: Callable[..., Any]
    names: tuple[int, ...]  #: indices into the expression's names


class Logic(NamedTuple):
    """`and`, `or` or `not` of other parts."""

    kind: str
    parts: tuple[Any, ...]


class Expression:
    """
    A checked and compiled expression.

    `names`: the facts and parameters that it reads, in the order of the arguments of `evaluate`.
    `kind`: the kind of its value, as far as known. `compiled()` returns its code, as a function
    and as a tree of `and`, `or`, `not`; it is called at the first evaluation.
    """

    __slots__ = ('_compiled', '_fast', '_tree', 'error', 'kind', 'names', 'text')

    def __init__(self, text: str, names: tuple[str, ...], kind: Kind,
                 compiled: Callable[[], tuple[Callable[..., Any], Any]]) -> None:
        self.text = text
        self.names = names
        self.kind = kind
        self._compiled: Callable[[], tuple[Callable[..., Any], Any]] | None = compiled
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


class AnyName(Collection[str]):
    """A collection that contains every name, for use before the names are known."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def compile_expression(
    text: str, names: Collection[str], *, condition: bool = False, source: str = 'expression',
    kinds: Mapping[str, Kind] | None = None,
) -> Expression:
    """
    Compile an expression over `names` (`AnyName()`: any); `condition`: it must be boolean.

    `kinds`: the known kinds of the values of names; operands that do not fit are faults. Raises
    DocumentError with all faults; their file is `source`, their columns count in `text`.
    """
    compiler = _Compiler(text, names, source)
    if not text.strip() and condition:
        return Expression(
            text, (), Kind.TRUTH, lambda: (lambda: True, Leaf(lambda: True, ())))
    return compiler.compile(condition, kinds or {})


class _Compiler:
    """Checks the syntax tree and rewrites it to the code that is executed."""

    def __init__(self, text: str, names: Collection[str], source: str) -> None:
        self.text = text
        self.known_names = names
        self.source = source
        self.faults: list[Fault] = []
        self.used: dict[str, int] = {}
        self.nodes = 0
        self.kinds: Mapping[str, Kind] = {}

    def compile(self, condition: bool, kinds: Mapping[str, Kind]) -> Expression:  # noqa: A003
        self.kinds = kinds
        tree = self.parse()
        self.most = MAX_ELEMENTS // max(1, sum(isinstance(node, ast.expr)
                                               for node in ast.walk(tree)))
        fast = self.rewrite(tree, condition, 0)
        kind = Kind.ANY if self.faults else check(tree, kinds, condition, self.fault)
        if self.faults:
            raise DocumentError(self.faults)
        names = tuple(self.used)

        def compiled() -> tuple[Callable[..., Any], Any]:
            self.nodes = 0  # the leaves are rewritten once more
            return self.function(fast, names), self.logic(tree, condition)

        return Expression(self.text, names, kind, compiled)

    def parse(self) -> ast.expr:
        if not self.text.strip():
            self.give_up(1, 'is empty')
        if len(self.text) > MAX_LENGTH:
            self.give_up(1, f'longer than {MAX_LENGTH} characters')
        line = self.text.replace('\n', ' ')
        stripped = line.lstrip()
        self.offset = len(line) - len(stripped) + 1
        try:
            return ast.parse(stripped, mode='eval').body
        except SyntaxError as error:
            column = (error.offset or len(stripped)) + self.offset - 1
            self.give_up(min(column, max(1, len(line))), syntax_hint(stripped) or error.msg)
        except (RecursionError, MemoryError):
            self.give_up(1, f'nested deeper than {MAX_DEPTH} levels')
        except ValueError as error:
            self.give_up(1, str(error))

    def give_up(self, column: int, message: str) -> NoReturn:
        raise DocumentError([*self.faults, Fault(self.source, 1, column, message)])

    def fault(self, node: Any, message: str) -> ast.expr:
        column = getattr(node, 'col_offset', 0) + self.offset
        self.faults.append(Fault(self.source, 1, column, message))
        return ast.Constant(value=0)

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
        body = self.rewrite(node, condition, 0)
        return Leaf(self.function(body, names), tuple(self.used[name] for name in names))

    def rewrite(self, node: ast.expr, truth: bool, depth: int) -> ast.expr:
        """Return the checked code of a node; `truth`: it must be boolean."""
        self.nodes += 1
        if depth > MAX_DEPTH:
            self.give_up(node.col_offset + self.offset, f'nested deeper than {MAX_DEPTH} levels')
        if self.nodes > MAX_NODES:
            self.give_up(node.col_offset + self.offset, f'more than {MAX_NODES} parts')
        method = getattr(self, '_' + type(node).__name__.lower(), None)
        if method is None:
            return self.fault(node, f'{node_text(node)} is not allowed in an expression')
        result: ast.expr = method(node, truth, depth + 1)
        return result

    def _boolop(self, node: ast.BoolOp, truth: bool, depth: int) -> ast.expr:
        return ast.BoolOp(node.op, [self.rewrite(value, True, depth) for value in node.values])

    def _unaryop(self, node: ast.UnaryOp, truth: bool, depth: int) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, self.rewrite(node.operand, True, depth))
        if isinstance(node.op, ast.Invert):
            return self.fault(node, "'~' is not allowed in an expression")
        self.no_truth(node, truth)
        return ast.UnaryOp(node.op, self.term(node.operand, depth))

    def _binop(self, node: ast.BinOp, truth: bool, depth: int) -> ast.expr:
        self.no_truth(node, truth)
        if not isinstance(node.op, _OPERATORS):
            return self.fault(node, f"operator '{node_text(node.op)}' is not allowed")
        for operand in (node.left, node.right):
            if isinstance(operand, ast.Constant) and isinstance(operand.value, str):
                self.fault(operand, 'a text has no arithmetic')
        left = self.term(node.left, depth)
        if isinstance(node.op, ast.Pow):
            exponent = _number(node.right)
            if exponent is None or not abs(exponent) <= MAX_EXPONENT:
                return self.fault(
                    node.right, f'an exponent must be a number of at most {MAX_EXPONENT}')
            return self.limited('_power', left, ast.Constant(value=exponent))
        right = self.term(node.right, depth)
        if self.is_number(node.left) and self.is_number(node.right):
            return ast.BinOp(left, node.op, right)
        return self.limited('_o_' + type(node.op).__name__, left, right)

    def limited(self, function: str, *arguments: ast.expr) -> ast.expr:
        """Return a call that raises NoValue if the arrays are too large."""
        return _call('_limited', ast.Constant(value=self.most),
                     ast.Name(function, ast.Load()), *arguments)

    def is_number(self, node: ast.expr) -> bool:
        """Whether a part of the expression is certainly a number or a boolean."""
        return is_number(node, self.kinds)

    def term(self, node: ast.expr, depth: int) -> ast.expr:
        """Return an operand or argument; booleans become 1 or 0, since numpy adds them as `or`."""
        code = self.rewrite(node, False, depth)
        plain = isinstance(node, (ast.Constant, ast.BinOp)) or (
            isinstance(node, ast.Name) and self.kinds.get(node.id) in _NUMERIC)
        return code if plain else _call('_count', code)

    def _compare(self, node: ast.Compare, truth: bool, depth: int) -> ast.expr:
        operands = [self.operand(node.left, depth)]
        for operator, right in zip(node.ops, node.comparators):
            if not isinstance(operator, _COMPARISONS):
                return self.fault(right, "'is' is not allowed; compare with ==")
            members = isinstance(operator, (ast.In, ast.NotIn))
            if members and isinstance(right, (ast.List, ast.Tuple)):
                operands.append(ast.Tuple(
                    [self.rewrite(item, False, depth) for item in right.elts], ast.Load()))
            else:
                operands.append(self.operand(right, depth))
        compare: ast.expr = ast.Compare(operands[0], node.ops, operands[1:])
        if not all(map(self.is_number, (node.left, *node.comparators))):
            compare = self.of_arrays(node.ops, operands)
        return _call('_truth', compare) if truth else compare

    def of_arrays(self, operators: list[ast.cmpop], operands: list[ast.expr]) -> ast.expr:
        """Return a comparison of operands that may be arrays."""
        if len(operands) == 2 and not isinstance(operators[0], (ast.In, ast.NotIn)):
            return self.limited('_o_' + type(operators[0]).__name__, *operands)
        flat: list[ast.expr] = [
            part if isinstance(part, ast.Tuple) else _call('_flat', part) for part in operands]
        return ast.Compare(flat[0], operators, flat[1:])

    def operand(self, node: ast.expr, depth: int) -> ast.expr:
        """Return an operand of a comparison; a NaN raises NoValue, since it compares as false."""
        code = self.rewrite(node, False, depth)
        signed = node.operand if isinstance(node, ast.UnaryOp) else node
        plain = isinstance(signed, (ast.Name, ast.Constant, ast.Subscript))
        return code if plain else _call('_known', code)

    def _constant(self, node: ast.Constant, truth: bool, depth: int) -> ast.expr:
        value = node.value
        if truth and not isinstance(value, bool):
            return self.fault(node, 'expected something true or false, such as a comparison')
        if not isinstance(value, (bool, int, float, str)):
            return self.fault(node, f'{value!r} is not allowed in an expression')
        if isinstance(value, int) and abs(value) > 2 ** 63:
            return self.fault(node, 'a number beyond 64 bits')
        code = ast.Constant(value=value)
        return _call('_text', code) if isinstance(value, str) else code

    def _name(self, node: ast.Name, truth: bool, depth: int) -> ast.expr:
        name = node.id
        if name in self.known_names:
            self.used.setdefault(name, len(self.used))
            code: ast.expr = ast.Name(name, ast.Load())
            return _call('_truth', code) if truth else code
        if name in CONSTANTS:
            return self._constant(
                ast.copy_location(ast.Constant(value=CONSTANTS[name]), node), truth, depth)
        if name in FUNCTIONS:
            return self.fault(node, f"'{name}' is a function; write {name}(…)")
        return self.fault(node, f"unknown name '{name}'" + nearest(
            name, {*self.known_names, *FUNCTIONS, *CONSTANTS}))

    def _call(self, node: ast.Call, truth: bool, depth: int) -> ast.expr:
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
        code = _call('_f_' + name, *arguments) if all(map(self.is_number, node.args)) \
            else self.limited('_f_' + name, *arguments)
        return _call('_truth', code) if truth else code

    def _subscript(self, node: ast.Subscript, truth: bool, depth: int) -> ast.expr:
        index = self.index(node.slice)
        code = ast.Subscript(self.rewrite(node.value, False, depth), index, ast.Load())
        return _call('_truth', code) if truth else code

    def index(self, node: ast.expr) -> ast.expr:
        """Return an index: an integer or a slice, or several of them."""
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.index(item) for item in node.elts], ast.Load())
        if isinstance(node, ast.Slice):
            return ast.Slice(*(None if part is None else self.index(part)
                               for part in (node.lower, node.upper, node.step)))
        value = _number(node)
        if not isinstance(value, int):
            return self.fault(node, 'an index must be a whole number')
        return ast.Constant(value=value)

    def _list(self, node: ast.List | ast.Tuple, truth: bool, depth: int) -> ast.expr:
        self.no_truth(node, truth)
        return _call('_vector', ast.Constant(value=self.most),
                     *(self.rewrite(item, False, depth) for item in node.elts))

    _tuple = _list

    def no_truth(self, node: ast.expr, truth: bool) -> None:
        if truth:
            self.fault(node, 'gives a number; expected something true or false')


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
