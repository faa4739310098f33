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

"""How far work is."""

from __future__ import annotations

from typing import NamedTuple


class Progress(NamedTuple):
    """
    Tasks that are known of, how many are done, and the share that may be shown to people.

    Neither `done` nor `fraction` ever falls. When tasks become known later (a map runs, another
    invoker follows), `fraction` stays where it is and goes the rest of the way in smaller steps;
    until then it is done / total.
    """

    total: int = 0
    done: int = 0
    fraction: float = 0.0

    def grown(self, tasks: int) -> Progress:
        """Return it with more tasks to do."""
        return self._replace(total=self.total + tasks)

    def advanced(self) -> Progress:
        """Return it with one more task done."""
        left = self.total - self.done
        fraction = 1.0 if left == 1 else self.fraction + (1.0 - self.fraction) / left
        return Progress(self.total, self.done + 1, fraction)
