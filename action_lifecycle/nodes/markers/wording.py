# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The text of a marker: the action and its state, and below it the evidence."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .shown_actions import GONE, ShownAction
from ...documents.errors import LifecycleError
from ...lifecycle.ports import Evidence
from ...lifecycle.text_format import fact_in_words, printable, value_of
from ...world.expressions.expression import compile_expression

MOST_FACTS = 5
"""Maximum number of facts in a line."""
LONGEST = 120
"""Maximum number of characters of a line."""


def marker_text(action: ShownAction) -> str:
    """Return the text of an action: one line, or two if there is evidence or a note."""
    state = 'ended' if action.state == GONE else action.look.label
    attempt = f' (attempt {action.attempt})' if action.attempt > 1 else ''
    below = evidence_line(action.evidence) or action.note
    return '\n'.join(_line(text) for text in (f'{action.action_id}: {state}{attempt}', below)
                     if text)


def evidence_line(evidence: Sequence[Evidence]) -> str:
    """
    Return the verdict and the decisive values of the last condition that is not true.

    If all are true, it is that of the last one; '' without evidence.
    """
    decided = [entry for entry in evidence if entry['verdict'] != 'true'] or evidence
    if not decided:
        return ''
    entry = decided[-1]
    facts = list(decisive_facts(entry))
    values = [f"{fact['name']} = {fact_in_words(fact, fact.get('unit', ''))}"
              for fact in facts[:MOST_FACTS]] + ['…'] * (len(facts) > MOST_FACTS)
    name = entry['condition'] or 'condition'
    return f"{name} {entry['verdict']}" + (f": {', '.join(values)}" if values else '')


def decisive_facts(evidence: Evidence) -> Iterator[Mapping[str, Any]]:
    """
    Yield the facts of the terms, joined by `and`, that made a condition false or unknown.

    Of a true condition, and if the terms can't be evaluated again, these are all its facts.
    """
    facts = {fact['name']: fact for fact in evidence['facts']}
    expected = {'false': False, 'unknown': None}
    names: list[str] = []
    if evidence['verdict'] in expected:
        for term in _terms(evidence['expression']):
            try:
                expression = compile_expression(term, None)
                result = expression.evaluate([
                    _operand(facts[name]) if name in facts else None
                    for name in expression.names])
            except LifecycleError:
                continue
            if np.ndim(result):  # a fact that is no single number is none that it decided by
                continue
            if (result if result is None else bool(result)) is expected[evidence['verdict']]:
                names += expression.names
    found = [facts[name] for name in dict.fromkeys(names) if name in facts]
    yield from found or facts.values()


def _terms(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(' '.join(text.split()), mode='eval').body
        if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
            yield from map(ast.unparse, tree.values)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


def _operand(fact: Mapping[str, Any]) -> Any:
    """Return the value with which an expression computes; None: unknown."""
    value = value_of(fact) if fact.get('validity') == 'valid' else None
    try:
        return np.array(value, dtype=float) if isinstance(value, list) else value
    except (TypeError, ValueError):  # of strings, or of lists of different lengths
        return value


def _line(text: str) -> str:
    return printable(' '.join(text.split()), LONGEST)
