# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The open questions to people, by the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .shown import QuestionNow
from ...journal.row import JournalError, Row
from ...lifecycle.flow_ids import is_within, shown


class OpenQuestions:
    """The questions that rows have asked and that are neither answered nor withdrawn."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Row, QuestionNow]] = {}

    def open(self) -> list[QuestionNow]:  # noqa: A003
        """Return the open questions, in order of their rows."""
        return [question for _, question in self._open.values()]

    def take(self, row: Row) -> bool:
        """Take a row; returns whether it has changed the questions."""
        if row.kind == 'note':
            if not row.event.startswith('question_'):
                return False
            try:
                data = row.data
            except JournalError:
                return False
            key = str(data.get('id', ''))
            if row.event == 'question_asked':
                self._open[key] = row, _question(key, row, data)
                return True
            return self._open.pop(key, None) is not None
        if not self._open or row.kind not in ('transition', 'flow') or (
                row.kind == 'flow' and not row.final):
            return False
        over = [key for key, (asked, _) in self._open.items() if (
            is_within(asked.flow_id, row.flow_id) if row.kind == 'flow'
            else (asked.flow_id, asked.action_id) == (row.flow_id, row.action_id))]
        for key in over:
            del self._open[key]
        return bool(over)


def _question(key: str, row: Row, data: Mapping[str, Any]) -> QuestionNow:
    options, deadline = data.get('options'), data.get('deadline')
    flow_id, path = shown(row.flow_id, row.action_id)
    return QuestionNow(
        key, '', str(data.get('kind', '')), flow_id, path, str(data.get('text', '')),
        tuple(map(str, options)) if isinstance(options, list) else (),
        str(data.get('default', '')), '', row.ros_time or 0.0,
        float(deadline) if isinstance(deadline, (int, float)) else 0.0, ())
