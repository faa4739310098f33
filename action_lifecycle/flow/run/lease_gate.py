# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Gates the motions of flows that run requests of the fleet: each needs a claim that is held.

The flows that their actions run need the same claim.

The ledger node publishes the held claims and their expiry. A claim without a recent message
counts as not held, so the gate closes if the ledger node stops. Running motions continue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...lifecycle.flow_ids import root_of
from ...lifecycle.ports import (
    Confirmation,
    ConfirmRequest,
    Handle,
    LifecycleClock,
    MotionRequest,
    WorkResult,
    World,
)
from ...lifecycle.states import ErrorCode

PATIENCE = 5.0
"""Maximum time (s) that a motion waits for a claim without a message about it."""


class LeaseGate:
    """
    A `World` that delays motions until their claims are held.

    `lease_of(flow_id)` returns the name of the claim that a flow needs, '' for none; `now()`
    returns boot time in s: a claim may lapse while the computer is suspended.
    """

    def __init__(
        self, world: World, clock: LifecycleClock, now: Callable[[], float],
        lease_of: Callable[[str], str],
    ) -> None:
        self.world = world
        self.clock = clock
        self.waiting: list[_Waiting] = []
        self._now = now
        self._lease_of = lease_of
        self._held: Mapping[tuple[str, str], float] = {}

    def update(self, held: Mapping[tuple[str, str], float]) -> None:
        """
        Update the held claims and start the motions that waited for them.

        `held`: the boot time (s) until which each claim is held, by flow id and name of the
        claim; 0 until the ledger has recorded that the first motion begins.
        """
        self._held = held
        for waiting in list(self.waiting):
            if self._is_open(waiting.request.flow_id, waiting.lease):
                waiting.let_go()
            elif (root_of(waiting.request.flow_id), waiting.lease) in held:
                waiting.wait_on()

    def execute(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Handle:
        """Start a motion when its claim is held; a resumed motion needs no claim."""
        lease = '' if request.resume else self._lease_of(request.flow_id)
        if not lease or self._is_open(request.flow_id, lease):
            return self.world.execute(request, result)
        return _Waiting(self, lease, request, result)

    def confirm_stop(
        self, request: MotionRequest, result: Callable[[WorkResult], None]
    ) -> Handle:
        """Judge whether motions have stopped; needs no claim."""
        return self.world.confirm_stop(request, result)

    def confirm(
        self, request: ConfirmRequest, result: Callable[[Confirmation], None]
    ) -> Handle:
        """Confirm conditions; needs no claim."""
        return self.world.confirm(request, result)

    def evaluate(
        self, request: ConfirmRequest, wait: float, result: Callable[[Confirmation], None]
    ) -> Handle:
        """Evaluate conditions with the current facts; needs no claim."""
        return self.world.evaluate(request, wait, result)

    def _is_open(self, flow_id: str, lease: str) -> bool:
        return self._now() < self._held.get((root_of(flow_id), lease), 0.0)


class _Waiting:
    """A motion that waits for its claim; meanwhile it is in the gate's list `waiting`."""

    def __init__(
        self, gate: LeaseGate, lease: str, request: MotionRequest,
        result: Callable[[WorkResult], None],
    ) -> None:
        self.lease = lease
        self.request = request
        self._gate = gate
        self._result = result
        self._motion: Handle | None = None
        self._limit = gate.clock.call_later(PATIENCE, self._lapsed)
        gate.waiting.append(self)

    def wait_on(self) -> None:
        """Restart the time limit."""
        self._limit.cancel()
        self._limit = self._gate.clock.call_later(PATIENCE, self._lapsed)

    def let_go(self) -> None:
        """Start the motion."""
        self._leave()
        self._motion = self._gate.world.execute(self.request, self._result)

    def cancel(self) -> None:
        """Stop the motion, or do not start it."""
        if self._motion is not None:
            self._motion.cancel()
        elif self in self._gate.waiting:
            self._leave()  # `result` must be called after `cancel` returns
            self._gate.clock.call_later(0.0, lambda: self._end(
                'canceled', ErrorCode.NONE, 'it waited for its claim; nothing was sent'))

    def _lapsed(self) -> None:
        self._leave()
        self._end('failed', ErrorCode.LEASE_LAPSED,
                  f"the claim '{self.lease}' is not held; nothing was sent")

    def _leave(self) -> None:
        self._limit.cancel()
        self._gate.waiting.remove(self)

    def _end(self, outcome: str, code: ErrorCode, reason: str) -> None:
        self._result(WorkResult(
            outcome, self._gate.clock.now(), error_code=code, error_msg=reason, sent=False))
