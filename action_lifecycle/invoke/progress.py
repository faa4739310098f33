# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The progress of work."""

from __future__ import annotations

from typing import NamedTuple


class Progress(NamedTuple):
    """
    The number of known tasks, the number of tasks done, and the fraction to show.

    `done` and `fraction` never decrease. `fraction` is done / total until more tasks become known
    (a map starts, another invoker state follows); then it grows in smaller steps.
    """

    total: int = 0
    done: int = 0
    fraction: float = 0.0

    def grown(self, tasks: int) -> Progress:
        """Return the progress with more tasks."""
        return self._replace(total=self.total + tasks)

    def advanced(self) -> Progress:
        """Return the progress with one more task done."""
        left = self.total - self.done
        fraction = 1.0 if left == 1 else self.fraction + (1.0 - self.fraction) / left
        return Progress(self.total, self.done + 1, fraction)
