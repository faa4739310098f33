# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work in other processes: tasks started by states of type `invoker`."""

from typing import Any, TYPE_CHECKING

from .engine import Engine
from .engines import ENGINES, make_engine
from .invoker import EarlierWork, Invoker, WorkLog
from .jobs import Job, Outcome
from .local import LocalEngine
from .run import Progress, RunLog, RunSuspended
from .states import InvokerState
from .wire import from_json_data, MAX_MESSAGE, to_json_data, WireError
from .work import Group, Map, read_work, Sequence, Task, WorkError

if TYPE_CHECKING:
    from .celery_engine import CeleryEngine

__all__ = [
    'ENGINES', 'MAX_MESSAGE', 'CeleryEngine', 'EarlierWork', 'Engine', 'Group', 'Invoker',
    'InvokerState', 'Job', 'LocalEngine', 'Map', 'Outcome', 'Progress', 'RunLog', 'RunSuspended',
    'Sequence', 'Task', 'WireError', 'WorkError', 'WorkLog', 'from_json_data', 'make_engine',
    'read_work', 'to_json_data',
]


def __getattr__(name: str) -> Any:
    """Import the Celery engine and redis on first use; local workers need neither."""
    if name == 'CeleryEngine':
        from .celery_engine import CeleryEngine
        return CeleryEngine
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
