# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parts of conditions, and quantities over time."""

from __future__ import annotations

from typing import Any

from action_lifecycle.report.comparisons import quantity, Term, terms
from action_lifecycle.traces import Curve, Trace, TraceKey
import numpy as np
import pytest


def trace(**facts: tuple[list[float], list[Any]]) -> Trace:
    """Return a trace with facts: times and values."""
    return Trace(TraceKey('f', 'a', 1), 0.0, 9.0, {
        name: Curve(name, 'm', '', 'boolean' if name == 'door' else 'number', np.array(times),
                    np.array(times), np.asarray(values))
        for name, (times, values) in facts.items()})


@pytest.mark.parametrize(('expression', 'expected'), [
    ('gap > 0.02 and not tool[2] <= 0.2 - 0.02', [
        Term('gap', '>', '0.02', 0.02),
        Term('tool[2]', '<=', '0.2 - 0.02', pytest.approx(0.18))]),
    ('0.02 < gap', [Term('gap', '>', '0.02', 0.02)]),
    ('0 < gap <= 1', [Term('gap', '>', '0', 0), Term('gap', '<=', '1', 1)]),
    ('dist(a, b) < 0.1 or a[0] > b[0]', [
        Term('dist(a, b)', '<', '0.1', 0.1), Term('a[0]', '>', 'b[0]', None)]),
    ('door and mode == "auto"', [Term('door'), Term('mode', '==', "'auto'", 'auto')]),
    ('all(force < 5)', [Term('force', '<', '5', 5)]),
    ('gap > 1 and gap > 1', [Term('gap', '>', '1', 1)]),
    ('gap >', []), ('(' * 5000, []), ('', []), ('true', [])])
def test_parts_of_a_condition(expression: str, expected: list[Term]) -> None:
    assert terms(expression) == expected


def test_a_quantity_changes_when_one_of_its_facts_does() -> None:
    found = quantity(trace(a=([1.0, 3.0], [1.0, 2.0]), b=([2.0, 4.0], [10.0, 20.0])), 'b - a')
    assert found is not None
    assert found.times.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert found.values == [None, 9.0, 8.0, 18.0]
    assert found.unit == 'm'


def test_vectors_booleans_and_unknown_values() -> None:
    made = trace(tool=([1.0, 2.0], [[3.0, 4.0], [np.nan, np.nan]]),
                 door=([1.0, 2.0, 3.0], [1.0, 0.0, np.nan]))
    assert quantity(made, 'norm(tool)').values == [5.0, None]  # type: ignore[union-attr]
    assert quantity(made, 'door').values == [True, False, None]  # type: ignore[union-attr]
    assert quantity(made, 'tool').values == [[3.0, 4.0], None]  # type: ignore[union-attr]


def test_constants_come_from_the_evidence() -> None:
    made = trace(part=([1.0], [[0.2, 0.1]]))
    assert quantity(made, 'norm(part - slot)') is None
    found = quantity(made, 'norm(part - slot)', {'slot': np.array([0.2, 0.0])})
    assert found is not None
    assert found.values == [pytest.approx(0.1)]


@pytest.mark.parametrize('text', ['', 'gap +', 'nothing', '__import__("os")', '1 / 0'])
def test_what_is_no_expression_over_its_facts_has_no_curve(text: str) -> None:
    assert quantity(trace(gap=([1.0], [1.0])), text) is None
