# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A journal of one flow, written as the action node does, and a viewer process that follows it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from pathlib import Path
import sys

from action_lifecycle.journal import Journal
from action_lifecycle.journal.action_rows import waits_entry
from action_lifecycle.journal.row import Entry

STEPS = ('assigned', 'in_progress', 'status_verification_requested', 'completed', 'terminated')
EVENTS = ('start', 'request_verification', 'verified', 'terminate')
PART = 100_000  #: characters of a flow's text in a row


class MadeFlow:
    """Writes what happens in a flow; `actions`: by name, those that each one waits for."""

    def __init__(
        self, path: Path, actions: Mapping[str, Mapping[str, str]], flow_id: str = 'f',
        description: str = '',
    ) -> None:
        self.journal = Journal(path)
        self.flow_id = flow_id
        lines = ['flow: f', 'actions:']
        for name, after in actions.items():
            needs = ', '.join(f"{other}: {kind or 'success'}" for other, kind in after.items())
            lines.append(f'  {name}: {{confirm: z > 0, after: {{{needs}}}, '
                         f'description: {description!r}}}')
        self._text = '\n'.join(lines) + '\n'
        self.accept(flow_id)

    def accept(self, flow_id: str) -> MadeFlow:
        """Record that the flow is accepted under an id and continues; returns this flow."""
        parts = [self._text[at:at + PART] for at in range(0, len(self._text), PART)]
        self.journal.append_many([
            Entry(kind='flow', flow_id=flow_id, event='accepted', to_state='START', data={
                'name': 'f', 'file': 'f.yaml', 'parameters': {}, 'text': parts[0],
                'parts': len(parts)}),
            *(Entry(kind='flow', flow_id=flow_id, event='text', to_state='START',
                    data={'text': part}) for part in parts[1:]),
            Entry(kind='flow', flow_id=flow_id, event='continue', from_state='START',
                  to_state='CONTINUE')])
        found = copy(self)
        found.flow_id = flow_id
        return found

    def goes(self, name: str, source: str, event: str, target: str, attempt: int = 1,
             cause: str = '', **data: object) -> int:
        """Record a change of an action; returns the number of its row."""
        return self.journal.append(Entry(
            kind='transition', flow_id=self.flow_id, action_id=name, attempt=attempt, event=event,
            from_state=source, to_state=target, cause=cause, data=data,
            final=target == 'terminated')).seq

    def begins(self, name: str, attempt: int = 1) -> int:
        """Record that an action starts; returns the number of the row."""
        return self.goes(name, 'assigned', 'start', 'in_progress', attempt)

    def ends(self, name: str, outcome: str = 'succeeded') -> None:
        """Record all changes of an action from the start to its end."""
        self.journal.append_many([Entry(
            kind='transition', flow_id=self.flow_id, action_id=name, attempt=1, event=event,
            from_state=source, to_state=target, final=target == 'terminated',
            data={'outcome': outcome} if target == 'terminated' else {})
            for source, event, target in zip(STEPS, EVENTS, STEPS[1:])])

    def waits(self, name: str, reason: str) -> None:
        """Record what an action waits for; '': no longer."""
        self.journal.append(waits_entry(self.flow_id, name, reason, 0.0))


VIEWER = """\
import asyncio, pathlib, sys
from action_lifecycle.viewer.access import Access
from action_lifecycle.viewer.app import build
from action_lifecycle.viewer.record.robot_record import RobotRecord
from action_lifecycle.viewer.record.sources import LocalRows
from action_lifecycle.viewer.robots import Heard, Robot, ROWS
from action_lifecycle.viewer.server import Server

robot = Robot('cell', RobotRecord(LocalRows(pathlib.Path(sys.argv[1]))))

async def follow():
    listeners = -1
    while True:
        if listeners != len(robot._listeners):
            listeners = len(robot._listeners)
            pathlib.Path(sys.argv[1] + '.listeners').write_text(str(listeners))
        update = await robot.record.update()
        if update.flows or update.new_flows or update.lost:
            robot.tell(Heard(ROWS, update))
        await asyncio.sleep(0.02)

server = Server(build([robot], Access(), [follow]), port=0)
print(server.address, flush=True)
server.run()
"""


def viewer_command(path: Path) -> list[str | Path]:
    """
    Return the command of a viewer that reads a journal 50 times a second.

    The number of its pages' listeners is in the file JOURNAL.listeners.
    """
    return [sys.executable, '-c', VIEWER, path]
