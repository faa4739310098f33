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

"""The state type `invoker`: work outside decides when the state is left."""

from __future__ import annotations

from typing import Any, Optional

from pydantic import Field, StrictStr

from ..engine.models import StrictModel
from ..engine.states import register_state, State


class InvokerFields(StrictModel):
    """What an invoker state declares."""

    invoke: Any = Field(..., description='module:function, a list, a mapping, or a map of work')
    done: StrictStr = Field(..., description='event fired with the outcome as actor_input')
    failed: Optional[StrictStr] = Field(
        None, description='event fired with the error as actor_input; without it the state stays '
        'and offers its other events')
    template: Optional[StrictStr] = Field(
        None, description='what the dialogue renders if a hook asks for it')


@register_state
class InvokerState(State):
    """
    Lasts while a DAG of tasks runs; an `Invoker` that listens to the machine runs it.

    It is no state for a session of steps, which has no machine.
    """

    type = 'invoker'  # noqa: A003
    Fields = InvokerFields
