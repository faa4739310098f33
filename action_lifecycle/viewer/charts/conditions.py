# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The conditions of an attempt: what was required, kept and confirmed, with their evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..record.shown import AttemptShown
from ...traces import Confirmed, Trace


class Judged(NamedTuple):
    """
    A condition of an attempt.

    `evidence`: as journaled, None if it has none (a condition that was kept during the motion, or
    is not judged yet); `confirmed`: the confirmation in which it was judged, None without a trace.
    """

    name: str
    expression: str
    verdict: str  #: true, false, unknown; '': not judged yet
    evidence: Mapping[str, Any] | None
    confirmed: Confirmed | None = None

    @property
    def facts(self) -> Sequence[Mapping[str, Any]]:
        """Return the facts of its evidence."""
        found = (self.evidence or {}).get('facts')
        return [fact for fact in found if isinstance(fact, Mapping) and 'name' in fact] \
            if isinstance(found, list) else []


def conditions_of(
    attempt: AttemptShown, trace: Trace | None = None, until: float | None = None
) -> list[Judged]:
    """
    Return the conditions of an attempt, in the order in which they were judged first.

    `until`: only what a trace has up to this ROS time (s).
    """
    found: dict[tuple[str, str], Judged] = {}
    for evidence in [*_mappings(attempt.required), *_mappings(attempt.evidence)]:
        judged = Judged(str(evidence.get('condition', '')), str(evidence.get('expression', '')),
                        str(evidence.get('verdict', 'unknown')), evidence)
        found[judged[:2]] = judged
    if trace is None:
        return list(found.values())
    ordered: dict[tuple[str, str], Judged] = {}
    for change in trace.changes:
        if until is None or change.time <= until:
            key = change.condition, change.expression
            judged = found.get(key) or Judged(*key, '', None)
            ordered[key] = judged if judged.evidence else judged._replace(verdict=change.verdict)
    for key, judged in found.items():
        ordered.setdefault(key, judged)
    return [judged._replace(confirmed=_confirmation(trace, judged, until))
            for judged in ordered.values()]


def _confirmation(trace: Trace, judged: Judged, until: float | None) -> Confirmed | None:
    """Return the last confirmation that judged a condition."""
    return next((each for each in reversed(trace.confirmations)
                 if until is None or each.ended <= until
                 if any((one.name, one.expression) == judged[:2] for one in each.conditions)),
                None)


def _mappings(evidence: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    return (each for each in evidence if isinstance(each, Mapping))
