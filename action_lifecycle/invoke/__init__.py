# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Work outside the control loop: tasks in other processes, started by states of type `invoker`."""

from .celery_engine import CeleryEngine
from .engines import ENGINES, make_engine
from .invoker import Invoker
from .local import LocalEngine
from .progress import Progress
from .run import Engine, Job, Outcome
from .states import InvokerState
from .wire import MAX_MESSAGE, WireError
from .work import Group, Map, Sequence, Task, WorkError, read_work

__all__ = [
    'ENGINES', 'MAX_MESSAGE', 'CeleryEngine', 'Engine', 'Group', 'Invoker', 'InvokerState', 'Job',
    'LocalEngine', 'Map', 'Outcome', 'Progress', 'Sequence', 'Task', 'WireError', 'WorkError',
    'make_engine', 'read_work',
]
