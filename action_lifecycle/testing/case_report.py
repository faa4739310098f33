# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Describes failed cases: the differences, what each action did, and what servers got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from .cases import CaseResult
from ..lifecycle.states import ActionState

GOALS = 30  #: that are listed
_BEGINNING = ActionState.IN_PROGRESS.value


def failure_text(path: Path, result: CaseResult) -> str:
    """Return the differences of a failed case, a line each, then the attempts of its actions."""
    lines = [f'{path}:{result.line}: {fault}' for fault in result.faults]
    return '\n'.join([*lines, *_actions(result)])


def _actions(result: CaseResult) -> Iterator[str]:
    report = result.report
    if report is None:
        return
    for name, action in report.actions.items():
        yield f"  {name}: {action.outcome or 'open'}"
        for attempt in _attempts(action.states):
            yield f"    {' → '.join(attempt)}"
        if action.cause:
            yield f'    {action.error}: {action.cause}'
        for asked, text in report.asked:
            if asked == name:
                question = text.replace(action.cause, '…') if action.cause else text
                yield f'    asked: {question}'
    for goal in report.goals[:GOALS]:
        yield f"  at {goal.at:.2f} s {goal.server}: {goal.end or 'no answer'}"
    if len(report.goals) > GOALS:
        yield f'  and {len(report.goals) - GOALS} more goals'


def _attempts(states: Sequence[str]) -> Iterator[list[str]]:
    """Yield the states of each attempt."""
    attempt: list[str] = []
    for state in states:
        if state == _BEGINNING and attempt:
            yield attempt
            attempt = []
        attempt.append(state)
    yield attempt or ['not started']
