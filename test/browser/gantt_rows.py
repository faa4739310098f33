# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Journals for tests of the timeline: rows of actions, with an attempt that is refuted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from action_lifecycle.journal import Entry, Journal

FLOW = 'demo'
EVIDENCE = {
    'condition': 'confirm', 'expression': 'gap > 0.02 and tool[2] > 0.18', 'verdict': 'false',
    'stamp': 5.0, 'held': 0.0, 'facts': [
        {'name': 'gap', 'unit': 'm', 'validity': 'valid', 'numbers': [0.003], 'stamp': 4.9,
         'topic': 'joint_states'},
        {'name': 'tool', 'unit': 'm', 'validity': 'stale', 'numbers': [0.0, 0.0, 0.2],
         'stamp': 4.0, 'topic': 'tf'}]}
COURSE: Sequence[tuple[int, str, str, str, dict[str, Any]]] = (
    (1, 'start', 'assigned', 'in_progress', {}),
    (1, 'execute', 'in_progress', 'executing_motion', {'goal_id': 'g1'}),
    (1, 'motion_done', 'executing_motion', 'sensor_confirm', {
        'controller_said': 'succeeded', 'ended': 4.0, 'result': {'error_code': 0}}),
    (1, 'fail', 'sensor_confirm', 'error', {
        'error_code': 'REFUTED', 'sensors_said': 'refuted', 'evidence': [EVIDENCE]}),
    (2, 'retry', 'error', 'in_progress', {}),
    (2, 'execute', 'in_progress', 'executing_motion', {'goal_id': 'g2'}),
    (2, 'motion_done', 'executing_motion', 'sensor_confirm', {
        'controller_said': 'succeeded', 'ended': 8.0}),
    (2, 'confirmed', 'sensor_confirm', 'status_verification_requested', {
        'sensors_said': 'confirmed', 'evidence': [{**EVIDENCE, 'verdict': 'true'}]}),
    (2, 'verified', 'status_verification_requested', 'completed', {}),
    (2, 'terminate', 'completed', 'terminated', {'outcome': 'succeeded'}))
"""The rows of an action: attempt, event, states and data"""


def accepted(flow_id: str = FLOW, name: str = 'demo') -> list[Entry]:
    """Return the rows with which a flow begins; the journal does not have its text."""
    return [Entry('flow', flow_id, event='accepted', to_state='START', data={'name': name}),
            Entry('flow', flow_id, event='continue', from_state='START', to_state='CONTINUE')]


def course(
    path: str, first: int = 0, last: int = len(COURSE), flow_id: str = FLOW, time: float = 1.0,
) -> list[Entry]:
    """Return rows of an action; `path`: its name; `time`: ROS time (s) of its first row."""
    return [Entry('transition', flow_id, path, attempt, event, source, target, data=data,
                  cause='confirm: too small' if event == 'fail' else '',
                  final=target == 'terminated', ros_time=time + index)
            for index, (attempt, event, source, target, data) in
            enumerate(COURSE[first:last], first)]


def write(path: Path, *entries: Sequence[Entry]) -> None:
    """Append rows to a journal."""
    with Journal(path) as journal:
        for some in entries:
            journal.append_many(list(some))
