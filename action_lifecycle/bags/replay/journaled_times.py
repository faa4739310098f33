# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
When the bridge began to judge what the journal has only the request and the verdict of.

A request takes some milliseconds to the bridge. The stamps in the evidence are the bridge's own;
traces have the very times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import dataclasses
from pathlib import Path

from .recorded import from_trace, MAINTAIN, Recorded
from ...lifecycle.ports import Condition, Evidence
from ...traces.contents import Trace, TraceKey
from ...traces.reader import TraceReader

LATENCY = 0.25  #: s; the longest way of a request to the bridge
ROUNDING = 1e-6  #: s; times on the way are rounded to ns, as sums of seconds to fractions of µs
BEGINS = 'motion_started'  #: mark of a trace


def asked_at(
    requested: float, conditions: Sequence[Condition], verdict: str, evidence: Sequence[Evidence]
) -> float | None:
    """
    Return when conditions began to be judged, given when this was requested (s of ROS time).

    None: it must have been longer after the request than a request takes.
    """
    if not evidence or not conditions:
        return requested
    ended = float(evidence[0]['stamp'])
    if verdict != 'confirmed':  # the bridge decides at the limit of a condition
        begins = [ended - condition.within for condition in conditions
                  if requested - ROUNDING <= ended - condition.within]
        return min(begins, default=requested)
    held_since = min(ended - float(entry['held']) for entry in evidence)
    if requested <= held_since <= requested + LATENCY:
        return held_since  # whether it was true before does not matter
    longest = max(condition.within for condition in conditions)
    return requested if ended <= requested + longest + LATENCY else None


def with_traces(recorded: Sequence[Recorded], path: Path) -> Iterator[Recorded]:
    """Yield what a journal has with the times of the bridge, where traces have them."""
    with TraceReader(path) as reader:
        known = set(reader.subjects())
        found: dict[TraceKey, Trace | None] = {}
        for one in recorded:
            key = TraceKey(one.flow_id, one.action_id, one.attempt)
            if key in known and key not in found:
                found = {key: reader.find(key)}  # those of an attempt follow one another
            trace = found.get(key)
            yield one if trace is None else _exact(one, trace)


def _exact(one: Recorded, trace: Trace) -> Recorded:
    if one.kind == MAINTAIN:
        begins = [mark.time for mark in trace.marks if mark.name == BEGINS
                  and one.started - ROUNDING <= mark.time <= one.ended]
        return dataclasses.replace(one, started=min(begins)) if begins else one
    for entry in trace.confirmations:
        same = from_trace(trace.key, entry)
        if same.kind == one.kind and same.verdict == one.verdict \
                and abs(same.ended - one.ended) < LATENCY:
            return same
    return one
