# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A run of a flow as one HTML file that opens without a network and without scripts.

All values are escaped by the template engine, and a content security policy permits no request.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from . import times
from .curves import condition_picture
from ..charts.conditions import conditions_of, Judged
from ..graph.drawing import Drawing
from ..graph.style import graph_style
from ..looks import flow_look, look_of
from ..record import LocalRows
from ..record.flow_record import FlowRecord
from ..record.robot_record import RobotRecord
from ..record.shown import AttemptShown
from ...documents.errors import LifecycleError
from ...journal.row import Row
from ...lifecycle.flow_ids import stored
from ...lifecycle.text_format import fact_in_words, printable
from ...report.wording import duration
from ...traces import Trace, TraceError, TraceKey

LONGEST = 2000
"""Maximum number of characters of a cell."""
MAX_PICTURES = 60
MAX_ROWS = 5000
"""Maximum number of changes in the history; the journal has all."""


async def run_page(journal: Path, flow_id: str) -> tuple[str, str]:
    """
    Return the id of a flow, '' for the newest, and the HTML of its run.

    Raises LifecycleError if the journal has no such flow.
    """
    rows = LocalRows(journal)
    try:
        robot = RobotRecord(rows)
        if not flow_id:
            heads = await robot.heads(limit=1)
            if not heads:
                raise LifecycleError(f'{journal}: no flow has run')
            flow_id = heads[0].flow_id
        record = await robot.flow(flow_id)
        if not record.nodes() and not record.last_seq:
            raise LifecycleError(f"{journal}: no flow '{flow_id}'")
        return flow_id, await _Page(record, rows).render()
    finally:
        rows.close()


class _Page:

    def __init__(self, record: FlowRecord, rows: LocalRows) -> None:
        self._record = record
        self._rows = rows
        self._pictures = 0
        self._faults: dict[str, None] = {}

    async def render(self) -> str:
        record = self._record
        nodes, head, flow = record.nodes(), record.head, record.flow()
        seqs = record.seqs()
        last = seqs[-1][1] if seqs else head.began
        drawing = Drawing(nodes, record.shown)
        history = record.history()
        environment = Environment(
            loader=FileSystemLoader(Path(__file__).parent), autoescape=True,
            undefined=StrictUndefined, finalize=_shown, trim_blocks=True, lstrip_blocks=True)
        environment.filters.update(duration=duration, clock=_clock)
        actions = [await self._action(path) for path in nodes]
        return environment.get_template('run.html').render(
            head=head, flow=flow, look=flow_look(flow), took=(head.ended or last) - head.began,
            graph=drawing.svg(f'Flow {head.name}', every_tab=False),
            style=graph_style('') + times.STYLE,
            times=times.times_svg(list(nodes), record.bars(), last),
            kinds=times.legend(record.bars()),
            actions=actions, yaml=record.text(), fault=record.fault, faults=list(self._faults),
            history=[_words(row) for row in history[:MAX_ROWS]], rows=len(history))

    async def _action(self, path: str) -> dict[str, Any]:
        node, shown = self._record.nodes()[path], self._record.shown(path)
        attempts = [await self._attempt(path, attempt) for attempt in self._record.attempts(path)]
        return {'path': path, 'description': node.description, 'look': look_of(shown),
                'attempts': attempts, 'waits_for': shown.waits_for}

    async def _attempt(self, path: str, attempt: AttemptShown) -> dict[str, Any]:
        trace = await self._trace(path, attempt.number)
        conditions = [{'judged': each, 'facts': [_fact(fact) for fact in each.facts],
                       'picture': self._picture(trace, each)}
                      for each in conditions_of(attempt, trace)]
        return {'shown': attempt, 'conditions': conditions}

    async def _trace(self, path: str, number: int) -> Trace | None:
        try:
            return await self._rows.traces.find(
                TraceKey(*stored(self._record.flow_id, path), number))
        except TraceError as error:
            self._faults[str(error)] = None
            return None

    def _picture(self, trace: Trace | None, judged: Judged) -> str:
        if trace is None or self._pictures >= MAX_PICTURES or (
                judged.verdict == 'true' and judged.name != 'confirm'):
            return ''
        try:
            found = condition_picture(trace, judged, f'c{self._pictures}')
        except ModuleNotFoundError:
            self._faults["no curves: they need matplotlib: pip install 'action_lifecycle[report]'"
                         ] = None
            return ''
        self._pictures += bool(found)
        return found


def _fact(fact: Mapping[str, Any]) -> dict[str, str]:
    return {'name': str(fact['name']), 'value': fact_in_words(fact, str(fact.get('unit') or '')),
            'validity': str(fact.get('validity', '')), 'note': str(fact.get('note', ''))}


def _words(row: Row) -> dict[str, Any]:
    code = row.data_or_empty.get('error_code', '')
    change = f'{row.from_state} → {row.to_state}' if row.from_state != row.to_state else ''
    return {'seq': row.seq, 'time': row.wall_time, 'action': row.action_id, 'event': row.event,
            'change': change, 'cause': row.cause, 'actor': row.actor,
            'code': '' if code == 'NONE' else str(code)}


def _clock(seconds: float) -> str:
    """Return a wall time (s) as local date and time with ms."""
    return datetime.fromtimestamp(seconds).isoformat(' ', 'milliseconds')


def _shown(value: Any) -> Any:
    """Return a value without control characters, cut to `LONGEST` characters."""
    if not isinstance(value, str) or hasattr(value, '__html__'):  # no string, or HTML already
        return value
    return printable(value, LONGEST)
