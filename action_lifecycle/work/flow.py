# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The kind `flow`: another flow as one action."""

from __future__ import annotations

from typing import Any, Union

from pydantic import Field

from ..lifecycle.work import NestingSpec, register_work


@register_work('flow')
class NestedFlowSpec(NestingSpec):
    """Another flow, as one action; a plain string is its name or file."""

    flow: Union[str, dict[str, Any]] = Field(
        description='Name of a flow, path of a file (from the folder of this file), or the flow '
        'itself.')
    parameters: dict[str, Any] = Field(
        default={}, description='Values of its parameters.')

    short = 'flow'
    late = ('flow',)
