# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is known of the kind of a value refuses a condition when it is loaded."""

from __future__ import annotations

from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.world import compile_condition, Condition, parse_facts, WorldModel
from action_lifecycle.world.condition import condition_faults
from action_lifecycle.world.expressions.expression import compile_expression
from action_lifecycle.world.expressions.functions import Text, Texts
from action_lifecycle.world.expressions.reducers import reduced
from action_lifecycle.world.expressions.value_types import Kind, kind_of
from hypothesis import example, given
from hypothesis import strategies as st
import numpy as np
import pytest

VALUES = {'gap': 0.5, 'ranges': np.array([1.0, 2.0]), 'grid': np.ones((2, 2)), 'open': True,
          'state': Text('idle'), 'names': Texts([Text('a'), Text('b')]), 'any_of': 3.0}
KINDS = {'gap': Kind.NUMBER, 'ranges': Kind.VECTOR, 'grid': Kind.NUMBERS, 'open': Kind.TRUTH,
         'state': Kind.TEXT, 'names': Kind.TEXTS, 'any_of': Kind.ANY}


@pytest.mark.parametrize(('text', 'column', 'message'), [
    ('gap', 1, "'gap' is a number; expected something true or false, such as gap > 0"),
    ('open and gap', 10, "'gap' is a number"),
    ('not ranges', 5, "'ranges' is a list of numbers"),
    ('ranges[0]', 1, "'ranges[0]' is a number"),
    ('grid', 1, "'grid' is numbers"),
    ('state', 1, "'state' is a text"),
    ('names or open', 1, "'names' is several texts"),
    ('ranges > 1', 1,
     'is several booleans; expected something true or false: write any(…) or all('),
    ('state > 1', 1, "'state' is a text, '1' is a number: they are never equal"),
    ("gap == 'open'", 1, "'gap' is a number, ''open'' is a text"),
    ("open != 'yes'", 1, 'is a boolean'),
    ("ranges[0] == 'a'", 1, 'they are never equal'),
    ('state == names', 1, "'names' is several texts"),
    ('state in [1, 2]', 1, 'they are never equal'),
    ('gap in names', 1, 'it is never in there'),
    ('gap in gap', 8, "'gap' is a number; 'in' needs a list"),
    ('state + 1 > 2', 1, 'a text has no arithmetic'),
    ('norm(state) > 2', 6, 'expected numbers'),
    ('gap[0] > 1', 1, 'it has no elements'),
    ('gap > 1 > state', 7, 'they are never equal'),
])
def test_what_does_not_go_together_is_refused_with_its_column(
    text: str, column: int, message: str,
) -> None:
    with pytest.raises(DocumentError) as caught:
        compile_expression(text, KINDS, condition=True, kinds=KINDS)
    assert message in caught.value.faults[0].message
    assert caught.value.faults[0].column == column


@pytest.mark.parametrize('text', [
    'open', 'not open', 'gap > 0.1', 'any(ranges > 1)', 'all(grid < 2)', "state == 'idle'",
    "state in ['idle', 'busy']", "state in names or 'a' in names", "'id' in state", '1 in ranges',
    'any_of', 'any_of > 1', 'len(state) > 1', 'len(names) == 2', 'names[0] == state',
    'max(gap, ranges[0]) > abs(gap)', 'open == (gap > 1)', 'norm(ranges - [1, 2]) < 0.1',
    'dist(ranges[:2], [0, 0]) > 1', 'open + open > 1', 'grid[0, 1] > 0', 'ranges[1] > gap > 0'])
def test_what_goes_together_loads(text: str) -> None:
    compile_expression(text, KINDS, condition=True, kinds=KINDS)


@given(st.recursive(
    st.sampled_from([*KINDS, '1', '0.5', "'a'", 'true', 'pi', '[1, 2]']),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(['+', '*', '<', '==', 'in', 'and', 'or']), inner).map(
            lambda parts: f"({' '.join(parts)})"),
        st.tuples(st.sampled_from(['not ', '-', 'norm', 'any', 'max', 'abs', 'len']), inner).map(
            lambda parts: f'{parts[0]}({parts[1]})'),
        inner.map(lambda part: f'{part}[0]'), inner.map(lambda part: f'{part}[0:1]')),
    max_leaves=6))
@example('(ranges in ranges)')
@example('(open + any(gap))')
def test_a_kind_that_is_told_is_that_of_the_value(text: str) -> None:
    try:
        expression = compile_expression(text, KINDS, kinds=KINDS)
    except DocumentError:
        return
    value = expression.evaluate([VALUES[name] for name in expression.names])
    if value is not None and expression.kind not in (Kind.ANY, Kind.NUMBERS):
        found = kind_of(value)
        if isinstance(value, np.ndarray) and value.dtype == bool:
            found = Kind.TRUTHS
        assert found in (expression.kind, Kind.ANY)


@pytest.mark.parametrize(('kind', 'elements', 'over_time', 'expected'), [
    (Kind.VECTOR, 'latest', '', Kind.VECTOR), (Kind.VECTOR, 'min', '', Kind.NUMBER),
    (Kind.VECTOR, 'latest', 'mean', Kind.VECTOR), (Kind.VECTOR, 'norm', 'max', Kind.NUMBER),
    (Kind.TRUTH, 'latest', 'any', Kind.TRUTH), (Kind.TRUTH, 'latest', 'mean', Kind.NUMBER),
    (Kind.TRUTHS, 'all', '', Kind.TRUTH), (Kind.TEXT, 'latest', 'count', Kind.NUMBER),
    (Kind.TEXTS, 'count', 'max', Kind.NUMBER), (Kind.ANY, 'latest', 'age', Kind.NUMBER),
    (Kind.NUMBER, 'latest', 'all', Kind.TRUTH), (Kind.ANY, 'min', 'mean', Kind.ANY),
])
def test_reducers_change_the_kind(
    kind: Kind, elements: str, over_time: str, expected: Kind,
) -> None:
    assert reduced(kind, elements, over_time) is expected


def test_derived_facts_constants_and_parameters_have_a_kind() -> None:
    facts = parse_facts('estop: none\nfacts:\n'
                        '  home: {constant: [1, 2]}\n  far: {expression: norm(home)}\n'
                        '  tool: {tf: {target: world, source: tool}}\n'
                        '  is_far: {expression: far > 3}\n')
    compile_condition('is_far and far > least', facts, {'least': 1})
    for text, parameters in (('far', None), ('tool', None), ('least', {'least': 1}),
                             ('far > name', {'name': 'x'})):
        with pytest.raises(DocumentError):
            compile_condition(text, facts, parameters)
    assert list(condition_faults([Condition('c', 'far > odd')], facts, {'odd': {'a': 1}}))
    with pytest.raises(DocumentError, match=r'f.yaml:4:\d+: .*column 6 .*a text has no arith'):
        parse_facts('estop: none\nfacts:\n  s: {constant: idle}\n'
                    '  t: {expression: 1 +  s}\n', 'f.yaml')


def test_what_is_not_known_is_judged_when_it_comes() -> None:
    facts = parse_facts('estop: none\nfacts:\n'
                        '  gap: {topic: t, type: std_msgs/msg/Float64, field: data}\n')
    answers: list[Any] = []
    WorldModel(facts).confirm([Condition('c', 'gap')], 1.0, answers.append)
    assert answers[0].outcome.name == 'TIMED_OUT'
