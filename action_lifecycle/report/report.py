# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Adds up the runs in journals to a report.

The report is JSON-compatible data; docs/report.md describes its keys. A journal is read in pages
and a run is forgotten when it is added, so that a large journal needs little memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
import math
import os
from typing import Any, NamedTuple

from .intervals import holm
from .run_reader import RunReader, UNUSABLE
from .runs import ActionRun, FlowEnd
from .servers import Server, ServerFinder
from .tally import iso_time, Tally
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest
from ..journal.reader import JournalReader
from ..journal.row import JournalError, Row
from ..traces import TraceKey

FORMAT = 1
LEVELS = ('all', 'journal', 'flow', 'action', 'server')
SIGNIFICANT = 0.05
METHODS = {
    'shares': 'Wilson score interval, 95 %, of k of n',
    'mtbf': 'operating time / failures; exact Poisson interval (Garwood), 95 %',
    'times': 'median and 95th percentile of the visits of a state, linear interpolation',
    'trend': 'first-try success of the first against the second half of the runs: Fisher exact '
             'test, two-sided; p_corrected: Holm, over the groups of a level; differs: '
             f'p_corrected < {SIGNIFICANT:g}'}


Labels = Mapping[TraceKey, bool]
"""Whether the outcome of an attempt was there."""
NO_LABELS: Labels = {}


class Window(NamedTuple):
    """Which runs count: those that began in [since, until) (s, wall time), of these flows."""

    since: float = -math.inf
    until: float = math.inf
    flows: Collection[str] = ()

    def has(self, run: ActionRun | FlowEnd) -> bool:
        """Return whether a run of an action or of a flow counts."""
        return self.since <= run.began < self.until and (
            not self.flows or run.flow in self.flows)


EVERYTHING = Window()


@dataclass
class _Source:
    """A journal that has been read."""

    path: str
    rows: int = 0
    first: float = math.nan
    last: float = math.nan
    complete_from: int = 1  #: first row from which on no row is missing
    cut: int = 0
    genesis: str = ''  #: hash of its first row
    flows: dict[str | None, None] = field(default_factory=dict)

    def count(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Pass rows on, and take what the report says of the journal."""
        for row in rows:
            if not self.rows:
                self.genesis, self.first = row.hash, row.wall_time
            self.rows += 1
            self.last = row.wall_time
            yield row


Key = tuple[str, ...]


class _Groups:
    """The tallies by level and key."""

    def __init__(self) -> None:
        self.tallies: dict[tuple[str, Key], Tally] = {('all', ()): Tally()}

    def _of(self, level: str, key: Key) -> Tally:
        if (level, key) not in self.tallies:
            self.tallies[level, key] = Tally(conditions=level == 'action')
        return self.tallies[level, key]

    def _whole(self, run: ActionRun, journal: str) -> Iterator[Tally]:
        flow = run.flow or ''
        yield self._of('all', ())
        yield self._of('journal', (journal,))
        yield self._of('flow', (flow,))
        yield self._of('action', (flow, run.action_id))

    def add(self, run: ActionRun, journal: str) -> None:
        """Add an ended run."""
        for tally in self._whole(run, journal):
            tally.add(run)
        by_server: dict[Server, list[Any]] = {}
        for attempt in run.attempts:
            for server in attempt.servers:
                by_server.setdefault(server, []).append(attempt)
        for server, attempts in by_server.items():
            self._of('server', server).add(run, attempts)

    def add_flow(self, end: FlowEnd, journal: str) -> None:
        """Count a flow."""
        for level, key in (('all', ()), ('journal', (journal,)), ('flow', (end.flow,))):
            self._of(level, key).add_flow(end)

    def add_open(self, run: ActionRun, journal: str) -> None:
        """Count an open run."""
        for tally in self._whole(run, journal):
            tally.add_open()
        for server in run.attempts[0].servers if run.attempts else ():
            self._of('server', server).add_open()


NAMES = ('journal', 'flow', 'action', 'kind', 'server')
_NAMES = {'all': (), 'journal': ('journal',), 'flow': ('flow',), 'action': ('flow', 'action'),
          'server': ('kind', 'server')}


def read_report(
    paths: Sequence[str | os.PathLike[str]], window: Window = EVERYTHING,
    labels: Labels = NO_LABELS,
) -> dict[str, Any]:
    """
    Return the report of journals; `labels`: of attempts in them.

    Raises JournalError for a file that can't be read, has damaged rows, or is given twice;
    LifecycleError for a flow of the window that no journal has.
    """
    groups, finder, sources = _Groups(), ServerFinder(), list[_Source]()
    for path in paths:
        sources.append(_read(os.fspath(path), len(sources), groups, finder, window, labels))
        _refuse_copies(sources)
    known = {name for source in sources for name in source.flows if name is not None}
    for name in window.flows:
        if name not in known:
            raise LifecycleError(f"no journal has a flow '{name}'" + nearest(name, known))
    return {
        'format': FORMAT, 'methods': METHODS,
        'window': {'since': None if math.isinf(window.since) else iso_time(window.since),
                   'until': None if math.isinf(window.until) else iso_time(window.until),
                   'flows': sorted(window.flows)},
        'journals': [
            {'path': source.path, 'rows': source.rows, 'first': iso_time(source.first),
             'last': iso_time(source.last), 'complete_from': source.complete_from,
             'cut_actions': source.cut} for source in sources],
        'groups': [group for level in LEVELS for group in _figures(groups, level)]}


def _read(
    path: str, index: int, groups: _Groups, finder: ServerFinder, window: Window,
    labels: Labels,
) -> _Source:
    with JournalReader(path) as reader:
        source, runs = _Source(path), RunReader(index, finder)
        snapshot = reader.snapshot()
        if snapshot is not None:
            source.complete_from = int(snapshot.data.get('through', 0)) + 1
        try:
            for run in runs.runs(source.count(reader.intact_rows())):
                source.flows[run.flow] = None
                if window.has(run):
                    for attempt in run.attempts if labels else ():
                        attempt.there = labels.get(
                            TraceKey(run.flow_id, run.action_id, attempt.number))
                    _add(groups, run, path)
        except JournalError as error:
            text = str(error)
            raise JournalError(text if path in text or reader.path in text
                               else f'{path}: {text}') from error
        for end in (*runs.ended_flows, *runs.open_flows()):
            source.flows[end.flow] = None
            if window.has(end):
                groups.add_flow(end, path)
        for run in runs.open_runs:
            source.flows[run.flow] = None
            if window.has(run):
                groups.add_open(run, path)
        source.cut = len(runs.cut_runs)
    return source


def _add(groups: _Groups, run: ActionRun, path: str) -> None:
    try:
        groups.add(run, path)
    except UNUSABLE as error:
        raise JournalError(
            f'{path}: {run.flow_id}/{run.action_id}, from row {run.first_seq} on, has data that '
            f'can not be used: {error!r}') from error


def _refuse_copies(sources: list[_Source]) -> None:
    *before, last = sources
    for source in before:
        if last.genesis and source.genesis == last.genesis:
            raise JournalError(f'{last.path}: is the same journal as {source.path}, or a copy of '
                               'it; each action would count twice')


def _figures(groups: _Groups, level: str) -> Iterator[dict[str, Any]]:
    """Yield the figures of each group of a level, with its names."""
    found = sorted(((key, tally) for (which, key), tally in groups.tallies.items()
                    if which == level), key=lambda group: group[0])
    figures = [tally.figures() for _, tally in found]
    corrected = holm([each['trend']['p'] for each in figures])
    for (key, _), each, p in zip(found, figures, corrected):
        each['trend'].update(p_corrected=p, differs=p < SIGNIFICANT)
        names = dict.fromkeys(NAMES, '')
        yield {'level': level, **names, **dict(zip(_NAMES[level], key)), **each}
