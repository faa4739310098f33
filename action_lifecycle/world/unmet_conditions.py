# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Formats evidence of the world model: the values of facts, or why a fact has no value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from .condition import WatchOutcome, WatchResult
from .evidence import Evidence, FactValue, TruthValue, Validity
from .expressions.functions import NAN
from .facts.facts_file import TF_TOPICS
from ..lifecycle.ports import CONFIRM_CODES, Confirmation
from ..lifecycle.states import ErrorCode
from ..lifecycle.text_format import value_in_words

RECENT = 5.0  #: s; messages arrive if one came less than this ago
SIMULATED = 1e8  #: s; a stamp below is simulated time (it would be of 1973)


class Topics(dict[str, str]):
    """Resolved topic names by the names in the facts file; `why` explains a missing sample."""

    def __init__(self, names: Mapping[str, str], why: Callable[[str], str]) -> None:
        super().__init__(names)
        self.why = why


_IS = {TruthValue.TRUE: 'is true', TruthValue.FALSE: 'is false',
       TruthValue.UNKNOWN: 'is not known'}


def confirmation(result: WatchResult, topics: Topics) -> Confirmation:
    """Return the result of a watch for the lifecycle."""
    verdict = result.outcome.name.lower()
    return Confirmation(
        verdict, [entry.as_dict() for entry in result.evidence],
        CONFIRM_CODES.get(verdict, ErrorCode.NONE),
        '' if result.outcome is WatchOutcome.CONFIRMED else unmet_text(result.evidence, topics))


def unmet_text(evidence: Iterable[Evidence], topics: Topics) -> str:
    """Format the evidence of conditions as a string; conditions that are not true come first."""
    entries = sorted(evidence, key=lambda entry: entry.verdict is TruthValue.TRUE)
    return '; '.join(
        f'{entry.condition}: {entry.expression} {_was(entry)} ('
        + (', '.join(_fact_in_words(fact, entry.stamp, topics) for fact in entry.facts)
           or 'no facts') + ')' + (f': {entry.note}' if entry.note else '')
        for entry in entries)


def _was(entry: Evidence) -> str:
    """Return the verdict in words; of a hold that was not reached, how long it was true."""
    if entry.longest >= entry.hold:
        return _IS[entry.verdict]
    held = f'was true for {entry.longest:.2g} s of {entry.hold:g} s'
    return held if entry.verdict is TruthValue.TRUE else \
        _IS[entry.verdict] + (f', and {held} before' if entry.longest else '')


def unseen_text(evidence: Iterable[Evidence], topics: Topics) -> str:
    """Return the facts of evidence that have no valid value, and why; '' if there are none."""
    return ', '.join(dict.fromkeys(
        _fact_in_words(fact, entry.stamp, topics) for entry in evidence
        if entry.verdict is TruthValue.UNKNOWN
        for fact in entry.facts if fact.validity is not Validity.VALID))


def _fact_in_words(fact: FactValue, now: float, topics: Topics) -> str:
    value = value_in_words(fact.as_dict())
    words = ' '.join(part for part in (fact.name, value, value and fact.unit) if part)
    if fact.validity is Validity.VALID:
        return words
    return f'{words} {fact.validity.name.lower()}: {silence(fact, now, topics)}'


def silence(fact: FactValue, now: float, topics: Topics) -> str:
    """Return why a fact has no value at `now` (ROS time, s), with topic and age of the sample."""
    if fact.of is not None:
        return f"'{fact.of.name}' is {fact.of.validity.name.lower()}: " \
            + silence(fact.of, now, topics)
    name = TF_TOPICS[0] if fact.tf else fact.topic
    topic = topics.get(name, name)
    if fact.stamp <= 0:
        why = topics.why(name) if topic else ''
        if fact.note:
            return fact.note + (f' ({topic}: {why})' if why and why not in fact.note else '')
        return f'no sample on {topic} yet' + (why and f' ({why})') if topic else 'not seen yet'
    if fact.validity is Validity.STALE:
        return _stale(fact, topic, now)
    if fact.note and (fact.value is not None or not topic):  # unhealthy, or computed from such
        return fact.note
    if fact.value is None:
        return (f"the last sample{topic and f' on {topic}'} has no value: "
                + (fact.note or NAN))
    return (f"the last sample{topic and f' on {topic}'} is {now - fact.stamp:.3g} s old "
            'and does not count')


def _stale(fact: FactValue, topic: str, now: float) -> str:
    """Return why the newest sample is too old: nothing came since, or its stamp was old."""
    came = now - fact.stamp - fact.late  # s since then
    arrive = 'messages arrive' + (topic and f' on {topic}')
    clocks = f'{fact.late:.3g} s old: look at the clocks of the machines'
    note = fact.note and f'; {fact.note}'
    if came < min(fact.late, RECENT):  # not long ago, for such a stamp
        if fact.stamp < SIMULATED < fact.stamp + fact.late:
            return f'{arrive}, but their stamps are {fact.stamp:.1f} s, those of a simulation, ' \
                'and this node reads the clock of its machine: set use_sim_time alike'
        return f'{arrive}, but their stamps are {clocks}{note}'
    if fact.note and not fact.tf:
        return f'the newest stamp on {topic} is {now - fact.stamp:.3g} s old{note}'
    late = f', and its last stamp was {clocks}' if fact.late else ''
    if fact.tf:
        return f'the pose from {topic} is {now - fact.stamp:.3g} s old{late}{note}'
    return f"{topic or 'the last sample'} has been silent for {came:.3g} s{late}"
