# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Handles open flows that can't be restored, and damage of the journal.

A restart uses intact rows only. A flow with damaged rows is set aside: its actions are not
started, followed or repeated, the resources of its open actions are locked, and a person is asked.
New damage locks all resources, since a lost row may be a lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..run.flow_runner import FlowRunner
from ..scheduling.scheduler import EVERYTHING
from ...documents.errors import LifecycleError
from ...journal.journal import Journal
from ...journal.reader import JournalReader
from ...journal.row import Entry, Row
from ...journal.verify import JournalFault, verify_journal
from ...lifecycle.ports import Question
from ...lifecycle.states import ActionOutcome, ActionState, ErrorCode

MAX_FAULTS = 1000
"""Number of journal faults from which no open flow counts as intact."""
SHOWN = 3
"""Maximum number of faults in a message."""
KEY = 'set_aside'
"""Key of the question about a flow."""


class Damage:
    """
    The faults of a journal, and the rows that list them.

    Each lock of all resources (kind `lock`, EVERYTHING) lists the faults known at that time.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.faults = verify_journal(journal.path, MAX_FAULTS)
        self._known = self._known_faults() if self.faults else {}

    def _known_faults(self) -> dict[tuple[int, str], int]:
        """Return the number of the first row that lists each fault."""
        known: dict[tuple[int, str], int] = {}
        for row, fault in self._journal.checked_rows(kind='lock', action_id=EVERYTHING):
            for seq, message in [] if fault else row.data.get('faults', []):
                known.setdefault((seq, message), row.seq)
        return known

    @property
    def news(self) -> list[JournalFault]:
        """Return the faults that no row lists yet."""
        return [fault for fault in self.faults if (fault.seq, fault.message) not in self._known]

    def of_flow(self, flow_id: str) -> list[JournalFault]:
        """
        Return the faults that may affect a flow.

        A damaged or missing row may belong to any flow that was open at that row. Faults listed
        before the flow began do not affect it.
        """
        begun = next((row.seq for row, _ in
                      self._journal.checked_rows(flow_id=flow_id, limit=1)), 0)
        concerned = [fault for fault in self.faults
                     if (not fault.seq or fault.seq >= begun)
                     and self._known.get((fault.seq, fault.message), begun) >= begun]
        return self.faults if len(self.faults) >= MAX_FAULTS else concerned


def faults_text(faults: Iterable[JournalFault]) -> str:
    """Return journal faults as a one-line string."""
    texts = [str(fault) for fault in faults]
    more = f'; {len(texts) - SHOWN} more' if len(texts) > SHOWN else ''
    return '; '.join(texts[:SHOWN]) + more


def open_flow_ids(journal: JournalReader) -> list[str]:
    """Return the ids of the flows with an intact open row, in the order of the rows."""
    found = {row.seq: row.flow_id for kind in ('flow', 'transition')
             for row, fault in journal.checked_open_rows(kind) if not fault and row.flow_id}
    return list(dict.fromkeys(found[seq] for seq in sorted(found)))


class SetAside:
    """Sets flows aside after a restart, and locks all resources if the journal is damaged."""

    def __init__(self, flows: FlowRunner, given_up: Callable[[str, str], None]) -> None:
        self._flows = flows
        self._given_up = given_up  # called with flow id and reason
        self._journal = flows.recorder.journal

    def lock_everything(self, faults: list[JournalFault], news: list[JournalFault]) -> None:
        """Block all starts until a person calls clear_stop; `faults`: all known faults."""
        log, recorder = self._flows.log, self._flows.recorder
        cause = f'the journal is damaged: {faults_text(news)}'
        log.error('%s: %s; nothing starts until clear_stop', self._journal.path, cause)
        self._flows.resources.lock_all({EVERYTHING: cause})
        try:
            recorder.lock(EVERYTHING, cause, {'faults': [list(fault) for fault in faults]})
        except LifecycleError as error:
            log.error('the damage is not recorded, the next start reports it again: %s', error)

    def flow(self, flow_id: str, reason: str) -> None:
        """Lock the resources of a flow's open actions and ask a person what to do."""
        flows = self._flows
        actions = self._open_actions(flow_id)
        held = {name: f'{flow_id}/{action_id} can not be read back'
                for action_id, (_, names) in actions.items() for name in names}
        flows.resources.lock_all(held)
        flows.log.error('flow %s is set aside: %s', flow_id, reason)
        for row, fault in self._journal.checked_rows(flow_id=flow_id, kind='note'):
            if not fault and row.event.startswith('question_'):
                flows.operator.read_back(row)
        flows.operator.ask(
            Question('resume', flow_id, '', (
                'Flow {{ flow }} can not be read back: {{ reason }}. What its open actions '
                '({{ actions }}) have set going may still move. Look at the robot and its '
                'controllers. To give up ends the flow; {{ locked }} locked until clear_stop.'),
                ('give_up',), key=KEY, names={
                    'flow': flow_id, 'reason': reason,
                    'actions': ', '.join(sorted(actions)) or 'none that is known',
                    'locked': f"{', '.join(sorted(held))} stay" if held else 'nothing is'}),
            lambda answer, actor: self.give_up(flow_id, actor, reason))

    def _open_actions(self, flow_id: str) -> dict[str, tuple[Row, list[str]]]:
        """Return the last intact row and the resources of each action that has not ended."""
        found: dict[str, tuple[Row, list[str]]] = {}
        for row, fault in self._journal.checked_rows(flow_id=flow_id, kind='transition'):
            if fault:
                continue
            if row.final:
                found.pop(row.action_id, None)
            else:
                _, holds = found.get(row.action_id, (row, []))
                if row.event == 'start':
                    holds = _resources(row)
                found[row.action_id] = row, holds
        return found

    def give_up(self, flow_id: str, actor: str, reason: str) -> None:
        """Journal the end of a flow and of its open actions, and the locks, in one commit."""
        flows = self._flows
        now = flows.clock.now()
        entries: list[Entry] = []
        for action_id, (row, names) in self._open_actions(flow_id).items():
            entries += self._end(row, actor, reason, now)
            entries += [
                Entry(kind='lock', action_id=name, event='lock', ros_time=now,
                      cause=f'{flow_id}/{action_id} was given up, it may still move')
                for name in names if name in flows.resources.locked]
        states = [row.to_state for row, fault in
                  self._journal.checked_rows(flow_id=flow_id, kind='flow') if not fault]
        entries.append(Entry(
            kind='flow', flow_id=flow_id, event='fail', from_state=states[-1] if states else '',
            to_state='FAIL', cause=reason, actor=actor, final=True, ros_time=now,
            data={'error_code': ErrorCode.INTERRUPTED.name}))
        if flows.recorder.until_recorded(
                f'the end of flow {flow_id}', lambda: flows.recorder.append(*entries),
                lambda: self.give_up(flow_id, actor, reason)):
            self._given_up(flow_id, reason)

    def _end(self, row: Row, actor: str, reason: str, now: float) -> list[Entry]:
        """Return the changes from the state in `row` to the end of the action."""
        state, entries = row.to_state, []
        edges = self._flows.graph.table.get(state, {})  # 'fail' has no guards
        changes = [('fail', ActionState.ERROR.value)] if 'fail' in edges else []
        for event, target in [*changes, ('terminate', ActionState.TERMINATED.value)]:
            data = {'outcome': ActionOutcome.FAILED.value} if event == 'terminate' else \
                {'error_code': ErrorCode.INTERRUPTED.name, 'error_msg': reason}
            entries.append(Entry(
                kind='transition', flow_id=row.flow_id, action_id=row.action_id,
                attempt=row.attempt, event=event, from_state=state, to_state=target, data=data,
                cause=reason, actor=actor, final=event == 'terminate', ros_time=now))
            state = target
        return entries


def _resources(row: Row) -> list[str]:
    """Return the resources in an action's start row; EVERYTHING if they can't be read."""
    names = row.data.get('resources', [])
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return names
    return [EVERYTHING]
