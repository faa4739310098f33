# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The kind `call`: one request to a ROS service of any type."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .bridge_work import MessageWork
from ..documents.models import seconds
from ..lifecycle.work import register_work


@register_work('call')
class CallSpec(MessageWork):
    """One request to one ROS service; it is sent at most once."""

    name_field = 'service'
    data_field = 'request'
    condition_field = 'success'
    over_response = True

    service: str = Field(description='Name of the service, such as vacuum/switch.')
    type: str = Field(description='Such as std_srvs/srv/SetBool.')  # noqa: A003
    request: dict[str, Any] = Field(
        default={}, description='Fields of the request; in physical work, {fact: NAME} and '
        '{expr: TEXT} are filled in from the facts when it is sent.')
    success: str = Field(
        default='', description='Condition over the fields of the response, such as '
        'status.code == 0, and parameters. Default: the field `success` if the response has a '
        'boolean of that name, else any response.')
    server_timeout: float = seconds(5.0, 'Seconds to wait for the service.', most=600)
    timeout: float = seconds(
        10.0, 'Seconds from the request to the response.', most=86400, more=True)
