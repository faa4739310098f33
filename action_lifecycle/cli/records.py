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

"""The commands `list` and `history`: from the nodes, or from a journal file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import time
from typing import Any

from rich.table import Table
from rich.text import Text

from .exits import DONE, NotThere
from .table import console
from ..engine.errors import nearest
from ..ledger import JournalError, JournalReader
from ..lifecycle.words import printable

COLUMNS = ('flow', 'action', 'state', 'outcome', 'attempt', 'why')
ON_THE_WAY = ('in_progress', 'executing_motion', 'sensor_confirm',
              'status_verification_requested', 'pending', 'completed')
SIMULATED = 1e8
"""Seconds up to which a time is taken for one of a simulation."""
KNOWN = 500
"""Actions among which one is looked for that a mistyped name may mean."""


def list_actions(options: argparse.Namespace) -> int:
    """Print the actions that fit."""
    table = Table()
    for name in COLUMNS:  # folded, not cut: an id is no use in part
        table.add_column(name, overflow='fold')
    for row in _from_journal(options) if options.journal else _from_nodes(options):
        table.add_row(*(Text(str(value)) for value in row))
    console().print(table)
    return DONE


def _from_journal(options: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    from ..ledger.projection import Projection
    from ..nodes.files import action_graph
    reader = _reader(options.journal)
    found = Projection(reader, action_graph()).find(
        flow_id=options.flow, states=options.state, open_only=options.open)
    for action in found[:options.limit]:
        last = next(reader.rows(after=action.seq - 1, limit=1), None)
        outcome = action.outcome.value if action.outcome else ''
        yield (action.flow_id, action.action_id, action.state.value, outcome, action.attempt,
               _reason(last.cause if last else '', outcome, action))


def _from_nodes(options: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    from action_lifecycle_msgs.srv import GetHistory, ListActions

    from .client import connect
    with connect(options.namespace) as client:
        answer = client.call(ListActions, 'ledger/list_actions', ListActions.Request(
            flow_id=options.flow, states=options.state, open_only=options.open,
            limit=options.limit), options.wait)
        if answer.error_code:
            raise NotThere(answer.error_msg)
        for action in answer.actions:
            last = client.call(GetHistory, 'ledger/get_history', GetHistory.Request(
                flow_id=action.flow_id, action_id=action.action_id, after_seq=action.seq - 1,
                limit=1), options.wait)
            yield (action.flow_id, action.action_id, action.state.value, action.state.outcome,
                   action.attempt, _reason(last.changes[0].cause if last.changes else '',
                                           action.state.outcome, action))


def _reason(cause: str, outcome: str, action: Any) -> str:
    """Return why an action is where it is: the last change's cause, its error, or the sensors."""
    # The error of an earlier try is not why it got further than that.
    failed = action.error_code and outcome != 'succeeded' and action.state.value not in ON_THE_WAY
    said: str = cause or (action.error_msg if failed else action.sensors_said)
    return printable(said, len(said))


def show_history(options: argparse.Namespace) -> int:
    """Print every change of an action, in order."""
    flow_id, _, action_id = options.action.rpartition('/')
    flow_id = flow_id or options.flow
    out = console()
    count = 0
    for stamp, change, cause in _changes(options, flow_id, action_id):
        out.print(Text(f'{_date(stamp)}  {change}' + (f'   {cause}' if cause else '')),
                  soft_wrap=True)
        count += 1
    if not count:
        of_flow = f" of flow '{flow_id}'" if flow_id else ''
        raise NotThere(f"the journal has no action '{action_id}'{of_flow}"
                       + nearest(action_id, _known(options, flow_id)))
    return DONE


def _date(stamp: float) -> str:
    """Return ROS time as a date of this place; simulated time, which has none, in seconds."""
    if stamp < SIMULATED:
        return f'{stamp:12.3f} s'
    return time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(stamp)) \
        + f'.{int(stamp % 1 * 1000):03d}'


def _known(options: argparse.Namespace, flow_id: str) -> set[str]:
    """Return the ids of the actions that the journal has."""
    if options.journal:
        return {row.action_id for row in _reader(options.journal).rows(
            flow_id=flow_id or None, kind='transition')}
    from action_lifecycle_msgs.srv import ListActions

    from .client import connect
    with connect(options.namespace) as client:
        answer = client.call(ListActions, 'ledger/list_actions', ListActions.Request(
            flow_id=flow_id, limit=KNOWN), options.wait)
        return {action.action_id for action in answer.actions}


def _changes(
    options: argparse.Namespace, flow_id: str, action_id: str
) -> Iterator[tuple[float, str, str]]:
    if options.journal:
        for row in _reader(options.journal).rows(
                flow_id=flow_id or None, action_id=action_id, kind='transition'):
            outcome = row.data.get('outcome', '')
            yield (row.ros_time or row.wall_time, f'#{row.seq} {row.flow_id} attempt '
                   f'{row.attempt}: {row.from_state} → {row.to_state}'
                   + (f' ({outcome})' if outcome else ''), _why(row.cause, row.actor))
        return
    from action_lifecycle_msgs.srv import GetHistory

    from .client import connect
    from ..nodes.messages import to_seconds
    after = 0
    with connect(options.namespace) as client:
        while True:
            answer = client.call(GetHistory, 'ledger/get_history', GetHistory.Request(
                flow_id=flow_id, action_id=action_id, after_seq=after), options.wait)
            if answer.error_code:
                raise NotThere(answer.error_msg)
            for change in answer.changes:
                after = change.seq
                yield (to_seconds(change.stamp), f'#{change.seq} {change.flow_id} attempt '
                       f'{change.attempt}: {change.from_state} → {change.to_state}'
                       + (f' ({change.outcome})' if change.outcome else ''),
                       _why(change.cause, change.actor))
            if not answer.more:
                return


def _why(cause: str, actor: str) -> str:
    why = cause if not actor or actor in cause else f'{cause} [{actor}]'.strip()
    return printable(why, len(why))


def _reader(path: str) -> JournalReader:
    try:
        return JournalReader(path)
    except JournalError as error:
        raise NotThere(str(error)) from error
