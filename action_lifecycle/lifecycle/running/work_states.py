# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The work of an action: its steps, one after the other, started once or followed.

Physical work is done in executing_motion and confirmed in sensor_confirm, other work is done in
in_progress. Physical steps that follow one another are one request to the bridge; the process does
the other steps. A row is journaled before each request, so that a restart continues with the right
step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
import json
from typing import Any
import uuid

from .stopping import STEP, Stopping
from ..ports import (
    Confirmation,
    Evidence,
    Handle,
    WorkRequest,
    WorkResult,
)
from ..states import ErrorCode
from ..text_format import answer_text, joined
from ..work import work_evidence, WorkSpec
from ...documents.errors import ContentRefused, LifecycleError

MAX_RESULT = 16_384
"""Maximum length of a journaled result, in characters of JSON; longer ones are dropped."""


class Working(Stopping):
    """The work in in_progress, and the states executing_motion and sensor_confirm."""

    _following = False

    def _begin_steps(
        self, goal_id: str, results: Sequence[Any] = (), data: Mapping[str, Any] = {},
        again: Callable[[], None] | None = None,
    ) -> None:
        """
        Journal that the next steps begin, then begin them; `data`: further data of the row.

        `again`: see `_record`.
        """
        action = self.action

        def record() -> None:
            try:
                action.recorder.step(action, {
                    'goal_id': goal_id, 'results': list(results), **data})
            except ContentRefused as error:
                self._internal(error)
                return
            self._recorded = True
            if self._held and not self.paused():  # resumed while it was being stopped
                self._held = False
                self._watch_deadline(0.0)
            if self._held:
                pass  # until `go_on`
            elif action.spec.physical:
                action.recorder.barrier(self._unless_changed(self._next_step))
            else:
                self._next_step()

        self._record(STEP, record, again)

    def _next_step(self, resume: bool = False) -> None:
        """Begin the next step, or the next ones if the bridge does them; or follow them."""
        action = self.action
        if self._canceled_by is not None and not resume:
            self._step_ended(0, WorkResult('canceled', self.clock.now(), 'nothing was sent'))
            return
        index = len(action.results)
        requested = bridge_steps(action.spec.steps[index:])
        number = max(1, len(requested))
        self._following, self._recorded = resume, False
        self._request += 1
        once = partial(self._ended_once, self._request, number)
        ended = self._unless_changed(lambda result: once(_checked(result)))
        try:
            handle = self._execute(index, requested, resume, ended) if requested \
                else self._start(index, resume, ended)
        except Exception as error:  # of a kind of work from outside
            self.log.exception('%s', action.machine.name)
            code = ErrorCode.INVALID_REQUEST if isinstance(error, LifecycleError) \
                else ErrorCode.INTERNAL
            ended(WorkResult('failed', self.clock.now(), error_code=code,
                             error_msg=f'{type(error).__name__}: {error}'))
            return
        if self._open_request:
            self._motion = handle
            if self._canceled_by is not None:  # canceled before it was followed
                self._cancel_motion(handle)

    def _execute(
        self, index: int, steps: Sequence[WorkSpec], resume: bool,
        ended: Callable[[WorkResult], None],
    ) -> Handle:
        goal_id = self.action.goal_id
        return self.world.execute(self.motion_request(
            step_id(goal_id, index) if index else goal_id, steps, resume,
            lambda step, state: self._told(index + step, -1.0, state)), ended)

    def _start(
        self, index: int, resume: bool, ended: Callable[[WorkResult], None]
    ) -> Handle:
        action = self.action
        step: WorkSpec = action.spec.steps[index]
        request = WorkRequest(
            action.flow_id, action.action_id, action.attempt, index,
            step_id(action.goal_id, index), action.spec.parameters, partial(self._told, index))
        self._told(index, -1.0, '')
        if self.host is None:
            raise LifecycleError(f"nobody does work of the kind '{step.kind}' here")
        return (step.resume if resume else step.start)(request, self.host, ended)

    def _told(self, index: int, progress: float, text: str) -> None:
        if self.action.progress != (index, progress, text):
            self.action.progress = index, progress, text
            self.progressed()

    def _step_ended(self, number: int, result: WorkResult) -> None:
        """Handle the end of a request with `number` steps."""
        self._motion = None
        self._note_box(result)
        if self._halted is not None:
            self._end_halt(result, self._halted)
            return
        action = self.action
        if self._held and self._canceled_by is None and self._step.is_physical() \
                and result.outcome != 'executed':
            self._end_hold(result)
            return
        said: dict[str, Any] = {'controller_said': result.controller_said}
        first = len(action.results)
        if result.goals or action.goals:
            said['goals'] = {**action.goals, **{
                str(first + int(step)): goal for step, goal in result.goals.items()}}
        if self._canceled_by is not None:
            self._fail_stopped(result, *self._canceled_by)
        elif result.outcome == 'executed':
            ended = list(result.results) or [None] * (number - 1) + [result.result]
            results = [*action.results, *map(_bounded, ended)]
            if len(results) < len(action.spec.steps):
                self._begin_steps(action.goal_id, results, said)
                return
            if results[-1] is not None:
                said['result'] = results[-1]
            if len(results) > 1 and any(found is not None for found in results[:-1]):
                said['results'] = results
            self._work_done(result, said)
        elif self._interrupted(result):
            self._work_interrupted(result)
        else:
            code = result.error_code or (
                ErrorCode.MOTION_CANCELED if result.outcome == 'canceled'
                else ErrorCode.MOTION_ABORTED)
            self._fail_stopped(result, code, result.error_msg, 'controller')

    def _interrupted(self, result: WorkResult) -> bool:
        """Whether the work ended by a shutdown or restart of our nodes."""
        return result.stopped and (
            result.outcome == 'not_running' or result.error_code is ErrorCode.INTERRUPTED
            or (self._following and result.outcome == 'canceled'))

    def _go(self, required: Sequence[Evidence] = ()) -> None:
        # Kept apart from `evidence`, as it does not show that the action is done.
        kept: dict[str, Any] = {'required': list(required)} if self.recipe and required else {}
        if self.action.seen:
            kept['seen'] = self.action.seen
        if self.action.spec.physical:
            self._fire('execute', goal_id=uuid.uuid4().hex, **kept)
        elif self.action.spec.steps:
            self._begin_steps(uuid.uuid4().hex, data=kept)
        else:
            self._fire('request_verification', **kept)

    def _enter_executing_motion(self) -> None:
        self._recorded = True
        self.action.recorder.barrier(self._unless_changed(self._next_step))

    def _work_done(self, result: WorkResult, said: Mapping[str, Any]) -> None:
        action = self.action
        if action.spec.physical:
            self._fire('motion_done', ended=result.ended, cause=result.note, **said)
            return
        evidence = [*result.evidence] or [work_evidence(
            action.spec.steps[-1].kind, result.controller_said, result.ended)]
        self._fire('request_verification', ended=result.ended, cause=result.note,
                   evidence=evidence, actor=action.spec.steps[-1].kind, **said)

    def _work_interrupted(self, result: WorkResult) -> None:
        action, now = self.action, self.clock.now()
        said = result.controller_said or 'does not know the goal'
        lost = _unanswered(result)
        if action.spec.physical:
            how = lost.get('error_msg') or 'the motion was interrupted'
            self._fire('motion_done', ended=now, interrupted=True, controller_said=said,
                       cause=joined(f'{how}; the sensors are asked', result.note),
                       **({'unanswered': lost} if lost else {}))
        elif action.spec.confirm:
            self._confirm('confirm', action.spec.confirm, now,
                          lambda answer: self._resumed(result, answer))
        else:
            self._resumed(result, Confirmation(
                'failed', error_msg='no sensor shows it'))

    def _resumed(self, result: WorkResult, answer: Confirmation) -> None:
        """Go on after interrupted work that was not physical, as the sensors or the flow say."""
        action, evidence = self.action, list(answer.evidence)
        if answer.verdict == 'confirmed':
            self._fire('request_verification', ended=self.clock.now(), evidence=evidence,
                       sensors_said='confirmed', controller_said=result.controller_said,
                       cause='the work was interrupted; the sensors show its outcome')
        elif lost := _unanswered(result):
            self._fail_unanswered(lost, answer)
        elif action.spec.resume_policy == 'retry' and (
                answer.verdict != 'failed' or not action.spec.confirm):
            self._begin(lambda again: self._begin_steps(
                uuid.uuid4().hex, data={'seen': action.seen}, again=again))
        else:
            self._unresolved(answer)

    def _enter_sensor_confirm(self) -> None:
        action = self.action
        if self._canceled_by is not None:  # canceled while the end of the motion was recorded
            code, reason, actor = self._canceled_by
            self._fail_still(code, reason, actor=actor)
            return
        self._confirm('confirm', action.spec.confirm, action.motion_ended, self._confirmed)

    def _confirmed(self, answer: Confirmation) -> None:
        action = self.action
        evidence = list(answer.evidence)
        if answer.verdict == 'confirmed':
            self._fire('confirmed', evidence=evidence, sensors_said='confirmed', actor='sensors',
                       cause=answer.note)
        elif not action.interrupted:
            self._refused(answer)
        elif action.unanswered:
            self._fail_unanswered(action.unanswered, answer)
        elif action.spec.resume_policy == 'retry' and answer.verdict != 'failed':
            self._judge_stop(partial(self._repeat, answer))
        else:
            self._unresolved(answer)

    def _repeat(self, answer: Confirmation, stop: WorkResult) -> None:
        """Execute an interrupted motion again, unless it still moves."""
        ask = partial(self._begin, lambda again: self._enter())
        if self._canceled_by is not None or not stop.stopped:
            self._fail_unless_stopped(stop, *(self._canceled_by or (
                ErrorCode.INTERRUPTED, 'interrupted, and its outcome is not confirmed: '
                + answer_text(answer), 'sensors')), {
                    'evidence': [*answer.evidence, *stop.evidence]})
        elif self.paused():  # the world may change until the flow is resumed
            ask()
        else:
            self._fire('repeat_motion', ask, goal_id=uuid.uuid4().hex,
                       evidence=list(answer.evidence), sensors_said=answer.verdict,
                       cause='interrupted, its outcome is not confirmed, and on_resume says retry')

    def _fail_unanswered(self, lost: Mapping[str, str], answer: Confirmation) -> None:
        """
        Fail work that may have been carried out, and whose outcome the sensors do not show.

        It is retried unchanged only if `on_resume` permits that it is carried out twice.
        """
        self._fail_still(ErrorCode[lost['error_code']], f"{lost['error_msg']}; its outcome is not "
                         f'confirmed: {answer_text(answer)}', evidence=list(answer.evidence),
                         sensors_said=answer.verdict, actor='sensors',
                         once=self.action.spec.resume_policy != 'retry')

    def _unresolved(self, answer: Confirmation) -> None:
        """Fail interrupted work whose outcome is not confirmed."""
        # With `retry`, too, the work is not repeated if the sensors could not be read.
        code = ErrorCode.GOAL_UNKNOWN if self.action.spec.resume_policy == 'confirm' \
            else ErrorCode.INTERRUPTED
        self._fail_still(code, 'interrupted, and its outcome is not confirmed: '
                         + answer_text(answer), evidence=list(answer.evidence),
                         sensors_said=answer.verdict, actor='sensors')


def step_id(goal_id: str, index: int) -> str:
    """
    Return the id of a step, as hexadecimal digits, derived from the id of its attempt.

    It begins as that does, which assigns feedback of the bridge to actions.
    """
    return goal_id[:16] + uuid.uuid5(uuid.UUID(goal_id), f'step {index}').hex[16:]


def bridge_steps(steps: Sequence[WorkSpec]) -> list[WorkSpec]:
    """
    Return the first steps that the bridge does in one request.

    A step without an id is a request of its own, so that the journal says whether it has begun.
    """
    found: list[WorkSpec] = []
    for step in steps:
        if not (step.at_bridge and step.is_physical()) or (found and not (
                step.has_id and found[-1].has_id)):
            break
        found.append(step)
    return found


def _unanswered(result: WorkResult) -> dict[str, str]:
    """Return the error of work that may have been carried out; empty if a restart ended it."""
    if result.outcome != 'not_running' or not result.error_code:
        return {}
    return {'error_code': result.error_code.name, 'error_msg': result.error_msg}


def _checked(result: WorkResult) -> WorkResult:
    """Return a result that is JSON; otherwise a failure."""
    try:
        json.dumps([result.result, *result.results])
    except (TypeError, ValueError, RecursionError) as error:
        return WorkResult('failed', result.ended, result.controller_said, result.stopped,
                          ErrorCode.INTERNAL, f'its result is no JSON: {error}')
    return result


def _bounded(result: Any) -> Any:
    """Return a result; None if it is too long for the journal."""
    return result if len(json.dumps(result)) <= MAX_RESULT else None
