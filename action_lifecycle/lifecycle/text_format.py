# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Formats evidence and messages as strings of one line."""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any

from .ports import Confirmation

_MARKS = {'stale': ' (stale)', 'unknown': ' (too old)'}
# control characters, surrogates, and what is no character of XML
_CONTROLS = re.compile('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]')


def has_controls(text: str) -> bool:
    """Return whether a string has control characters, lone surrogates or noncharacters."""
    return _CONTROLS.search(text) is not None


def printable(text: str, longest: int | None = None) -> str:
    """Return a string cut to `longest` characters, with U+FFFD for control characters."""
    text = _CONTROLS.sub('\ufffd', text)
    return text if longest is None or len(text) <= longest else text[:longest - 1] + '…'


def flow_state_in_words(state: str) -> str:
    """Return a constellation state (constants of FlowStatus) as people read it."""
    return 'canceled' if state == 'cancelled' else state.replace('_', ' ')


def joined(*parts: str) -> str:
    """Join the nonempty parts by '; '."""
    return '; '.join(part for part in parts if part)


def answer_text(answer: Confirmation) -> str:
    """Describe the conditions that were not met, with the values of their facts."""
    unmet = [evidence_in_words(item) for item in answer.evidence if item.get('verdict') != 'true']
    return joined(answer.error_msg or joined(*unmet) or answer.verdict, answer.note)


def evidence_in_words(evidence: Mapping[str, Any]) -> str:
    """Return one piece of evidence as a line: expression, verdict and values of facts."""
    facts = ', '.join(
        f"{fact['name']}={fact_in_words(fact)}" for fact in evidence.get('facts', ()))
    return f"{evidence['expression']} is {evidence['verdict']}" + (f' ({facts})' if facts else '')


def fact_in_words(fact: Mapping[str, Any], unit: str = '', **style: Any) -> str:
    """
    Return the value of a fact of evidence, marked if it is missing or not current.

    `style`: see value_in_words.
    """
    value = value_in_words(fact, **style)
    if not value:
        return 'never seen'
    note = fact.get('note', '') if fact.get('validity') == 'unknown' else ''
    mark = f' (unknown: {note})' if note else _MARKS.get(fact.get('validity', ''), '')
    return (f'{value} {unit}' if unit else value) + mark


def value_in_words(
    fact: Mapping[str, Any], most: int = 7, separator: str = ', ', rest: str = '…'
) -> str:
    """
    Return the value of a fact of evidence; '' if it has none.

    Of a list, at most `most` numbers are shown, with `rest` if some are left out.
    """
    numbers = fact.get('numbers')
    if not numbers:
        value = fact.get('value')
        return '' if value is None else str(value)
    parts = [number_in_words(number) for number in numbers[:most]]
    if len(numbers) == 1:
        return parts[0]
    return f'[{separator.join(parts + [rest] * (len(numbers) > most))}]'


def number_in_words(number: float) -> str:
    """Return a number with 4 digits, or all before the point: 95012 and not 9.501e+04; no -0."""
    number = float(number) or 0.0
    return f'{number:.0f}' if 9999.5 <= abs(number) < 1e9 else f'{number:.4g}'


def value_of(fact: Mapping[str, Any]) -> Any:
    """Return the value of a fact of evidence: a number, list, string or object; None: unknown."""
    if fact.get('validity') == 'unknown':
        return None
    if 'value' in fact:
        return fact['value']
    numbers = fact.get('numbers')
    if numbers is None:
        return None
    return numbers[0] if len(numbers) == 1 else list(numbers)
