# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The kind `call`: one request to a ROS service of any type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from .bridge_work import BridgeWork
from ..documents.errors import DocumentError
from ..documents.models import seconds
from ..documents.templates.template import has_template
from ..lifecycle.ports import has_gaps
from ..lifecycle.work import register_work
from ..world.expressions.expression import compile_expression

NO_GAPS = ('{fact: …} and {expr: …} are for physical work; write a template, such as '
           "'{{ facts.NAME }}'")


@register_work('call')
class CallSpec(BridgeWork):
    """One request to one ROS service; it is sent at most once."""

    name_field = 'service'
    data_field = 'request'

    service: str = Field(description='Name of the service, such as vacuum/switch.')
    type: str = Field(description='Such as std_srvs/srv/SetBool.')  # noqa: A003
    request: dict[str, Any] = Field(
        default={}, description='Fields of the request; in physical work, {fact: NAME} and '
        '{expr: TEXT} are filled in from the facts when it is sent.')
    success: str = Field(
        default='', description='Condition over the fields of the response, such as '
        'status.code == 0, and parameters. Default: the field `success` if the response has a '
        'boolean of that name, else any response.')
    physical: bool = Field(
        default=False, description='It moves something: the bridge calls the service, and the '
        'safety topics, limits and sensors apply.')
    server_timeout: float = seconds(5.0, 'Seconds to wait for the service.', most=600)
    timeout: float = seconds(
        10.0, 'Seconds from the request to the response.', most=86400, more=True)

    def is_physical(self) -> bool:
        return self.physical

    def faults(self) -> Iterator[tuple[str, str]]:
        if not self.physical and has_gaps(self.request):
            yield 'request', NO_GAPS
        if self.success and not has_template(self.success):
            try:
                compile_expression(self.success, None, condition=True, dotted=True)
            except DocumentError as error:
                for fault in error.faults:
                    yield 'success', (
                        f'success {self.success!r}, character {fault.column}: {fault.message}')
