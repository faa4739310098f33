# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Tables for people: the actions of a flow as they are, and what each attempt came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
import json
import os
import sys
from typing import Any, Protocol

from rich.box import Box, HEAVY_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..lifecycle.words import printable

_STYLES = {
    'assigned': 'dim', 'in_progress': 'cyan', 'executing_motion': 'bold cyan',
    'sensor_confirm': 'magenta', 'status_verification_requested': 'magenta', 'pending': 'yellow',
    'completed': 'green', 'error': 'bold red', 'fallback_requested': 'yellow',
    'fallback_received': 'yellow', 'succeeded': 'green', 'failed': 'bold red',
    'canceled': 'yellow', 'skipped': 'yellow',
}
WIDTH = 140
"""Columns where the output is no terminal and COLUMNS does not say."""
LONGEST = 4096
"""Characters of a cell that are shown."""
_SENSORS = {'confirmed': 'green', 'refuted': 'bold red'}


def console() -> Console:
    """
    Return a console for stdout; wide enough for the tables where it is not a terminal.

    Colours are for terminals only, and not where NO_COLOR is set.
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
    """Print data as JSON, the same on a terminal and elsewhere."""
    print(json.dumps(data, indent=2, ensure_ascii=False))


def print_rows(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table; cells are folded, not cut: an id is no use in part."""
    table = Table()
    for name in columns:
        table.add_column(name, overflow='fold')
    for row in rows:
        table.add_row(*(Text(printable(str(cell), LONGEST)) for cell in row))
    console().print(table)


def at_clock(seconds: float | None, clock: str = 'wall') -> str:
    """Return a time of the wall clock as ISO 8601 with its offset, of another one in seconds."""
    if seconds is None:
        return '-'
    if clock != 'wall':
        return f'{seconds:.3f} s'
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec='seconds')


class Motions(Protocol):
    """What is known of motions beside their actions' states."""

    def motion_words(self, action: Any) -> str:
        """Return at which step the motion of an ActionStatus is, and its feedback."""


def live_table(flow: Any, motions: Motions | None = None, age: float = 0.0) -> Table:
    """Show the actions of a FlowStatus as they are now; `age`: s since it was told."""
    name = f'{flow.name} ({flow.flow_id})' if flow.name else flow.flow_id
    table = Table(title=f'{name}: {flow.done} of {flow.total} done, {flow.constellation_state}',
                  title_justify='left', expand=False)
    for name in ('action', 'state', 'attempt', 'time', 'controller', 'sensors', 'what was seen'):
        table.add_column(name, overflow='fold', no_wrap=name in ('state', 'time'),
                         justify='right' if name in ('attempt', 'time') else 'left')
    for action in flow.actions:
        state = action.state.outcome or action.state.value
        table.add_row(
            action.action_id, Text(state, _STYLES.get(state, '')),
            str(action.attempt or ''), spent(flow, action, age), Text(action.controller_said),
            Text(action.sensors_said, _SENSORS.get(action.sensors_said, 'yellow')),
            Text(waits_for(action) or (motions.motion_words(action) if motions else '')
                 or evidence_text(action.evidence)
                 or (action.error_msg if state in ('error', 'failed') else '')))
    return table


def spent(flow: Any, action: Any, age: float = 0.0) -> str:
    """Return how long the attempt of an action took, or goes on; '' if it never began."""
    if not action.attempt:
        return ''
    if action.state.outcome:  # the status counts on behind its end
        age = -max(0.0, _seconds(flow.stamp) - _seconds(action.stamp))
    return f'{max(0.0, action.elapsed + age):.1f} s'


def waits_for(action: Any) -> str:
    """Say what an ActionStatus waits for that only a person can give free; '' for nothing."""
    kind, _, why = action.blocked_reason.partition(': ')
    return f'waits: {why}; have a look, then call ~/clear_stop' if kind == 'dependency' else ''


def attempts_table(changes: Iterable[Any], box: Box = HEAVY_HEAD) -> Table:
    """Show, for each attempt of each action, what the controller and what the sensors said."""
    table = Table(title='What was said, and what was so', title_justify='left', box=box)
    for name in ('action', 'attempt', 'the controller said', 'the sensors said', 'evidence',
                 'outcome'):
        table.add_column(name, overflow='fold', justify='right' if name == 'attempt' else 'left')
    for (action_id, number), attempt in _attempts(changes).items():
        outcome = attempt['outcome']
        table.add_row(
            action_id, str(number), Text(attempt['controller']),
            Text(attempt['sensors'], _SENSORS.get(attempt['sensors'], 'yellow')),
            Text(attempt['evidence']), Text(outcome, _STYLES.get(outcome, '')))
    return table


def _attempts(changes: Iterable[Any]) -> dict[tuple[str, int], dict[str, str]]:
    """Gather the changes by action and attempt."""
    attempts: dict[tuple[str, int], dict[str, str]] = {}
    order: list[str] = []
    for change in changes:
        if change.action_id not in order:
            order.append(change.action_id)
        attempt = attempts.setdefault((change.action_id, change.attempt), {
            'controller': '', 'sensors': '', 'evidence': '', 'outcome': ''})
        data = json.loads(change.data_json or '{}')
        attempt['controller'] = data.get('controller_said', attempt['controller'])
        attempt['sensors'] = data.get('sensors_said', attempt['sensors'])
        if change.evidence:
            attempt['evidence'] = evidence_text(change.evidence)
        if change.event == 'fail' and not change.evidence:
            attempt['evidence'] = change.cause
        attempt['outcome'] = change.outcome or (
            'error' if change.to_state == 'error' else attempt['outcome'])
    return dict(sorted(attempts.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))


def evidence_text(evidence: Sequence[Any]) -> str:
    """Show the values of the facts that conditions read, each fact once."""
    values: dict[str, str] = {}
    for item in evidence:
        for fact in item.facts:
            values[fact.name] = fact_text(fact)
    return ', '.join(f'{name} {value}' for name, value in values.items())


def fact_text(fact: Any) -> str:
    """Return the value of a Fact with its unit; of a long list the first four numbers."""
    numbers = ' '.join(f'{number or 0.0:.3g}' for number in fact.numbers[:4])  # no -0
    if len(fact.numbers) > 1:
        numbers = f'[{numbers}]' if len(fact.numbers) <= 4 else f'[{numbers} ...]'
    text = numbers or fact.value_json or 'never seen'
    return text + (f' {fact.unit}' if fact.unit and text != 'never seen' else '') + (
        ' (stale)' if fact.validity == fact.STALE else '')


def _seconds(stamp: Any) -> float:
    return float(stamp.sec) + float(stamp.nanosec) * 1e-9
