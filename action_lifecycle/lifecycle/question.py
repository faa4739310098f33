# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Questions to people, with the evidence that they are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Evidence = dict[str, Any]
"""
One evaluated condition, as JSON-compatible data.

`condition` (its name), `expression`, `verdict` (`true`, `false`, `unknown`), `stamp` and `held`
(s), `facts`: a list of `name`, `stamp`, `topic`, `validity` (`valid`, `stale`, `unknown`),
`numbers` or `value`, `unit`.
"""


class Handle(Protocol):
    """A running request."""

    def cancel(self) -> None:
        """Cancel the request; the result of a motion still comes."""


@dataclass(frozen=True)
class Question:
    """
    A question to a person about an action.

    `text` is a template that may read `facts`, `evidence`, `history` and `names`. If `key` is that
    of a question from before a restart, the question continues with the same id, deadline and
    answer, if it was answered.
    """

    kind: str  #: constants of OperatorRequest: verify, fallback, resume and so on
    flow_id: str
    action_id: str
    text: str
    options: Sequence[str]  #: the accepted answers; empty: any string
    evidence: Sequence[Evidence] = ()
    key: str = ''
    timeout: float = 0.0  #: s; 0: no limit
    default: str = ''  #: the answer at the timeout
    link: str = ''
    names: Mapping[str, Any] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)  #: option by alternative answer


class Operator(Protocol):
    """The people who answer questions."""

    def ask(
        self, question: Question, answer: Callable[[str, str], None],
        expired: Callable[[], None] = lambda: None,
    ) -> Handle:
        """
        Ask a question; `answer(option, actor)` is called once.

        At the timeout the default is the answer; without a default, `expired` is called.
        """

    def read_back(self, row: Any) -> None:
        """Restore a question, an answer or an entry of a dialogue from a note in the journal."""
