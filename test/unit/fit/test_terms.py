# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The numbers of a condition that a fit can change."""

import re

from action_lifecycle.fit.terms import number_spans, shape, split, with_numbers
from hypothesis import given
from hypothesis import strategies as st
import pytest


def reads_fact(text):
    return re.search(r'\b(gap|load|x|tool|part_\w+)\b|\{\{ part \}\}', text) is not None


@pytest.mark.parametrize('text, side, sign, number, level', [
    ('gap > 0.02', 'gap', 1, 0.02, 0.02),
    ('0.02 < gap', 'gap', 1, 0.02, 0.02),
    ('gap <= 1e-3', 'gap', -1, 0.001, -0.001),
    ('gap > -5', 'gap', 1, -5.0, -5.0),
    ('abs(x - 0.3) < 0.01', 'abs(x - 0.3)', -1, 0.01, -0.01),
    ('tool[2] > {{ clear }} - 0.02', '(tool[2]) - ({{ clear }})', 1, 0.02, -0.02),
    ('{{ part }}[0] < limit + .5', '({{ part }}[0]) - (limit)', -1, 0.5, -0.5),
])
def test_threshold_of_a_comparison(text, side, sign, number, level):
    (term,) = split(text, reads_fact).terms
    assert (term.side, term.sign, term.number) == (side, sign, number)
    assert term.level == pytest.approx(level)
    assert term.number_at(term.level) == pytest.approx(number)
    assert float(text[term.start:term.end]) == number


def test_conjunction_is_split_and_the_rest_stays():
    text = 'gap > 0.02 and (load > 1 or x > 2) and ready and 0.1 < x < 0.2'
    found = split(text, reads_fact)
    assert [(term.side, term.number) for term in found.terms] == [
        ('gap', 0.02), ('x', 0.1), ('x', 0.2)]
    assert found.rest == ('load > 1 or x > 2', 'ready')
    assert "numbers inside 'or'" in found.left_alone[0]
    assert with_numbers(text, found.terms, ['9', '8', '7']) == \
        'gap > 9 and (load > 1 or x > 2) and ready and 8 < x < 7'


@pytest.mark.parametrize('text, why', [
    ('gap > least', "its threshold 'least' is a parameter of the flow, or a constant of the"),
    ('gap > {{ least }}', 'is a parameter of the flow'),
    ('gap > load', 'both sides are measured'),
    ('gap > {% if a %}1{% endif %}', 'statements of templates'),
])
def test_other_thresholds_are_left_alone_and_it_says_why(text, why):
    found = split(text, reads_fact)
    assert not found.terms and why in found.left_alone[0]


@given(st.floats(-1e6, 1e6).map(lambda value: f'{value:.6g}'),
       st.floats(-1e6, 1e6).map(lambda value: f'{value:.6g}'), st.sampled_from('<>'))
def test_any_number_is_found_where_it_is(old, new, operator):
    text = f'load > 1 and  gap {operator} {old} and x < {{{{ three3 }}}} - 3'
    term = split(text, reads_fact).terms[1]
    assert text[term.start:term.end] == old
    assert with_numbers(text, [term], [new]) == text.replace(
        f'gap {operator} {old} ', f'gap {operator} {new} ')


def test_numbers_in_names_and_templates_are_none():
    text = 'part_2[0] > {{ clear * 3 }} - 0.02 and x1 < 7e-2'
    assert [text[slice(*span)] for span in number_spans(text)] == ['0', '0.02', '7e-2']


def test_shape_is_equal_for_other_numbers_only():
    assert shape('gap > 0.02 and  load>1') == shape('gap>-3 and load > 1e-9')
    assert shape('gap > 0.02') != shape('gap < 0.02')
