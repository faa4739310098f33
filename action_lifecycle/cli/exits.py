# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Exit codes of the console command."""

from __future__ import annotations

from ..documents.errors import LifecycleError

DONE = 0
FLOW_FAILED = 1
BAD_INPUT = 2
NOT_THERE = 3
INTERRUPTED = 130


class NotThere(LifecycleError):
    """A node, a service or a file that the command needs is not there."""
