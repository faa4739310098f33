# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Faults of `health` in a facts file, and what its documentation says."""

from __future__ import annotations

import math
from pathlib import Path
import re

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.world import parse_facts
from action_lifecycle.world.expressions.value_types import Kind
from action_lifecycle.world.facts.equal_samples import likely_run
from action_lifecycle.world.facts.facts_checks import FieldKind
import pytest

from .health_facts import FACT

DOC = Path(__file__).parents[3] / 'docs' / 'fact_health.md'


@pytest.mark.parametrize('health, message', [
    ('{frozen: 0}', 'more than 0 and at most 3600 s'),
    ('{frozen: {resolution: 0.1}}', "expected 'noise', 'for' or both"),
    ('{frozen: {noise: 0.1, clip: [1, 0]}}', '[1.0, 0.0]: expected [least, greatest]'),
    ('{frozen: .nan}', 'more than 0 and at most 3600 s'),
    ('{frozen: {noise: .inf}}', 'finite'),
    ('{rate: {min: 0.5}}', "less than one sample in 1 s; expected a longer 'over'"),
    ('{rate: [5, 2]}', '[5, 2]: expected [min, max] in Hz'),
    ('{range: [1, 0]}', 'expected [least, greatest]'),
    ('{agree: {with: z, within: 1}}', "there is no fact 'z'"),
    ('{agree: {with: x, within: 1}}', 'expected another fact, got itself'),
    ('{agree: {with: y}}', "'within'"),
    ('{agree: {with: y, within: 1, when: y >}}', 'column'),
    ('{needs: [twice]}', 'its health needs itself by way of twice'),
    ('{needs: [yy]}', "there is no fact 'yy'; did you mean 'y'?"),
    ('{frozn: 1}', "'frozn'"),
])
def test_faults_name_the_line_the_fact_and_what_is_expected(health: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_facts(FACT.format(health=health))
    assert message in str(caught.value)
    assert caught.value.faults[0].line in (4, 5)


def test_a_noise_that_the_resolution_hides_is_a_fault() -> None:
    class Numbers(FieldKind):

        def __call__(self, type_name: str, path: str) -> Kind:
            return Kind.NUMBER

    with pytest.raises(DocumentError, match='3.61e.07 equal samples are likely'):
        parse_facts(FACT.format(health='{frozen: {noise: 0.01, resolution: 0.1}}'),
                    field_kind=Numbers())


def test_an_expression_and_a_constant_have_no_checks_of_samples() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_facts('estop: none\nfacts:\n  a: {constant: 1, health: {range: [0, 1]}}\n'
                    '  b: {expression: a, health: {rate: [1, 2]}}\n')
    assert [(fault.line, fault.message.split(', ')[0]) for fault in caught.value.faults] == [
        (3, "fact 'a': a constant has no health"),
        (4, "fact 'b': 'rate' is a check of samples")]


def test_the_documented_runs_are_those_of_the_check() -> None:
    text = DOC.read_text()
    rows = re.findall(r'^\| ([\d.]+) \| (0\.\d+) \| (\d+) \|$', text, re.MULTILINE)
    assert len(rows) == 5
    for ratio, probability, run in rows:
        p = math.erf(1 / (2 * math.sqrt(2) * float(ratio)))
        assert (round(p, 3), likely_run(p, 1)) == (float(probability), int(run))
    parse_facts(text.split('```yaml\n')[1].split('```')[0])
