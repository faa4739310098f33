# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The base class of the kinds of work that the bridge does if they are physical."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from ..documents.errors import LifecycleError
from ..documents.models import as_written, read_back
from ..lifecycle.ports import MotionStep
from ..lifecycle.work import WORK, WorkSpec

SpecT = TypeVar('SpecT', bound='BridgeWork')


class BridgeWork(WorkSpec):
    """
    Work with an action server, a service or a topic.

    `name_field` and `data_field`: the fields with its name, and with the goal, request or message.
    """

    name_field: ClassVar[str] = 'server'
    data_field: ClassVar[str] = 'goal'
    at_bridge = True

    type: str  # noqa: A003
    server_timeout: float

    @property
    def name(self) -> str:
        """Return the name of the action, service or topic."""
        return str(getattr(self, self.name_field))

    @property
    def target(self) -> str:
        return self.name

    @property
    def data(self) -> dict[str, Any]:
        """Return the fields of the goal, request or message."""
        found: dict[str, Any] = getattr(self, self.data_field)
        return found

    def bridge_step(self) -> MotionStep:
        given = as_written(self)
        for field in (self.name_field, self.data_field, 'type', 'server_timeout', 'timeout'):
            given.pop(field, None)
        return MotionStep(self.name, self.type, self.data, self.server_timeout,
                          getattr(self, 'timeout', 0.0), self.kind, given)


def work_of_step(step: MotionStep) -> BridgeWork:
    """Return the work of a step for the bridge; raises `LifecycleError` if it is not valid."""
    kind = WORK.find(step.kind)
    if not issubclass(kind, BridgeWork):
        raise LifecycleError(f"the bridge does no work of the kind '{step.kind}'")
    times = {'server_timeout': step.server_timeout, 'timeout': step.timeout}
    return read_back(kind, {
        **step.options, kind.name_field: step.server, kind.data_field: dict(step.goal),
        'type': step.type,
        **{name: time for name, time in times.items() if name in kind.__annotations__}})
