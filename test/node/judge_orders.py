# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the judge looks for in orders of people: none is carried out by half."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml

from .judge_control import Control
from .judged import MOTION_EVENTS, Order, Row, Violation


class Orders(Control):
    """What was ordered, against its rows and their effects."""

    def half_orders(self) -> Iterator[Violation]:
        for order in self.orders:
            if order.accepted:
                check = getattr(self, f'_accepted_{order.kind}')
                for told in check(order):
                    yield Violation('half an order', told, [order])
        yield from self._effects_of_rows()
        yield from self._effects_without_rows()

    def _accepted_flow(self, order: Order) -> Iterator[str]:
        if not self.flows.get(order.flow_id):
            yield f'the flow {order.flow_id} was begun, and no row says so'

    def _accepted_cancel_flow(self, order: Order) -> Iterator[str]:
        rows = self.flows.get(order.flow_id, [])  # none: it was canceled before it began
        if rows and not any(row.final and row.boot <= order.answered for row in rows) \
                and not any(row.flow_id == order.flow_id for row in self.notes['cancel_flow']):
            yield f'{order.flow_id} is to be canceled, and no row says so'

    def _accepted_cancel_action(self, order: Order) -> Iterator[str]:
        if not any(row.flow_id == order.flow_id and row.data.get('action') == order.action_id
                   and row.actor == order.actor for row in self.notes['cancel_action']):
            yield f'{order.flow_id}/{order.action_id} is to be canceled, and no row says so'

    def _accepted_edit(self, order: Order) -> Iterator[str]:
        if not any(row.seq == order.seq and row.event == 'edited' and row.actor == order.actor
                   for row in self.flows[order.flow_id]):
            yield f'{order.flow_id} was edited in row {order.seq}, which is no edit'

    def _accepted_retry(self, order: Order) -> Iterator[str]:
        if not any(row.event == 'retry' and row.actor == order.actor
                   for row in self.of_action[order.flow_id, order.action_id]):
            yield f'{order.flow_id}/{order.action_id} is to be retried, and no row says so'

    def _accepted_control(self, order: Order) -> Iterator[str]:
        if order.seq and not any(
                row.seq == order.seq and row.kind == 'note' and row.event == order.answer
                and row.flow_id == order.flow_id for row in self.rows):
            yield f'{order.flow_id}/{order.action_id}: row {order.seq} is not {order.answer}'

    def _accepted_answer(self, order: Order) -> Iterator[str]:
        if not any(row.data.get('id') == order.question and row.data.get('answer') == order.answer
                   and row.actor == order.actor for row in self.notes['question_answered']):
            yield f'question {order.question} was answered, and no row says so'

    def _accepted_clear_stop(self, order: Order) -> Iterator[str]:
        if not any(rows[0].actor == order.actor and rows[-1].event == 'done'
                   for rows in self.clearings.values()):
            yield f'{order.actor} has cleared the stop, and no row says so'

    def _accepted_unlock(self, order: Order) -> Iterator[str]:
        # That what it names is not locked afterwards see _clearings: another may have unlocked it.
        if not any(rows[0].actor == order.actor and rows[-1].event == 'done'
                   and set(order.resources) <= set(rows[0].data['resources'])
                   for rows in self.clearings.values()):
            yield f"{order.actor} has unlocked {', '.join(order.resources)}, and no row says so"

    def _clearings(self) -> Iterator[Violation]:
        """Yield orders to clear a stop that are open, or have unlocked too little or too much."""
        for first, *rest in self.clearings.values():
            if [row.event for row in rest] not in (['done'], ['clear_stop_refused']):
                yield Violation('half an order', 'the stop was neither cleared nor was that '
                                'refused', [first, *rest])
            elif rest[0].event == 'done':
                for name in first.data['resources']:
                    if self.is_locked(name, rest[0].seq):
                        yield Violation('half an order', f'{name} is still locked',
                                        [first, *rest])
        for name, rows in self.locks.items():
            for row in rows:
                if row.event == 'unlock' and not any(
                        order[0].actor == row.actor and name in order[0].data['resources']
                        and order[0].seq < row.seq < order[-1].seq and order[-1].event == 'done'
                        for order in self.clearings.values()):
                    yield Violation('half an order', f'{name} was unlocked, and no row tells who '
                                    'ordered it', [row])

    def _edits(self) -> Iterator[Violation]:
        """Yield actions that an edit has added and that never ran, and those nobody asked for."""
        for flow_id, rows in self.flows.items():
            accepted = [row for row in rows if row.event == 'accepted']
            if len(accepted) != 1:
                yield Violation('half an order', f'{flow_id} was begun {len(accepted)} times',
                                rows)
                continue
            text = ''.join(row.data['text'] for row in rows if row.event in ('accepted', 'text'))
            wanted: dict[str, Row] = dict.fromkeys(yaml.safe_load(text)['actions'], accepted[0])
            ever = dict(wanted)
            for row in rows:
                if row.event == 'edited':
                    _edit(wanted, row)
                    ever.update(wanted)
            for name, row in wanted.items():
                if rows[-1].final and (flow_id, name) not in self.of_action:
                    yield Violation('half an order', f'{flow_id}/{name} has never ended', [row])
            for key, found in self.of_action.items():
                if key[0] == flow_id and key[1] not in ever:
                    yield Violation('half an order', f'no row has brought {key[1]}', found)

    def _effects_of_rows(self) -> Iterator[Violation]:
        yield from self._edits()
        yield from self._clearings()
        yield from self.control()
        for row in self.notes['cancel_flow']:
            for (flow_id, _), rows in self.of_action.items():
                if flow_id == row.flow_id:
                    yield from _not_canceled(row, rows)
        for row in self.notes['cancel_action']:
            yield from _not_canceled(
                row, self.of_action.get((row.flow_id, row.data['action']), []))
        answered: dict[str, Row] = {}
        for row in self.notes['question_answered']:
            if row.data['id'] in answered:
                yield Violation('half an order', 'one question is answered twice',
                                [answered[row.data['id']], row])
            answered[row.data['id']] = row
            after = [later for later in self.of_action[row.key] if later.seq > row.seq]
            if not after:
                yield Violation('half an order', 'an answer without an effect',
                                [*self.of_action[row.key], row])
            elif after[0].event == 'receive_fallback' and (
                    after[0].data.get('answer'), after[0].actor) != (
                    row.data['answer'], row.actor):
                yield Violation('half an order', 'another answer has taken effect',
                                [row, after[0]])

    def _effects_without_rows(self) -> Iterator[Violation]:
        answers = {(row.key, row.actor, row.data['answer']): row
                   for row in self.notes['question_answered']}
        answers.update({(row.key, row.actor, row.data['answer']): row
                        for row in self.notes['question_expired']})
        for key, rows in self.of_action.items():
            for row in rows:
                if row.event == 'receive_fallback' and row.data.get('answer') and (
                        key, row.actor, row.data['answer']) not in answers:
                    yield Violation('half an order', 'an answer has taken effect that no row '
                                    'tells of', [row])
            if rows[-1].to_state == 'terminated' and rows[-1].data['outcome'] == 'canceled' \
                    and not any(note.flow_id == key[0] for note in self.notes['cancel_flow']) \
                    and not any(note.flow_id == key[0] and note.data['action'] == key[1]
                                for note in self.notes['cancel_action']):
                yield Violation('half an order', 'an action was canceled, and no row tells who '
                                'ordered it', rows)


def _edit(wanted: dict[str, Row], row: Row) -> None:
    """Apply an edit to the actions that a flow is to run."""
    for step in yaml.safe_load(row.data['edit']):
        wanted.update(dict.fromkeys(step.get('add', ()), row))
        removed = step.get('remove', [])
        for name in [removed] if isinstance(removed, str) else removed:
            wanted.pop(name, None)


def _not_canceled(order: Row, rows: Sequence[Row]) -> Iterator[Violation]:
    """Yield what an action has done although it was to be canceled."""
    again = next((row.seq for row in rows if row.event == 'reassign' and row.seq > order.seq),
                 None)
    rows = [row for row in rows if again is None or row.seq < again]
    after = [row for row in rows if row.seq > order.seq]
    if any(row.event in MOTION_EVENTS for row in after):
        yield Violation('half an order', 'a canceled action has begun a motion', [order, *rows])
    last = rows[-1] if rows else None
    if last is None or last.seq < order.seq or last.to_state != 'terminated':
        return
    passed = any(row.to_state == 'completed' for row in rows)
    expected = ('canceled', 'succeeded') if passed else ('canceled', 'skipped')
    outcome = last.data['outcome']
    stopped = any(row.event == 'fail' and row.data.get('error_code') == 'STOP_UNCONFIRMED'
                  for row in after)
    failed = any(row.event == 'fail' for row in rows if row.seq < order.seq)
    if outcome not in expected and not (outcome == 'failed' and (stopped or failed)):
        yield Violation('half an order', f'a canceled action has {outcome}', [order, *rows])
