# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What the sensors were asked in a run, and what they said.

This is read from the topic of the bridge or from evidence traces; see `journaled` for journals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..bag import Bag
from ..errors import BagError
from ...documents.errors import LifecycleError
from ...documents.json_text import read_object
from ...documents.stamps import to_seconds
from ...lifecycle.ports import Condition, Evidence
from ...traces.contents import Confirmed, TraceKey
from ...traces.reader import TraceReader
from ...world.condition import WatchOutcome
from ...world.evidence_messages import evidence_from

TYPE = 'action_lifecycle_msgs/msg/Confirmation'
TOPIC = 'confirmations'  #: last part of the topic's name; before it is the name of the bridge


CONFIRM, REQUIRE, MAINTAIN = 'confirm', 'require', 'maintain'
VIOLATED, MAINTAINED = 'violated', 'maintained'


@dataclass(frozen=True)
class Recorded:
    """
    A confirmation, or the conditions that a motion had to maintain; times in s of ROS time.

    Of a motion, `started` and `ended` are its begin and its end, or the violation.
    """

    flow_id: str
    action_id: str
    attempt: int
    started: float
    ended: float
    after: float  #: only samples with a later stamp counted; 0: all
    conditions: Sequence[Condition]
    verdict: str  #: confirmed, refuted, timed_out or stale; violated or maintained
    evidence: Sequence[Evidence] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    source: str = 'topic'  #: topic, traces or journal
    kind: str = CONFIRM  #: confirm, require or maintain
    fault: str = ''  #: why it can't be judged
    stopped_by: str = ''  #: why the motion was stopped, if not by a violation

    @property
    def name(self) -> str:
        """Return the action with its flow and the attempt, for messages."""
        action = '/'.join(filter(None, (self.flow_id, self.action_id)))
        return f'{action} ({self.attempt})' if self.attempt > 1 else action


def confirmation_topics(bag: Bag) -> list[str]:
    """Return the topics of a bag that have confirmations, one for each bridge."""
    return sorted(name for name, topic in bag.topics.items() if topic.type == TYPE)


def recorded_in_bag(bag: Bag, topic: str) -> list[Recorded]:
    """Return the confirmations of a topic; raises BagError if one can't be used."""
    found = []
    for entry in bag.messages([topic]):
        try:
            found.append(_from_message(entry.message))
        except (LifecycleError, AttributeError) as error:
            raise BagError(f"{bag.path}: topic '{topic}', message at {entry.log_time:.3f} s: "
                           f'{error}') from error
    return found


def _from_message(message: Any) -> Recorded:
    conditions = [Condition(entry.name or 'condition', entry.expression, entry.hold, entry.within,
                            entry.max_age) for entry in message.conditions]
    return Recorded(
        message.flow_id, message.action_id, message.attempt, to_seconds(message.started),
        to_seconds(message.stamp), to_seconds(message.after), conditions,
        _verdict(message.verdict), [evidence_from(entry) for entry in message.evidence],
        read_object(message.parameters_json, 'parameters_json'), kind=_kind(conditions))


def _verdict(number: int) -> str:
    try:
        return WatchOutcome(number).name.lower()
    except ValueError:
        raise LifecycleError(f'verdict {number}: expected 1 to 4') from None


def _kind(conditions: Sequence[Condition]) -> str:
    return conditions[0].name if conditions else CONFIRM


def recorded_in_traces(path: Path) -> Iterator[Recorded]:
    """Yield the confirmations of a file of evidence traces; raises TraceError."""
    with TraceReader(path) as reader:
        for trace in reader.traces():
            for entry in trace.confirmations:
                yield from_trace(trace.key, entry)


def from_trace(key: TraceKey, entry: Confirmed) -> Recorded:
    """Return a confirmation of a trace."""
    return Recorded(
        *key, entry.started, entry.ended, max(0.0, entry.after), entry.conditions, entry.verdict,
        entry.evidence, entry.parameters, 'traces', _kind(entry.conditions))
