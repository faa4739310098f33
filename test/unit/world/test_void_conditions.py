# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a condition is worth: true without its facts, or whatever they are, it shows nothing."""

from __future__ import annotations

from typing import Any

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.lifecycle.ports import Condition
from action_lifecycle.world.condition import condition_faults
from action_lifecycle.world.expressions.expression import certain_fault, compile_expression
from action_lifecycle.world.facts.loader import parse_facts
from action_lifecycle.world.model import WorldModel
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from .test_expressions import logic, NAMES, numbers

FACTS = parse_facts("""
estop: none
facts:
  gap: {topic: gap, type: std_msgs/msg/Float64, field: data}
  home: {constant: 0.3}
  ready: {expression: gap > 3 or home > 0}
  mode: {topic: mode, type: std_msgs/msg/String, field: data}
  checked: {expression: home > 0, health: {needs: [gap]}}
""")
known_or_not = st.lists(st.one_of(st.none(), numbers), min_size=3, max_size=3)
VOID = ['1 < 2', 'gap > 3 or True', 'home > 0', 'ready', 'gap > 3 or least > 1', '']
SOUND = ['gap > 3', 'gap > 3 or home > 1', 'checked', 'least > 3 or gap > 1', 'not gap > 3']


@settings(max_examples=500)
@given(logic, known_or_not, numbers)
def test_more_knowledge_never_changes_what_was_known(
    text: str, values: list[Any], more: float
) -> None:
    expression = compile_expression(text, NAMES, condition=True)
    given_ = dict(zip(NAMES, values))
    before = expression.evaluate([given_[name] for name in expression.names])
    for name in expression.names:
        if given_[name] is None and before is not None:
            assert expression.evaluate(
                [more if other == name else given_[other] for other in expression.names]) is before


@settings(max_examples=500)
@given(logic, known_or_not)
def test_a_condition_is_certain_if_it_is_true_with_what_is_known(
    text: str, values: list[Any]
) -> None:
    expression = compile_expression(text, NAMES, condition=True)
    known = {name: value for name, value in zip(NAMES, values) if value is not None}
    assert expression.is_certain(known) is (
        expression.evaluate([known.get(name) for name in expression.names]) is True)


@pytest.mark.parametrize('text', VOID)
@pytest.mark.parametrize('label', ['confirm', 'stopped', 'until'])
def test_a_void_condition_is_refused_where_it_would_show_something(
    text: str, label: str
) -> None:
    found = list(condition_faults(
        [Condition(label, text)], FACTS, {'least': 2}, {'least': 2}))
    assert [index for index, _ in found] == [0]
    assert 'true while all its facts are unknown' in found[0][1]
    with pytest.raises(DocumentError, match='true while all its facts are unknown'):
        WorldModel(FACTS).confirm([Condition(label, text)], 0.0, print, names={'least': 2})


@pytest.mark.parametrize('text', [
    'gap >= 0 or gap < 0', 'max(gap, 5) > 3', 'min(gap, least) <= 2', 'any([gap > 3, true])',
    '1 in [1, gap]', 'gap**0 == 1', 'abs(gap) > -1', 'gap == gap', 'not (gap > 3 and gap < 3)',
    'gap > 2\n or gap < 3', 'mode == "open" or mode != "open"', 'gap > 3 or not gap > 3'])
def test_a_condition_that_is_true_whatever_is_measured_is_refused(text: str) -> None:
    ((_, said),) = condition_faults(
        [Condition('confirm', text)], FACTS, {'least': 2}, {'least': 2})
    assert 'it is true whatever its facts are, so it shows nothing' in said


@pytest.mark.parametrize('text', [
    'gap < inf', 'gap != 5.5', 'not (2 < gap < 3)', 'mode != "open"', 'mode in ["a", "b"]',
    'not (gap == 7 and mode == "open")', 'sin(gap) < 0.99', 'gap % 2 != 0.7', 'gap < 1e9',
    'gap * gap > 0', 'not (gap == 2 and mode == "a" and speed == 3)', 'not flag', 'tool[2] > -1',
    'tool[2] > -1 or gap > 0'])
def test_a_condition_that_some_value_makes_false_is_accepted(text: str) -> None:
    assert not certain_fault(compile_expression(text, None, condition=True), {})


@pytest.mark.parametrize('text', SOUND)
def test_a_condition_that_needs_a_fact_is_accepted(text: str) -> None:
    assert not list(condition_faults(
        [Condition('confirm', text)], FACTS, {'least': 2}, {'least': 2}))
    WorldModel(FACTS).confirm([Condition('confirm', text)], 0.0, print, names={'least': 2})


@pytest.mark.parametrize('text', VOID)
def test_a_void_condition_may_guard_a_motion(text: str) -> None:
    for label in ('require', 'maintain', 'after', 'repeat'):
        assert not list(condition_faults([Condition(label, text)], FACTS, {'least': 2}))
    results: list[Any] = []
    WorldModel(FACTS).maintain([Condition('', text)], 0.0, results.append, names={'least': 2})
    assert not results


def test_a_parameter_without_its_last_value_is_not_counted() -> None:
    assert not list(condition_faults(
        [Condition('confirm', 'gap > 3 or least > 1')], FACTS, {'least': 2}))
