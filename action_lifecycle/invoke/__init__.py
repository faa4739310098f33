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

"""Work in other processes: tasks started by states of type `invoker`."""

from typing import Any, TYPE_CHECKING

from .engines import ENGINES, make_engine
from .invoker import Invoker
from .jobs import Engine, Job, Outcome
from .local import LocalEngine
from .progress import Progress
from .states import InvokerState
from .wire import MAX_MESSAGE, WireError
from .work import Group, Map, read_work, Sequence, Task, WorkError

if TYPE_CHECKING:
    from .celery_engine import CeleryEngine

__all__ = [
    'ENGINES', 'MAX_MESSAGE', 'CeleryEngine', 'Engine', 'Group', 'Invoker', 'InvokerState', 'Job',
    'LocalEngine', 'Map', 'Outcome', 'Progress', 'Sequence', 'Task', 'WireError', 'WorkError',
    'make_engine', 'read_work',
]


def __getattr__(name: str) -> Any:
    """Import the Celery engine and redis when they are used; local workers need neither."""
    if name == 'CeleryEngine':
        from .celery_engine import CeleryEngine
        return CeleryEngine
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
