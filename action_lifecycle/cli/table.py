# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tables on the terminal: the actions of a flow now, and the result of each attempt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
import json
import os
import sys
import time
from typing import Any

from rich.box import Box, HEAVY_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .short_text import ShortText
from ..documents.json_text import read_object
from ..documents.stamps import to_seconds
from ..lifecycle.text_format import fact_in_words, flow_state_in_words, printable

_STYLES = {
    'assigned': 'dim', 'in_progress': 'cyan', 'executing_motion': 'bold cyan',
    'sensor_confirm': 'magenta', 'status_verification_requested': 'magenta', 'pending': 'yellow',
    'completed': 'green', 'error': 'bold red', 'fallback_requested': 'yellow',
    'fallback_received': 'yellow', 'succeeded': 'green', 'failed': 'bold red',
    'canceled': 'yellow', 'skipped': 'yellow',
}
WIDTH = 140
"""Width in columns if the output is not a terminal and COLUMNS is not set."""
LONGEST = 4096
"""Maximum number of characters shown in a cell."""
_SENSORS = {'confirmed': 'green', 'refuted': 'bold red'}


def console() -> Console:
    """
    Return a console for stdout; `WIDTH` columns wide if stdout is not a terminal.

    Colours are used on terminals only, and not if NO_COLOR is set.
    """
    fixed = not sys.stdout.isatty() and 'COLUMNS' not in os.environ
    return Console(highlight=False, width=WIDTH if fixed else None)


def arrow() -> str:
    """Return an arrow that the output can show."""
    try:
        '→'.encode(sys.stdout.encoding or 'ascii')
    except UnicodeEncodeError:
        return '->'
    return '→'


def print_json(data: Any) -> None:
    """Print data as JSON."""
    print(json.dumps(data, indent=2, ensure_ascii=False))


def print_rows(
    columns: Iterable[str], rows: Iterable[Iterable[Any]], short: Collection[str] = (),
) -> None:
    """Print a table, see `rows_table`."""
    console().print(rows_table(columns, rows, short=short))


def rows_table(
    columns: Iterable[str], rows: Iterable[Iterable[Any]], title: str = '',
    short: Collection[str] = (),
) -> Table:
    """
    Return a table; long cells are folded, so that ids stay complete.

    `short`: columns of which only the beginning of a long text is shown (see `ShortText`); their
    cells may be lists of texts.
    """
    columns = list(columns)
    table = Table(title=title or None, title_justify='left')
    for name in columns:
        table.add_column(name, overflow='fold')
    for row in rows:
        table.add_row(*(_short(cell) if name in short else Text(printable(str(cell), LONGEST))
                        for name, cell in zip(columns, row)))
    return table


def _short(cell: Any) -> ShortText:
    texts = cell if isinstance(cell, list) else [cell]
    return ShortText([printable(str(text), LONGEST) for text in texts])


def is_simulated(stamp: float) -> bool:
    """Whether a ROS time (s) is simulated time; wall time counts from 1970."""
    return stamp <= 1e8


def date_of(stamp: float) -> str:
    """Return ROS time (s) as a local date; simulated time in seconds."""
    if is_simulated(stamp):
        return f'{stamp:12.3f} s'
    return time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(stamp)) \
        + f'.{int(stamp % 1 * 1000):03d}'


def at_clock(seconds: float | None, clock: str = 'wall') -> str:
    """Return a wall-clock time as local ISO 8601, a time of another clock in seconds."""
    if seconds is None:
        return '-'
    if clock != 'wall':
        return f'{seconds:.3f} s'
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec='seconds')


def live_table(
    flow: Any, motion_words: Callable[[Any], str] = lambda action: '', age: float = 0.0,
) -> Table:
    """
    Return a table of the actions of a FlowStatus; `age`: s since it was received.

    `motion_words` describes the current motion step of an ActionStatus.
    """
    name = f'{flow.name} ({flow.flow_id})' if flow.name else flow.flow_id
    table = _action_table(
        ', '.join(filter(None, (
            f'{name}: {flow.done} of {flow.total} done',
            flow_state_in_words(flow.constellation_state), *control_words(flow))))
        + (f'; {printable(flow.planning)}' if flow.planning else ''),
        ('action', 'state', 'attempt', 'time', 'controller', 'sensors', 'what was seen'))
    for action in flow.actions:
        state = action.state.outcome or action.state.value
        table.add_row(
            action.action_id, Text(state, _STYLES.get(state, '')),
            str(action.attempt or ''), spent(flow, action, age), Text(action.controller_said),
            Text(action.sensors_said, _SENSORS.get(action.sensors_said, 'yellow')),
            Text(waits_for(action) or motion_words(action) or evidence_text(action.evidence)
                 or (action.error_msg if state in ('error', 'failed') else '')))
    return table


def _action_table(title: str, columns: Iterable[str], box: Box = HEAVY_HEAD) -> Table:
    table = Table(title=title, title_justify='left', box=box)
    for name in columns:
        table.add_column(name, overflow='fold', no_wrap=name in ('state', 'time'),
                         justify='right' if name in ('attempt', 'time') else 'left')
    return table


def spent(flow: Any, action: Any, age: float = 0.0) -> str:
    """Return the duration of an action's attempt so far; '' if there was no attempt."""
    if not action.attempt:
        return ''
    if action.state.outcome:  # `elapsed` runs on after the action's end
        age = -max(0.0, to_seconds(flow.stamp) - to_seconds(action.stamp))
    return f'{max(0.0, action.elapsed + age):.1f} s'


def control_words(flow: Any) -> list[str]:
    """Return what people have ordered of a FlowStatus: its pause, its breakpoints."""
    return [words for words in (
        f'paused by {printable(flow.paused_by)}' if flow.paused else '',
        f"breakpoints: {', '.join(flow.breakpoints)}" if flow.breakpoints else '') if words]


def waits_for(action: Any) -> str:
    """Return what a person must do before the action can continue; '' if nothing."""
    kind, _, why = action.blocked_reason.partition(': ')
    if kind == 'dependency' and why:
        return f'waits: {why}; check the robot, then call ~/clear_stop'
    return f'waits: {printable(why)}' if why else ''


def attempts_table(changes: Iterable[Any], box: Box = HEAVY_HEAD) -> Table:
    """Return a table with what controller and sensors reported in each attempt."""
    table = _action_table(
        'What the controller reported, and what the sensors showed',
        ('action', 'attempt', 'the controller said', 'the sensors said', 'evidence', 'outcome'),
        box)
    attempts: dict[str, dict[int, AttemptRow]] = {}
    for change in changes:
        attempts.setdefault(change.action_id, {}).setdefault(
            change.attempt, AttemptRow()).take(change)
    for action_id, numbered in attempts.items():
        for number, attempt in sorted(numbered.items()):
            table.add_row(
                action_id, str(number), Text(attempt.controller),
                Text(attempt.sensors, _SENSORS.get(attempt.sensors, 'yellow')),
                Text(attempt.seen), Text(attempt.outcome, _STYLES.get(attempt.outcome, '')))
    return table


@dataclass
class AttemptRow:
    """What the controller and the sensors reported in one attempt of an action."""

    controller: str = ''
    sensors: str = ''
    evidence: str = ''
    seen: str = ''  #: the evidence, or the cause of a failure without evidence
    error: str = ''
    outcome: str = ''

    def take(self, change: Any) -> None:
        """Add what an ActionStateChange reports."""
        data = read_object(change.data_json, 'data_json')
        self.controller = data.get('controller_said', self.controller)
        self.sensors = data.get('sensors_said', self.sensors)
        if change.evidence:
            self.evidence = self.seen = evidence_text(change.evidence)
        elif change.event == 'fail':
            self.seen = change.cause
        if change.to_state == 'error':
            self.error = change.cause
        self.outcome = change.outcome or (
            'error' if change.to_state == 'error' else self.outcome)


def evidence_text(evidence: Sequence[Any]) -> str:
    """Return the values of the facts in the evidence, each fact once."""
    values: dict[str, str] = {}
    for item in evidence:
        for fact in item.facts:
            values[fact.name] = fact_text(fact)
    return ', '.join(f'{name} {value}' for name, value in values.items())


def fact_text(fact: Any) -> str:
    """Return the value of a Fact with its unit; for a list, at most four numbers."""
    from ..world.evidence_messages import fact_from
    return fact_in_words(fact_from(fact), fact.unit, most=4, separator=' ', rest='...')
