# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The kind `job`: tasks in other processes, on this machine or in Celery workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from ..documents.models import seconds
from ..documents.templates.template import has_template
from ..invoke.wire import pack, WireError
from ..invoke.work import read_work, tasks_of, with_time_limit, Work, WorkError
from ..lifecycle.work import register_work, WorkSpec


@register_work('job')
class JobSpec(WorkSpec):
    """Tasks in other processes; their output is the result."""

    invoke: Any = Field(
        description='The tasks: module:function, a list (in sequence), a mapping (concurrently), '
        'or a map. Their templates read actor_input, map_index and the parameters of the action.')
    input: Any = Field(  # noqa: A003
        default=None, description='Argument of the first tasks: actor_input.')
    time_limit: float = seconds(
        0.0, 'Seconds for the whole job, and for each task that has no limit of its own. 0: no '
        'limit for the job; for a task that of the engine.', most=86400)
    repeat_lost: bool = Field(
        default=True, description='Repeat a task whose worker or machine was lost, up to three '
        'times. Otherwise such a job fails.')

    late = ('invoke',)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the faults of the tasks, and of an input that can't be sent to them."""
        try:
            self.work()
        except WorkError as error:
            yield 'invoke', str(error)
        if not has_template(self.input):
            try:
                pack(self.input)
            except WireError as error:
                yield 'input', f"it can't be sent to a task: {error}"

    def uses(self) -> Iterator[tuple[str, str, str]]:
        for task in tasks_of(self.work()):
            yield 'invoke', task.call, 'job'

    def work(self) -> Work:
        """Return the tasks; raises `WorkError`."""
        work = read_work(self.invoke, 'invoke')
        return with_time_limit(work, self.time_limit) if self.time_limit else work
