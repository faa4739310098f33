# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The progress of work."""

from __future__ import annotations

from typing import NamedTuple


class Progress(NamedTuple):
    """
    The number of known tasks, the number of tasks done, and the fraction to show.

    `done` and `fraction` never decrease. `fraction` is done / total until more tasks become known
    (a map runs, another invoker follows); then it stays and continues in smaller steps.
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
