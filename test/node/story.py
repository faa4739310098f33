# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recorded stories for the judge of a soak: a journal, the log of the robot double, orders."""

from __future__ import annotations

from typing import Any
import uuid

from .judge import judge
from .judged import Case, Change, Order, Row

GOAL, OTHER = uuid.UUID(int=1).hex, uuid.UUID(int=2).hex
FLOW = '{flow: f, actions: {a: {}, b: {}}}'


def sent(goal_id: str, step: int = 0) -> str:
    return uuid.uuid5(uuid.UUID(goal_id), str(step)).hex


class Story:
    """Rows and lines of the double, each a second after the one before it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.rows: list[Row] = []
        self.lines: list[dict[str, Any]] = []
        self.orders: list[Order] = []
        self.changes: list[Change] = []
        self.states: dict[tuple[str, str], str] = {}

    def add(self, kind: str, event: str, action: str = '', *, flow: str = 'f', to: str = '',
            actor: str = '', final: bool = False, **data: Any) -> Row:
        self.now += 1.0
        seq = len(self.rows) + 1
        state = self.states.get((flow, action), 'assigned') if kind == 'transition' else ''
        row = Row(seq, kind, flow, action, 1, event, state, to, '', actor, data, final, self.now,
                  f'h{seq - 1}' if seq > 1 else '', f'h{seq}')
        if kind == 'transition':
            self.states[flow, action] = to
        self.rows.append(row)
        return row

    def line(self, event: str, goal: str = sent(GOAL), resource: str = 'left', **fields: Any
             ) -> dict[str, Any]:
        self.now += 1.0
        self.lines.append({'event': event, 'boot': self.now, 'goal': goal, 'resource': resource,
                           'server': resource, **fields})
        return self.lines[-1]

    def flow(self, name: str = 'f', text: str = FLOW) -> Story:
        self.add('flow', 'accepted', flow=name, to='START', text=text)
        self.add('flow', 'continue', flow=name, to='CONTINUE')
        return self

    def over(self, name: str = 'f') -> Story:
        self.add('flow', 'finish', flow=name, to='FINISH', final=True)
        return self

    def begin(self, action: str = 'a', resource: str = 'left') -> Story:
        self.add('transition', 'start', action, to='in_progress', resources=[resource])
        return self

    def execute(self, action: str = 'a', goal: str = GOAL, event: str = 'execute', **data: Any
                ) -> Story:
        self.add('transition', event, action, to='executing_motion', goal_id=goal, **data)
        return self

    def moves(self, goal: str = GOAL, resource: str = 'left') -> Story:
        self.line('accepted', sent(goal), resource, target=0.5)
        return self

    def stands(self, goal: str = GOAL, resource: str = 'left', position: float = 0.5) -> Story:
        self.line('still', sent(goal), resource, position=position)
        return self

    def done(self, action: str = 'a', **data: Any) -> Story:
        self.add('transition', 'motion_done', action, to='sensor_confirm', **data)
        return self

    def confirmed(self, action: str = 'a', evidence: Any = (1,)) -> Story:
        self.add('transition', 'confirmed', action, to='status_verification_requested',
                 evidence=list(evidence))
        self.add('transition', 'verified', action, to='completed')
        return self.ended(action, 'succeeded')

    def fails(self, action: str = 'a', **data: Any) -> Story:
        self.add('transition', 'fail', action, to='error', **data)
        return self

    def ended(self, action: str = 'a', outcome: str = 'failed') -> Story:
        self.add('transition', 'terminate', action, to='terminated', final=True, outcome=outcome)
        return self

    def never(self, *actions: str, outcome: str = 'skipped') -> Story:
        for action in actions:
            self.ended(action, outcome)
        return self

    def ordered(self, kind: str, **fields: Any) -> Story:
        self.orders.append(Order(kind, True, self.now, actor='ann', **fields))
        return self

    def note(self, event: str, action: str = '', flow: str = 'f', **data: Any) -> Story:
        self.add('note', event, action, flow=flow, actor='ann', final=True, **data)
        return self

    def unlock(self, order: str = 'o') -> Story:
        self.add('clear_stop', 'clear_stop', order, flow='', actor='ann', resources=['left'])
        self.add('lock', 'unlock', 'left', flow='', actor='ann', final=True)
        self.add('clear_stop', 'done', order, flow='', actor='ann', final=True)
        return self

    def kinds(self) -> list[str]:
        found = judge(Case(self.rows, self.lines, self.orders, self.changes))
        assert all(str(one) for one in found)
        return [one.kind for one in found]


def good() -> Story:
    """Return a flow as it should be: a moves, b was skipped."""
    return Story().flow().begin().execute().moves().stands().done().confirmed() \
        .never('b').over()
