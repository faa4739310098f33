# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The status and result of a goal that a controller has accepted."""

from __future__ import annotations

from typing import Generic, TypeVar

from .messages import FollowJointTrajectoryResult
from ..documents.errors import LifecycleError

ACTIVE = 'active'
SUCCEEDED = 'succeeded'
ABORTED = 'aborted'
CANCELED = 'canceled'
INVALID_GOAL = FollowJointTrajectoryResult.INVALID_GOAL

Result = TypeVar('Result')


class GoalRejected(LifecycleError):
    """A goal that a controller does not accept; `code` is one of FollowJointTrajectory."""

    def __init__(self, reason: str, code: int = INVALID_GOAL) -> None:
        """Create the error with its `code`; `reason` is the message."""
        self.code = code
        super().__init__(reason)


class Motion(Generic[Result]):
    """
    One accepted goal.

    `status` is active, succeeded, aborted or canceled; `result` is None as long as it is active.
    `cancel_requested` is read by the controller, which brings the motion to a stop before it
    reports canceled.
    """

    def __init__(self) -> None:
        """Create the motion; its status is active."""
        self.status = ACTIVE
        self.result: Result | None = None
        self.cancel_requested = False

    def cancel(self) -> None:
        """Ask the controller to stop this motion; no effect when it is over."""
        self.cancel_requested = True

    def finish(self, status: str, result: Result) -> None:
        """Set the final status and result (for the controller)."""
        self.status = status
        self.result = result
