# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `replay`: judges again from bags what the sensors were asked in a run."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
import sys
from typing import Any, NamedTuple

from ..exits import BAD_INPUT, DONE, FLOW_FAILED
from ..given_parameters import given_parameter
from ..table import arrow, date_of, print_json, print_rows
from ...bags.attachment import attached_text, FACTS
from ...bags.bag import Bag, read_bag
from ...bags.errors import BagError
from ...bags.field_kinds import BagFieldKinds
from ...bags.replay.clock import spans_of
from ...bags.replay.comparison import Comparison, deciding, Status
from ...bags.replay.flow_conditions import FlowConditions
from ...bags.replay.journaled import JournaledRuns
from ...bags.replay.journaled_times import with_traces
from ...bags.replay.judge import replay as judge
from ...bags.replay.recorded import (
    confirmation_topics,
    MAINTAIN,
    Recorded,
    recorded_in_bag,
    recorded_in_traces,
)
from ...bags.replay.topic_names import topic_names, TopicNames
from ...traces.contents import SUFFIX, trace_path
from ...world.facts.facts import FactSet
from ...world.facts.loader import load_facts, parse_facts


def replay(options: argparse.Namespace) -> int:
    """
    Print the differences to what was recorded; exit code 1 if a verdict differs.

    It is 2 if nothing was comparable.
    """
    notes: list[str] = []
    journal = _journal(options, notes) if options.journal else None
    question = FlowConditions(
        options.flow, dict(map(given_parameter, options.param)), journal and journal.runs) \
        if options.flow else None
    found: list[Comparison] = []
    for path in options.bags:
        with read_bag(path) as bag:
            names = topic_names(bag, options.namespace, options.remap)
            recorded, more = _recorded(bag, names, options.traces, journal)
            notes.extend(more)
            facts = _facts(options.facts, bag)
            found.extend(judge(bag, facts, recorded, names, question=question))
            notes.extend(bag.notes)
    if question is not None:
        notes.extend(question.notes)
    if not found:
        raise BagError('; '.join([*notes, 'there is no confirmation to judge: record the topic '
                                  "'confirmations' of the bridge, or give --journal FILE or "
                                  '--traces FILE']))
    if options.json:
        print_json({'confirmations': [one.as_dict() for one in found
                                      if options.all or one.status is not Status.SAME],
                    'summary': _counts(found), 'notes': notes})
    else:
        for note in notes:
            print(f'note: {note}', file=sys.stderr)
        _print_table([one for one in found if options.all or one.status is not Status.SAME])
        print(_summary(found))
    if all(one.reason for one in found):
        return BAD_INPUT
    return FLOW_FAILED if any(one.differs for one in found) else DONE


class _Journal(NamedTuple):
    path: str
    runs: JournaledRuns
    recorded: Sequence[Recorded]  #: with the times in traces, if there are some


def _journal(options: argparse.Namespace, notes: list[str]) -> _Journal:
    """Return what a journal has of the times of the bags."""
    spans: list[tuple[float, float]] = []
    for path in options.bags:
        with read_bag(path) as bag:
            spans += spans_of(bag)
    runs = JournaledRuns(options.journal, spans)
    traces = _trace_file(options.traces or options.journal)
    if options.traces or traces.exists():
        return _Journal(options.journal, runs, list(with_traces(runs.recorded, traces)))
    notes.append(f'{traces}: no traces: the times at which motions and confirmations began are '
                 'those of the requests in the journal, some milliseconds earlier')
    return _Journal(options.journal, runs, runs.recorded)


def _trace_file(path: str) -> Path:
    """Return a file of traces, given itself or its journal."""
    return Path(path) if path.endswith(SUFFIX) else trace_path(path)


def _facts(path: str, bag: Bag) -> FactSet:
    """Return the facts of a file; '': of the one that is attached to the bag."""
    if path:
        return load_facts(path, BagFieldKinds(bag))
    text = attached_text(bag.path, FACTS)
    if not text:
        raise BagError(f'{bag.path}: no facts file is attached (black boxes have one): '
                       'expected --facts FILE')
    return parse_facts(text, f'{bag.path}: {FACTS}', BagFieldKinds(bag))


def _recorded(
    bag: Bag, names: TopicNames, traces: str, journal: _Journal | None
) -> tuple[Sequence[Recorded], list[str]]:
    """Return what was recorded in the time of a bag, and notes on where it is from."""
    spans = spans_of(bag)
    journaled = [] if journal is None else _within(journal.recorded, spans)
    if names.confirmations in confirmation_topics(bag):
        return [*recorded_in_bag(bag, names.confirmations),
                *(one for one in journaled if one.kind == MAINTAIN)], []
    missing = f"{bag.path}: no topic '{names.confirmations}'"
    if journal is not None:
        count = sum(one.kind != MAINTAIN for one in journaled)
        return journaled, [f'{missing}: {count} confirmations are from {journal.path}']
    if not traces:
        return [], [missing]
    path = _trace_file(traces)
    within = _within(recorded_in_traces(path), spans)
    return within, [f'{missing}: {len(within)} confirmations are from {path}']


def _within(
    recorded: Iterable[Recorded], spans: Sequence[tuple[float, float]]
) -> list[Recorded]:
    return [one for one in recorded
            if any(first <= one.ended and one.started <= last for first, last in spans)]


def _print_table(found: Sequence[Comparison]) -> None:
    if not found:
        return
    print_rows(
        ['action', 'time', 'recorded ' + arrow() + ' replayed', 'result', 'why'],
        [[one.recorded.name, date_of(one.recorded.started), _verdicts(one), one.status.value,
          one.reason or '; '.join(one.differences) if not one.differs else
          deciding(one.evidence)] for one in found])


def _verdicts(one: Comparison) -> str:
    return f"{one.recorded.verdict} {arrow()} {one.verdict or '?'}"


def _counts(found: Sequence[Comparison]) -> dict[str, Any]:
    counts = Counter(one.status for one in found)
    return {status.value: counts[status] for status in Status}


def _summary(found: Sequence[Comparison]) -> str:
    """Return the counts in words."""
    counts = Counter(one.status for one in found)
    same = counts[Status.SAME] + counts[Status.VALUES]
    parts = [f'{same} same' + (f' ({counts[Status.VALUES]} with other values)'
                               if counts[Status.VALUES] else '')]
    parts += [f'{counts[status]} {status.value}' for status in (
        Status.REFUTED, Status.CONFIRMED, Status.OTHER, Status.VIOLATED, Status.MAINTAINED,
        Status.NOT_COMPARABLE) if counts[status]]
    motions = sum(one.recorded.kind == MAINTAIN for one in found)
    what = [f'{len(found) - motions} confirmations', f'{motions} motions']
    return f"{' and '.join(what if motions else what[:1])}: " + ', '.join(parts)
