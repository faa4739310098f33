# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Expressions: what is admitted, what it means, and what an unknown fact does to it."""

from __future__ import annotations

import itertools
import math
from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.world.expressions.expression import compile_expression
from action_lifecycle.world.expressions.functions import Text, Texts
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

NAMES = ('a', 'b', 'c')


def value_of(text: str, condition: bool = False, **values: Any) -> Any:
    expression = compile_expression(text, values, condition=condition)
    return expression.evaluate([values[name] for name in expression.names])


# -- against Python

numbers = st.floats(-100, 100).map(lambda value: round(value, 2))
atoms = st.one_of(st.sampled_from(NAMES), numbers.map(lambda value: f'({value})'))
arithmetic = st.recursive(atoms, lambda inner: st.one_of(
    st.tuples(inner, st.sampled_from(['+', '-', '*', '/']), inner).map(
        lambda parts: f'({parts[0]} {parts[1]} {parts[2]})'),
    inner.map(lambda part: f'abs({part})'), inner.map(lambda part: f'(-{part})'),
    st.tuples(inner, inner).map(lambda parts: f'min({parts[0]}, {parts[1]})'),
    inner.map(lambda part: f'({part}) ** 2')), max_leaves=6)
comparisons = st.tuples(
    arithmetic, st.sampled_from(['<', '<=', '>', '>=', '==', '!=']), arithmetic).map(
    lambda parts: f'{parts[0]} {parts[1]} {parts[2]}')
logic = st.recursive(comparisons, lambda inner: st.one_of(
    st.tuples(inner, st.sampled_from(['and', 'or']), inner).map(
        lambda parts: f'({parts[0]} {parts[1]} {parts[2]})'),
    inner.map(lambda part: f'(not ({part}))')), max_leaves=6)


@settings(max_examples=300)
@given(logic, st.lists(numbers, min_size=3, max_size=3))
def test_known_facts_give_what_python_gives(text: str, values: list[float]) -> None:
    expression = compile_expression(text, NAMES, condition=True)
    known = dict(zip(NAMES, values))
    try:
        expected = eval(text, {'__builtins__': {}, 'abs': abs, 'min': min}, known)
    except ZeroDivisionError:
        return
    assert expression.evaluate([known[name] for name in expression.names]) is expected


# -- three values


def kleene(node: Any, values: dict[str, bool | None]) -> bool | None:
    """Return what all completions of the unknown names agree on, which defines the table."""
    unknown = [name for name in NAMES if values[name] is None]
    results = set()
    for guess in itertools.product((True, False), repeat=len(unknown)):
        completed = {**values, **dict(zip(unknown, guess))}
        results.add(eval(node, {}, completed))
    return results.pop() if len(results) == 1 else None


@pytest.mark.parametrize('text', ['a and b', 'a or b', 'not a', 'a and not b', 'a or b and c',
                                  '(a or b) and c', 'not (a or b)', 'not (a and b) or c'])
def test_unknown_facts_follow_kleene(text: str) -> None:
    expression = compile_expression(text, NAMES, condition=True)
    for values in itertools.product((True, False, None), repeat=3):
        known = dict(zip(NAMES, values))
        result = expression.evaluate([known[name] for name in expression.names])
        assert result is kleene(text, known), (text, known)


@settings(max_examples=200)
@given(logic, st.lists(st.one_of(st.none(), numbers), min_size=3, max_size=3))
def test_an_unknown_fact_never_decides(text: str, values: list[float | None]) -> None:
    """Whatever is decided without a fact is what every value of that fact would give."""
    expression = compile_expression(text, NAMES, condition=True)
    known = dict(zip(NAMES, values))
    result = expression.evaluate([known[name] for name in expression.names])
    if result is None:
        return
    for guess in (-7.25, 0.0, 13.5):
        filled = [guess if known[name] is None else known[name] for name in expression.names]
        assert expression.evaluate(filled) in (result, None)


@pytest.mark.parametrize(('text', 'values'), [
    ('a > 1', {'a': None}),
    ('not (a > 1)', {'a': None}),
    ('not (a / b > 1)', {'a': 1.0, 'b': 0.0}),
    ('not (a - b > 0)', {'a': math.inf, 'b': math.inf}),
    ('a[3] > 0', {'a': np.zeros(3)}),
    ('a > b', {'a': 1.0, 'b': Text('x')}),
    ('a == b', {'a': np.zeros(3), 'b': np.zeros(3)}),
    ('dist(a, b) < 1', {'a': np.zeros(3), 'b': np.zeros(2)}),
    ('angle(a, b) < 1', {'a': np.zeros(3), 'b': np.ones(3)}),
    ('not (sqrt(a) > 1)', {'a': -1.0}),
    ('a', {'a': 0.5}),
    ('not any(a[0])', {'a': None}),
])
def test_what_has_no_value_is_unknown(text: str, values: dict[str, Any]) -> None:
    assert value_of(text, condition=True, **values) is None


def test_a_part_without_value_does_not_hide_a_known_one() -> None:
    assert value_of('a > 1 or b / c > 1', condition=True, a=2.0, b=1.0, c=0.0) is True
    assert value_of('b / c > 1 or a > 1', condition=True, a=2.0, b=1.0, c=0.0) is True
    assert value_of('b / c > 1 and a > 3', condition=True, a=2.0, b=1.0, c=0.0) is False


# -- functions


def test_functions_of_vectors_and_angles() -> None:
    part, home = np.array([3.0, 4.0, 0.0]), np.zeros(3)
    assert value_of('dist(part, home)', part=part, home=home) == 5.0
    assert value_of('norm(part)', part=part) == 5.0
    assert value_of('dist(part[:2], [3, 0])', part=part) == 4.0
    assert value_of('angle([1, 0], [0, 2])') == pytest.approx(math.pi / 2)
    assert value_of('angle(3.1, -3.1)') == pytest.approx(2 * math.pi - 6.2)
    turned = np.array([0.0, 0.0, math.sin(0.25), math.cos(0.25)])
    assert value_of('angle(q, [0, 0, 0, 1])', q=turned) == pytest.approx(0.5)
    assert value_of('angle(q, [0, 0, 0, -1])', q=turned) == pytest.approx(0.5)
    assert value_of('all(part > -1) and any(part == 3)', condition=True, part=part) is True
    assert value_of('max(part) - min(part)', part=part) == 4.0
    assert (value_of('part + [0, 0, 0.1]', part=part) == np.array([3.0, 4.0, 0.1])).all()


def test_truths_are_counted_where_numbers_are_added() -> None:
    ranges = np.array([0.5, 1.5])
    assert value_of('any(r > 1) + any(r < 1)', r=ranges) == 2
    assert value_of('sum((r > 0) + (r > 1)) == 3', condition=True, r=ranges) is True
    assert list(value_of('-flags + 1', flags=np.array([True, False]))) == [0, 1]
    assert value_of('open - any(r > 9)', r=ranges, open=True) == 1


def test_membership_of_texts_and_numbers() -> None:
    assert value_of("state in ['open', 'closed']", condition=True, state=Text('open')) is True
    assert value_of('state not in names', condition=True, state=Text('x'),
                    names=Texts([Text('a')])) is True
    assert value_of('3 in numbers', condition=True, numbers=np.array([1.0, 3.0])) is True


def test_an_empty_condition_is_true() -> None:
    assert compile_expression(' ', (), condition=True).evaluate([]) is True


# -- what is refused


@pytest.mark.parametrize(('text', 'column', 'message'), [
    ('gap_x > 1', 1, "unknown name 'gap_x'; did you mean 'gap'?"),
    ('gap > 1 and gpa > 2', 13, "unknown name 'gpa'; did you mean 'gap'?"),
    ('gap.real > 1', 1, "attribute ('.') is not allowed"),
    ("__import__('os').system('true')", 1, 'not allowed'),
    ("open('/etc/passwd')", 1, "call of 'open' is not allowed"),
    ('abs(gap, gap) > 1', 1, "'abs' takes 1 argument(s)"),
    ('gap ** 99 > 1', 8, 'an exponent must be a number of at most 16'),
    ('2 ** gap > 1', 6, 'an exponent must be a number of at most 16'),
    ("'a' * 9 == 'b'", 1, 'a text has no arithmetic'),
    ('gap + 1', 1, 'expected something true or false'),
    ('gap and 1', 9, 'expected something true or false'),
    ('gap > 1 if gap else gap > 2', 1, 'if … else is not allowed'),
    ('[x for x in gap]', 1, 'a comprehension is not allowed'),
    ('(lambda: 1)() > 2', 1, 'not allowed'),
    ('gap is 1', 8, "'is' is not allowed"),
    ('gap[gap] > 1', 5, 'an index must be a whole number'),
    ('gap >', 5, 'invalid syntax'),
    ('gap > 1; gap', 8, 'invalid syntax'),
    ('gap = 0.1', 5, "'=' is not known here: compare with =="),
    ('gap > 0.01 && part', 13, "'&&' is not known here: write 'and'"),
    ('gap || part', 6, "'||' is not known here: write 'or'"),
    ('!part', 1, "'!' is not known here: write 'not'"),
    ('gap => 1', 5, "'=>' is not known here: compare with ==, !=, <=, >="),
    ("part == '=' gap", 13, 'invalid syntax'),
    ('abs > 1', 1, "'abs' is a function"),
    ('~gap > 1', 1, "'~' is not allowed"),
    ('gap @ gap > 1', 1, 'not allowed'),
    ('gap > 99999999999999999999', 7, 'beyond 64 bits'),
    ('-' * 30 + 'gap > 1', 25, 'nested deeper than'),
    ('(' * 300 + 'gap' + ')' * 300, 1, ''),
    ('gap > 1' + ' and gap > 1' * 200, 1, 'longer than 2000 characters'),
    ('gap' + '+1' * 300 + ' > 1', 1, 'nested deeper than'),
    ('max(' + ','.join(['gap'] * 500) + ') > 1', 1, ''),
    ('\x00', 1, ''),
])
def test_anything_else_is_refused_with_its_column(text: str, column: int, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        compile_expression(text, {'gap'}, condition=True, source='flow.yaml')
    fault = caught.value.faults[0]
    assert message in fault.message
    assert fault.file == 'flow.yaml'
    if message:
        assert fault.column == column


def test_every_fault_is_reported_at_once() -> None:
    with pytest.raises(DocumentError) as caught:
        compile_expression('x > 1 and y.z > 2 and gap > 3', {'gap'}, condition=True)
    assert [fault.column for fault in caught.value.faults] == [1, 11]


@pytest.mark.parametrize('text', [
    't * 9999999999', '9999999999 * t', 't[0:2] * 9999999999', 'max(t, t) * 9999999999',
    "max('a', 'b') * 9999999999", 'n * 9999999999',
    'n[0:1] * 9999999999', 't % 5', 't + t'])
def test_texts_can_not_be_blown_up(text: str) -> None:
    assert value_of(text, t=Text('text'), n=Texts([Text('a'), Text('b')])) is None


@settings(max_examples=300)
@given(st.text(alphabet='gap 0123456789.()[]+-*/<>=!&|^%~,:\'"_abxyzlambdifor\n', max_size=40))
def test_no_text_does_more_than_give_a_value_or_a_fault(text: str) -> None:
    try:
        expression = compile_expression(text, {'gap'})
    except DocumentError as error:
        assert error.faults
    else:
        expression.evaluate([1.5] * len(expression.names))


# -- what it may cost


@pytest.mark.parametrize('text', [
    'a[:, :1] * b > 1', 'sum(a[:, :1] + b) > 1', 'any(a[:, :1] < b)',
    'any(atan2(a[:, :1], b) > 0)',
    'any(0 < a[:, :1] < b)', 'any(b in a[:, :1])', 'len([a[:, :1] * b]) > 1',
])
def test_arrays_that_would_grow_have_no_value(text: str) -> None:
    values = {'a': np.ones((20_000, 2)), 'b': np.ones(20_000)}
    expression = compile_expression(text, values, condition=True)
    assert expression.evaluate([values[name] for name in expression.names]) is None
    assert 'at most' in expression.error or 'dimensions' in expression.error


def test_large_arrays_have_values() -> None:
    assert value_of('max(a) > 0.5', True, a=np.ones(2_000_000)) is True
    assert value_of('all(0 < a)', True, a=np.ones((480, 640))) is True
    assert value_of('any(0 < a < 2)', True, a=np.ones(1)) is True
