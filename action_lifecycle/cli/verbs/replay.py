# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `replay`: judges recorded confirmations again from bags."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
import sys
from typing import Any

from ..exits import BAD_INPUT, DONE, FLOW_FAILED
from ..given_parameters import given_parameter
from ..table import arrow, date_of, print_json, print_rows
from ...bags.attachment import attached_text, FACTS
from ...bags.bag import Bag, read_bag
from ...bags.errors import BagError
from ...bags.field_kinds import BagFieldKinds
from ...bags.replay.comparison import Comparison, deciding, Status
from ...bags.replay.flow_conditions import FlowConditions
from ...bags.replay.judge import replay as judge
from ...bags.replay.recorded import (
    confirmation_topics,
    Recorded,
    recorded_in_bag,
    recorded_in_traces,
)
from ...bags.replay.topic_names import topic_names, TopicNames
from ...traces.contents import SUFFIX, trace_path
from ...world.facts.facts import FactSet, load_facts, parse_facts


def replay(options: argparse.Namespace) -> int:
    """
    Print the differences to what was recorded; exit code 1 if a verdict differs.

    It is 2 if nothing was comparable.
    """
    question = FlowConditions(options.flow, dict(map(given_parameter, options.param))) \
        if options.flow else None
    found: list[Comparison] = []
    notes: list[str] = []
    for path in options.bags:
        with read_bag(path) as bag:
            names = topic_names(bag, options.namespace, options.remap)
            recorded, note = _recorded(bag, names, options.traces)
            notes.extend(note)
            facts = _facts(options.facts, bag)
            found.extend(judge(bag, facts, recorded, names, question=question))
            notes.extend(bag.notes)
    if not found:
        raise BagError('; '.join([*notes, 'there is no confirmation to judge: record the topic '
                                  "'confirmations' of the bridge, or give --traces FILE"]))
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
    bag: Bag, names: TopicNames, traces: str
) -> tuple[Sequence[Recorded], list[str]]:
    """Return the confirmations of a bag, and notes on where they are from."""
    if names.confirmations in confirmation_topics(bag):
        return recorded_in_bag(bag, names.confirmations), []
    if not traces:
        return [], [f"{bag.path}: no topic '{names.confirmations}'"]
    span = bag.span() or (0.0, 0.0)
    path = Path(traces) if traces.endswith(SUFFIX) else trace_path(traces)
    within = [one for one in recorded_in_traces(path)
              if span[0] <= one.ended and one.started <= span[1]]
    return within, [f"{bag.path}: no topic '{names.confirmations}': {len(within)} confirmations "
                    f'are from {path}']


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
        Status.REFUTED, Status.CONFIRMED, Status.OTHER, Status.NOT_COMPARABLE) if counts[status]]
    return f'{len(found)} confirmations: ' + ', '.join(parts)
