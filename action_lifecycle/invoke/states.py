# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The state type `invoker`, which is left when its work ends."""

from __future__ import annotations

from typing import Any, Optional

from pydantic import Field, StrictStr

from ..documents.models import StrictModel
from ..graphs.state_types import register_state, State


class InvokerFields(StrictModel):
    """The fields of an invoker state."""

    invoke: Any = Field(..., description='module:function, a list, a mapping, or a map of work')
    done: StrictStr = Field(..., description='event fired with the outcome as actor_input')
    failed: Optional[StrictStr] = Field(
        None, description='event fired with the error as actor_input; without it the state stays '
        'and offers its other events')
    template: Optional[StrictStr] = Field(
        None, description='template of the dialogue, rendered if a hook asks for it')


@register_state
class InvokerState(State):
    """
    A state that is left when a DAG of tasks ends; the tasks are run by the listener `Invoker`.

    It can't be used in a `Session`.
    """

    Fields = InvokerFields
