# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The base classes of the kinds of work that the bridge does if they are physical."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

from pydantic import Field

from ..documents.errors import DocumentError, LifecycleError
from ..documents.models import as_written, read_back
from ..documents.templates.template import has_template
from ..lifecycle.ports import has_gaps, MotionStep
from ..lifecycle.work import WORK, WorkSpec
from ..world.expressions.expression import compile_expression

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

    def uses(self) -> Iterator[tuple[str, str, str]]:
        yield self.name_field, self.name, self.type

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


class MessageWork(BridgeWork):
    """
    Messages to a service or a topic, which know no ids; physical only if the flow says so.

    `condition_field`: the field with the condition that shows the end; `over_response`: whether
    its names are fields of the response.
    """

    condition_field: ClassVar[str]
    over_response: ClassVar[bool] = False

    physical: bool = Field(
        default=False, description='It moves something: the bridge does it, and the safety '
        'topics, limits and sensors apply.')

    def is_physical(self) -> bool:
        return self.physical

    def evidence(self, confirmed: bool) -> tuple[str, str]:
        if confirmed and self.over_response:  # it only tells what the service says
            return '', ''
        return self.condition_field, getattr(self, self.condition_field)

    def faults(self) -> Iterator[tuple[str, str]]:
        if not self.physical and has_gaps(self.data):
            yield self.data_field, ('{fact: …} and {expr: …} are for physical work; write a '
                                    "template, such as '{{ facts.NAME }}'")
        name, text = self.condition_field, getattr(self, self.condition_field)
        if text and not has_template(text):
            try:
                compile_expression(text, None, condition=True, dotted=self.over_response)
            except DocumentError as error:
                for fault in error.faults:
                    yield name, f'{name} {text!r}, character {fault.column}: {fault.message}'


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
