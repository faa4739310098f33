# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A kind of work of tests, and flows that use it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from action_lifecycle.lifecycle.work import WorkSpec


class TaskSpec(WorkSpec):
    """A task."""

    name: str
    input: Any = None  # noqa: A003
    own: Any = None

    late = ('own',)

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.name == 'bad':
            yield 'name', "'bad' is no name of a task"


ARM = 'motion: {server: arm, type: a/action/B}'
MIXED = ('flow: f\nactions:\n  pick:\n    steps:\n'
         '      - {motion: {server: reach, type: a/action/B}}\n'
         '      - {motion: {server: grip, type: a/action/B}}\n'
         '      - {task: {name: look}}\n'
         '      - {motion: {server: lift, type: a/action/B}}\n'
         '    confirm: z > 0\n')


def task(more: str = '') -> str:
    return f'flow: f\nactions:\n  look: {{task: {{name: look}}{more}}}\n'
