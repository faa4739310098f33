# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Physical work: its end is confirmed by the sensors; other work is done in in_progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
import uuid

from .working import Working
from ..ports import Confirmation, Evidence, WorkResult
from ..states import ErrorCode
from ..text_format import answer_text, joined
from ..work import work_evidence


class Moving(Working):
    """The states executing_motion and sensor_confirm, and the work in in_progress."""

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
        self._sent = False
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
        if action.spec.physical:
            self._fire('motion_done', ended=now, interrupted=True, controller_said=said,
                       cause=joined('the motion was interrupted; the sensors are asked',
                                    result.note))
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
        elif action.spec.resume_policy == 'retry' and (
                answer.verdict != 'failed' or not action.spec.confirm):
            self._begin_steps(uuid.uuid4().hex, data={'seen': action.seen})
        else:
            self._unresolved(answer)

    def _enter_sensor_confirm(self) -> None:
        action = self.action
        if self._canceled_by is not None:  # canceled while the end of the motion was recorded
            self._stop(*self._canceled_by)
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
        elif action.spec.resume_policy == 'retry' and answer.verdict != 'failed':
            self._fire('repeat_motion', goal_id=uuid.uuid4().hex, evidence=evidence,
                       sensors_said=answer.verdict,
                       cause='interrupted, its outcome is not confirmed, and on_resume says retry')
        else:
            self._unresolved(answer)

    def _unresolved(self, answer: Confirmation) -> None:
        """Fail interrupted work whose outcome is not confirmed."""
        # With `retry`, too, the work is not repeated if the sensors could not be read.
        code = ErrorCode.GOAL_UNKNOWN if self.action.spec.resume_policy == 'confirm' \
            else ErrorCode.INTERRUPTED
        self._fail(code, 'interrupted, and its outcome is not confirmed: '
                   + answer_text(answer), evidence=list(answer.evidence),
                   sensors_said=answer.verdict, actor='sensors')
