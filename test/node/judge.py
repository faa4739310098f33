# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
An independent reader of a journal and of what the robot double saw; it looks for what must not be.

It uses nothing of the package (see `judged`), and is meant for a robot at rest: no motion runs,
each flow has ended.

`judge(case)` returns every violation:

sequence          numbers of rows have a gap, or a row does not build on the one before it
history           an action's row does not start in the state where the one before it ended
unknown motion    a motion of which no row speaks that was written before it
executed twice    one goal that a server has accepted twice
two at once       motions of two actions at once on one resource
outlives its end  a motion goes on when its action has ended, and nobody has locked the resource
sent in motion    a goal is sent while a motion goes on that uses the same resource, unlocked
given away        a resource goes to an action while a motion of another one is on it, unlocked
blind repeat      a motion again, of whose predecessor nobody knows the end: neither the server,
                  nor the sensors and then a person or the policy `retry`
not at its target an action has succeeded, and its joint is elsewhere
no evidence       an action with a motion has succeeded without evidence of sensors
half an order     a person's order was accepted or stands in the journal, and its effect is
                  missing; or the effect is there, and no row says who ordered it
published         a state change was published that is not in the journal
open              something is still open: a flow, an action, a question, a motion
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
import math
import uuid

from .judge_orders import Orders
from .judged import (
    Case,
    Change,
    Motion,
    MOTION_EVENTS,
    Order,
    read_journal,
    read_log,
    Row,
    STEPS,
    Violation,
)

__all__ = ['Case', 'Change', 'judge', 'Order', 'read_journal', 'read_log', 'Row', 'Violation']

NEAR = 0.02  #: m
SENSORS_SAID = ('refuted', 'timed_out', 'stale')
"""After which a motion that was lost may be repeated, if `on_resume` says so, or is `confirm`."""


def judge(case: Case) -> list[Violation]:
    """Return every violation."""
    return list(_Judge(case).all())


class _Judge(Orders):

    def all(self) -> Iterator[Violation]:  # noqa: A003
        yield from self.sequence()
        yield from self.history()
        yield from self.unknown()
        yield from self.at_once()
        yield from self.outlives()
        yield from self.given_away()
        yield from self.sent_in_motion()
        yield from self.blind()
        yield from self.succeeded()
        yield from self.half_orders()
        yield from self.published()
        yield from self.still_open()

    # The record

    def sequence(self) -> Iterator[Violation]:
        last: Row | None = None
        for row in self.rows:
            expected = 1 if last is None else last.seq + 1
            if row.seq != expected:
                yield Violation('sequence', f'row {row.seq} comes where {expected} is due', [row])
            elif last is not None and row.prev_hash != last.hash:
                yield Violation('sequence', f'row {row.seq} does not build on row {last.seq}',
                                [last, row])
            last = row

    def history(self) -> Iterator[Violation]:
        for rows in self.of_action.values():
            state = 'assigned'
            for row in rows:
                if row.from_state != state:
                    yield Violation('history', f'row {row.seq} starts in {row.from_state}, the '
                                    f'action is in {state}', rows)
                state = row.to_state

    def published(self) -> Iterator[Violation]:
        known = {row.seq: row for row in self.rows}
        for change in self.changes:
            row = known.get(change.seq)
            told = (change.flow_id, change.action_id, change.attempt, change.event,
                    change.from_state, change.to_state)
            if row is None or told != (row.flow_id, row.action_id, row.attempt, row.event,
                                       row.from_state, row.to_state):
                yield Violation('published', f'{change}', [row] if row else [])

    # Motions

    def unknown(self) -> Iterator[Violation]:
        for motion in self.motions:
            if motion.row is None:
                yield Violation('unknown motion', f'goal {motion.goal}', [motion.line])
            elif motion.row.boot > motion.start:
                yield Violation('unknown motion', f'goal {motion.goal} came before its row',
                                [motion.row, motion.line])
        for line in self.doubled:
            yield Violation('executed twice', f"goal {line['goal']}", [line])

    def at_once(self) -> Iterator[Violation]:
        for motions in self._by_resource().values():
            for index, one in enumerate(motions):
                for other in motions[index + 1:]:
                    if other.start >= one.end or _key(one) == _key(other):
                        continue
                    if not self._unlocked(one, one.start, other.start):
                        yield Violation('two at once', f'on {one.resource}', [
                            one.row, one.line, one.still, other.row, other.line])

    def outlives(self) -> Iterator[Violation]:
        for motion in self.motions:
            if motion.row is None:
                continue
            for row in self.of_action[motion.row.key]:
                if row.seq < motion.row.seq or row.to_state != 'terminated':
                    continue
                if motion.end > row.boot and not self.is_locked(motion.resource, row.seq) \
                        and not self._unlocked(motion, motion.start, row.boot):
                    yield Violation('outlives its end', f'a motion of {row.action_id} on '
                                    f'{motion.resource}', [
                                        *self.of_action[row.key], motion.line, motion.still])
                break

    def given_away(self) -> Iterator[Violation]:
        by_resource = self._by_resource()
        for row in self.rows:
            if row.kind != 'transition' or row.event != 'start':
                continue
            for resource in row.data.get('resources', ()):
                for motion in by_resource.get(resource, ()):
                    if motion.start < row.boot < motion.end and _key(motion) != row.key \
                            and not self._unlocked(motion, motion.start, row.boot):
                        yield Violation('given away', f'{resource} to {row.flow_id}/'
                                        f'{row.action_id}', [motion.row, motion.line,
                                                             motion.still, row])

    def sent_in_motion(self) -> Iterator[Violation]:
        for line in self.asked:
            row = self.announced.get(line['goal'])
            for motion in self.motions:
                if row and motion.start < line['boot'] < motion.end \
                        and line['goal'] != motion.goal \
                        and self._used(line['resource'], row) \
                        & self._used(motion.resource, motion.row) \
                        and not self._unlocked(motion, motion.start, line['boot']):
                    yield Violation('sent in motion', f"to {line['server']}", [
                        motion.row, motion.line, motion.still, row, line])

    def _used(self, resource: str, row: Row | None) -> set[str]:
        """Return what a motion of the journal has, or of somebody else."""
        found = {resource}
        if row is not None:
            found.update(*(one.data.get('resources', ()) for one in self.of_action[row.key]
                           if one.event == 'start'))
        return found

    def _by_resource(self) -> dict[str, list[Motion]]:
        found: dict[str, list[Motion]] = defaultdict(list)
        for motion in self.motions:
            found[motion.resource].append(motion)
        return found

    def _unlocked(self, motion: Motion, after: float, before: float) -> bool:
        """Whether a person has unlocked the resource between the two: it is said to stand."""
        return any(row.event == 'unlock' and after < row.boot <= before
                   for row in self.locks[motion.resource])

    def blind(self) -> Iterator[Violation]:
        for rows in self.of_action.values():
            began: Row | None = None
            between: list[Row] = []
            for row in rows:
                if row.event not in MOTION_EVENTS:
                    between.append(row)
                    continue
                if began is not None and self._moved(began) and not _may_repeat([*between, row]):
                    yield Violation('blind repeat', f'{row.flow_id}/{row.action_id}', [
                        began, *between, row])
                began, between = row, []

    def _moved(self, row: Row) -> bool:
        goal_id = uuid.UUID(row.data['goal_id'])
        return any(uuid.uuid5(goal_id, str(step)).hex in self.by_goal for step in range(STEPS))

    def succeeded(self) -> Iterator[Violation]:
        for rows in self.of_action.values():
            last = rows[-1]
            if last.to_state != 'terminated' or last.data.get('outcome') != 'succeeded':
                continue
            began = next((row for row in reversed(rows) if row.event in MOTION_EVENTS), None)
            if began is None:
                continue
            if not any(row.event == 'confirmed' and row.data.get('evidence')
                       for row in rows if row.seq > began.seq):
                yield Violation('no evidence', f'{last.flow_id}/{last.action_id}', rows)
            goal_id = uuid.UUID(began.data['goal_id'])
            for step in range(STEPS):
                motion = self.by_goal.get(uuid.uuid5(goal_id, str(step)).hex)
                if motion is not None and motion.still and 'target' in motion.line and abs(
                        motion.still['position'] - motion.line['target']) > NEAR:
                    yield Violation('not at its target', f'{last.flow_id}/{last.action_id}',
                                    [*rows, motion.line, motion.still])

    def still_open(self) -> Iterator[Violation]:
        for motion in self.motions:
            if motion.end == math.inf:
                yield Violation('open', f'a motion on {motion.resource}',
                                [motion.row, motion.line])
        for flow_id, rows in self.flows.items():
            if not rows[-1].final:
                yield Violation('open', f'the flow {flow_id}', [rows[-1]])
        for (flow_id, action_id), rows in self.of_action.items():
            if rows[-1].to_state != 'terminated':
                yield Violation('open', f'the action {flow_id}/{action_id}', rows)


def _may_repeat(rows: Sequence[Row]) -> bool:
    """Whether a motion may follow another, by the rows between the two and its own."""
    ended = [row for row in rows if row.from_state == 'executing_motion'
             and row.event in ('motion_done', 'fail')]
    if not ended:
        return False
    if not ended[-1].data.get('interrupted'):
        return True
    if any(row.event == 'receive_fallback' and row.actor not in ('', 'policy')
           or row.event in ('retry', 'reassign') and row.actor for row in rows):
        return True  # a person has decided
    asked = [row for row in rows if row.data.get('sensors_said') in SENSORS_SAID]
    return bool(asked) and (rows[-1].event == 'repeat_motion'
                            or asked[-1].data.get('error_code') == 'GOAL_UNKNOWN')


def _key(motion: Motion) -> tuple[str, str]:
    return motion.row.key if motion.row else ('', motion.goal)
