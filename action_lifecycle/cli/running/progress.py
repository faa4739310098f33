# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Formats the progress of a flow as lines; the normal course of an action needs few lines."""

from __future__ import annotations

from typing import Any

from action_lifecycle_msgs.msg import FlowChange

from ..node_data import flow_change_data
from ..table import AttemptRow
from ...documents.json_text import read_object
from ...documents.stamps import to_seconds
from ...journal.flow_rows import event_text, PLANNING, STAGE
from ...journal.row_text import black_boxes
from ...lifecycle.text_format import printable

QUIET = ('start', 'request_verification', 'motion_done', 'confirmed', 'verified')
"""Events of the normal course of an action; printed only when verbose."""
QUIET_OF_FLOW = ('accepted', STAGE, 'continue', 'finish', 'fail', PLANNING)
"""Events of the normal course of a flow; feedback and result show what matters of them."""
LONGEST_CAUSE = 300
"""Maximum number of characters of the cause of a flow's change."""


class ChangeLines:
    """
    Formats changes of actions and flows as lines; one may come several times and in any order.

    `verbose`: one line for each change.
    """

    def __init__(self, *, verbose: bool = False) -> None:
        self.verbose = verbose
        self._attempts: dict[tuple[str, int], tuple[float, AttemptRow]] = {}  #: with its start (s)
        self._taken: set[int] = set()
        self._told: dict[tuple[str, int], str] = {}  #: the last error with a line, by attempt

    def misses(self, change: Any) -> bool:
        """Whether an earlier change of the action has not been received yet."""
        if isinstance(change, FlowChange):
            return False
        return bool(change.previous_seq) and change.previous_seq not in self._taken

    def take(self, change: Any) -> str:
        """Return the line of a change; '' if it has none, or was taken before."""
        if change.seq in self._taken:
            return ''
        self._taken.add(change.seq)
        if isinstance(change, FlowChange):
            return '' if change.event in QUIET_OF_FLOW and not self.verbose else flow_line(change)
        began, attempt = self._attempts.setdefault(
            (change.action_id, change.attempt), (to_seconds(change.stamp), AttemptRow()))
        attempt.take(change)
        told = self._told.get((change.action_id, change.attempt), '')
        if change.to_state == 'terminated':
            return _ended(change, attempt, to_seconds(change.stamp) - began, told)
        if change.event in QUIET and not self.verbose:
            return ''
        if change.to_state == 'error':
            self._told[change.action_id, change.attempt] = change.cause
        return line(change, told)


def _ended(change: Any, attempt: AttemptRow, took: float, told: str) -> str:
    """
    Return the line of the end of an action.

    `took`: s since the start of its attempt. `told`: its error, if it has had a line.
    """
    head = f'{change.action_id:<16} #{change.attempt} {change.outcome}'
    if change.outcome != 'succeeded':
        why = change.cause if told else attempt.error or change.cause
        return head + (f'  ({why})' if why and why != told else '')
    said = [f'controller: {attempt.controller}'] if attempt.controller else []
    said += [f'sensors: {attempt.sensors}'] if attempt.sensors else []
    said += [attempt.evidence] if attempt.evidence else []
    return f'{head} after {max(0.0, took):.1f} s' + (f"  ({'; '.join(said)})" if said else '')


def flow_line(change: FlowChange) -> str:
    """Return one FlowChange as a line of ASCII characters, except its cause."""
    why = printable(' '.join(change.cause.split()), LONGEST_CAUSE)
    return f"{'flow':<16} {event_text(flow_change_data(change), '->')}" + (
        f' [{change.actor}]' if change.actor else '') + (f'  ({why})' if why else '')


def line(change: Any, told: str = '') -> str:
    """
    Return one ActionStateChange as a line of ASCII characters, with one for a black box.

    `told`: the error of its attempt, if it has had a line; it is not repeated.
    """
    data = read_object(change.data_json, 'data_json')
    said = data.get('controller_said') or data.get('sensors_said')
    # For an error the cause is shown; it includes what the controller and the sensors reported.
    why = change.cause or said if change.to_state == 'error' or not said else said
    return (f'{change.action_id:<16} #{change.attempt} {change.from_state} -> '
            f'{change.outcome or change.to_state}' + (f'  ({why})' if why and why != told else '')
            + ''.join(f"\n{'':<16} black box: {printable(name)}" for name in black_boxes(data)))
