# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Whether a call of a session's state is left alone when its task is canceled.

A canceled session stops what it has started. A session that only ends in this process, since the
node stops, leaves it running and finds it again later.
"""

from __future__ import annotations

from contextvars import ContextVar


class Detach:
    """A flag of one session."""

    is_set = False


DETACH: ContextVar[Detach] = ContextVar('detached session', default=Detach())  # noqa: B039


def is_detached() -> bool:
    """Return whether what the current task has started is to go on after a cancel."""
    return DETACH.get().is_set
