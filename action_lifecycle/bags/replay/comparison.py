# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compares what was judged again with what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .recorded import MAINTAIN, Recorded, VIOLATED
from ...lifecycle.ports import Condition, Evidence
from ...lifecycle.text_format import fact_in_words


class Status(Enum):
    """The result of a comparison."""

    SAME = 'same'
    VALUES = 'other values'  #: the verdict is the same, the evidence is not
    CONFIRMED = 'newly confirmed'
    REFUTED = 'newly refuted'  #: was confirmed
    OTHER = 'another verdict'  #: neither of the two is confirmed
    VIOLATED = 'newly violated'  #: what a motion had to maintain
    MAINTAINED = 'newly maintained'
    NOT_COMPARABLE = 'not comparable'


@dataclass(frozen=True)
class Comparison:
    """What was recorded and how it was judged again; `reason`: why it was not."""

    recorded: Recorded
    conditions: Sequence[Condition]
    verdict: str = ''
    ended: float = 0.0
    evidence: Sequence[Evidence] = ()
    reason: str = ''
    differences: tuple[str, ...] = ()  #: of the evidence

    @property
    def status(self) -> Status:
        """Return the result."""
        before = self.recorded.verdict
        if self.reason:
            return Status.NOT_COMPARABLE
        if self.verdict == before:
            return Status.VALUES if self.differences else Status.SAME
        if self.recorded.kind == MAINTAIN:
            return Status.VIOLATED if self.verdict == VIOLATED else Status.MAINTAINED
        if self.verdict == 'confirmed':
            return Status.CONFIRMED
        return Status.REFUTED if before == 'confirmed' else Status.OTHER

    @property
    def differs(self) -> bool:
        """Whether the verdict is another one."""
        return self.status not in (Status.SAME, Status.VALUES, Status.NOT_COMPARABLE)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-compatible data."""
        recorded = self.recorded
        return {
            'flow_id': recorded.flow_id, 'action_id': recorded.action_id,
            'attempt': recorded.attempt, 'kind': recorded.kind, 'source': recorded.source,
            'started': recorded.started,
            'status': self.status.value, 'reason': self.reason,
            'conditions': [vars(condition) for condition in self.conditions],
            'recorded': {'verdict': recorded.verdict, 'ended': recorded.ended,
                         'evidence': list(recorded.evidence)},
            'replayed': {'verdict': self.verdict, 'ended': self.ended,
                         'evidence': list(self.evidence)} if not self.reason else None,
            'differences': list(self.differences)}


def deciding(evidence: Sequence[Evidence]) -> str:
    """Return the conditions that are not true, or all, with the values of their facts."""
    shown = [entry for entry in evidence if entry['verdict'] != 'true'] or evidence
    return '; '.join(
        f"{entry['expression']} is {entry['verdict']} ("
        + ', '.join(f"{fact['name']} {fact_in_words(fact, fact.get('unit', ''))}"
                    for fact in entry['facts']) + ')' for entry in shown)


def evidence_differences(
    before: Sequence[Evidence], after: Sequence[Evidence], tolerance: float
) -> Iterator[str]:
    """Yield how evidence differs; times (s) may differ by `tolerance`, values not at all."""
    for old, new in zip(before, after):
        name = old['condition']
        if old['verdict'] != new['verdict']:
            yield f"{name}: {old['verdict']}, now {new['verdict']}"
        for key in ('stamp', 'held'):
            if abs(old[key] - new[key]) > tolerance:
                yield f'{name}: {key} {old[key]:.6f}, now {new[key]:.6f}'
        facts = {fact['name']: fact for fact in new['facts']}
        for fact in old['facts']:
            yield from _fact_differences(fact, facts.get(fact['name']), tolerance)
    if len(before) != len(after):
        yield f'{len(before)} conditions, now {len(after)}'


def _fact_differences(
    old: Mapping[str, Any], new: Mapping[str, Any] | None, tolerance: float
) -> Iterator[str]:
    if new is None:
        yield f"{old['name']} is not read any more"
    elif _value(old) != _value(new) or old['validity'] != new['validity']:
        yield f"{old['name']}: {fact_in_words(old)}, now {fact_in_words(new)}"
    elif abs(old['stamp'] - new['stamp']) > tolerance:
        yield f"{old['name']}: measured at {old['stamp']:.6f}, now {new['stamp']:.6f}"


def _value(fact: Mapping[str, Any]) -> Any:
    return fact['value'] if 'value' in fact else fact.get('numbers') or None
