# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Renders questions and checks answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .text import as_text
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest
from ..documents.templates.template import render, TemplateError
from ..journal.journal import Journal
from ..journal.row import JournalError
from ..lifecycle.ports import Evidence, Question
from ..lifecycle.text_format import evidence_in_words, has_controls, printable, value_of

MAX_QUESTION = 4096
"""Maximum length of a question, in characters; longer questions are cut."""
MAX_ANSWER = 4096
MAX_ACTOR = 200
HISTORY = 50
"""Number of an action's last changes that are available in templates."""


def worded(
    question: Question, facts: Callable[[], Mapping[str, Any]], journal: Journal | None
) -> str:
    """Return the rendered question; if its template fails, the template, error and evidence."""
    names = {
        **question.names, 'flow': question.flow_id, 'action': question.action_id,
        'evidence': list(question.evidence), 'facts': known_facts(question.evidence, facts()),
        'history': _history(question, journal)}
    try:
        text = as_text(render(question.text, names))
    except TemplateError as error:
        seen = '; '.join(map(evidence_in_words, question.evidence))
        text = f'{question.text}\n({error})' + (f'\n{seen}' if seen else '')
    return printable(text, MAX_QUESTION)


def known_facts(evidence: Sequence[Evidence], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the current facts; an unknown fact has its value in the evidence, or None."""
    found = {fact['name']: value_of(fact) for item in evidence for fact in item.get('facts', ())}
    return {**found, **{
        name: value for name, value in now.items() if value is not None or name not in found}}


def _history(question: Question, journal: Journal | None) -> list[dict[str, Any]]:
    if journal is None or not question.flow_id or 'history' not in question.text:
        return []
    try:
        rows = list(journal.rows(
            flow_id=question.flow_id, action_id=question.action_id, kind='transition'))
    except JournalError:
        return []
    return [{'event': row.event, 'from': row.from_state, 'to': row.to_state,
             'attempt': row.attempt, 'cause': row.cause, 'actor': row.actor}
            for row in rows[-HISTORY:]]


def said_by_person(options: Sequence[str], answer: str, actor: str, comment: str) -> None:
    """Check a person's answer; raises `LifecycleError` if it is not valid."""
    if not actor.strip():
        raise LifecycleError('actor: the answer does not say who gives it')
    for name, text, longest in (('answer', answer, MAX_ANSWER), ('comment', comment, MAX_ANSWER),
                                ('actor', actor, MAX_ACTOR)):
        if len(text) > longest:
            raise LifecycleError(f'{name}: {len(text)} characters, at most {longest} are taken')
        if has_controls(text):
            raise LifecycleError(f'{name}: control characters are not taken')
    if options and answer not in options:
        raise LifecycleError(f'answer: {answer[:100]!r} is not one of the options: '
                             + ', '.join(options) + nearest(answer[:100], options))
    if not answer.strip():
        raise LifecycleError('answer: is empty')
