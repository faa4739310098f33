# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Formats evidence and messages as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
import re
from typing import Any

from .ports import Confirmation

MOST_NUMBERS = 7  #: maximum number of shown elements of a list
_CONTROLS = re.compile('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]')


def has_controls(text: str) -> bool:
    """Return whether a text has control characters or lone surrogates."""
    return _CONTROLS.search(text) is not None


def printable(text: str, longest: int) -> str:
    """Return a text cut to `longest` characters, with U+FFFD for control characters."""
    text = _CONTROLS.sub('\ufffd', text)
    return text if len(text) <= longest else text[:longest - 1] + '…'


def joined(*parts: str) -> str:
    """Join the nonempty parts by '; '."""
    return '; '.join(part for part in parts if part)


def in_words(answer: Confirmation) -> str:
    """Describe the conditions that were not met, with the values of their facts."""
    unmet = [describe(item) for item in answer.evidence if item.get('verdict') != 'true']
    return joined(answer.error_msg or joined(*unmet) or answer.verdict, answer.note)


def describe(evidence: dict[str, Any]) -> str:
    """Return one piece of evidence as a line: expression, verdict and values of facts."""
    facts = ', '.join(
        f"{fact['name']}={_value(fact)}" for fact in evidence.get('facts', ()))
    return f"{evidence['expression']} is {evidence['verdict']}" + (f' ({facts})' if facts else '')


def numbers_in_words(numbers: Sequence[Any]) -> str:
    """Return a list of numbers as text, shortened to `MOST_NUMBERS`."""
    shown = ', '.join(f'{float(number):.4g}' for number in numbers[:MOST_NUMBERS])
    return f"[{shown}{', …' if len(numbers) > MOST_NUMBERS else ''}]"


def _value(fact: dict[str, Any]) -> str:
    if fact.get('validity') == 'unknown':
        return 'never seen'
    numbers = fact.get('numbers')
    if numbers:
        text = f'{float(numbers[0]):.4g}' if len(numbers) == 1 else numbers_in_words(numbers)
    else:
        text = str(fact.get('value'))
    return text + (' (stale)' if fact.get('validity') == 'stale' else '')
