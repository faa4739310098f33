# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Collects the labelled runs of a flow from journals, their traces, and a file of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .flow_text import FitError
from .labels import (
    confirmations_of,
    flows_named,
    journal_labels,
    Label,
    read_labels,
    SENSORS,
)
from .trace_world import data_end, Run
from ..journal.reader import JournalReader
from ..traces import Trace, trace_path, TraceKey, TraceReader


@dataclass
class Runs:
    """
    Labelled runs.

    `sources`: the number of labels of each source; `skipped`: why how many runs are not used.
    """

    runs: list[Run] = field(default_factory=list)
    sources: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def notes(self) -> Iterator[str]:
        """Yield what a reader must know about the labels."""
        if self.sources[SENSORS]:
            yield (f'{self.sources[SENSORS]} labels are the verdicts of the conditions '
                   'themselves: they can only confirm what the conditions say. Give labels of a '
                   'person, or of another measurement, with --labels')
        for why, count in sorted(self.skipped.items()):
            yield f'{count} runs not used: {why}'


def collect(journals: Sequence[str], flow: str, labels: str = '') -> Runs:
    """
    Return the labelled runs of the flow of this name.

    `labels`: a CSV file; with it, only its labels count. Raises FitError, DocumentError,
    JournalError or TraceError.
    """
    of_journal: dict[str, dict[TraceKey, Label]] = {}
    known: dict[TraceKey, str] = {}
    for path in journals:
        with JournalReader(path) as journal:
            flows = flows_named(journal, flow)
            for subject in confirmations_of(journal):
                if subject in known:
                    raise FitError(f'{path}: {subject.flow_id}/{subject.action_id}, attempt '
                                   f'{subject.attempt}, is also in {known[subject]}')
                known[subject] = path
            of_journal[path] = {subject: label for subject, label in
                                journal_labels(journal).items() if subject.flow_id in flows}
            if not flows:
                raise FitError(f"{path}: has no run of the flow '{flow}'")
    found = Runs()
    given = read_labels(labels, known.keys()) if labels else {}
    for path in journals:
        wanted = of_journal[path] if not labels else {
            subject: label for subject, label in given.items() if known[subject] == path}
        _add(found, path, wanted)
    return found


def _add(found: Runs, journal: str, labels: dict[TraceKey, Label]) -> None:
    if not labels:
        return
    with TraceReader(trace_path(journal)) as reader:
        traces = set(reader.subjects())
        for subject in sorted(labels):
            label = labels[subject]
            trace = reader.find(subject) if subject in traces else None
            if trace is None:
                found.skipped['no trace of the attempt'] += 1
            elif not trace.confirmations:
                found.skipped['its trace has no verdict'] += 1
            else:
                found.runs.append(run_of(trace, label))
                found.sources[label.source] += 1


def run_of(trace: Trace, label: Label) -> Run:
    """Return a run for the last confirmation of a trace."""
    confirmed = trace.confirmations[-1]
    following = min((mark.time for mark in trace.marks
                     if mark.time > confirmed.ended and mark.name.startswith('motion')),
                    default=float('inf'))
    return Run(trace, confirmed, label.there, label.source,
               data_end(trace, confirmed, following))
