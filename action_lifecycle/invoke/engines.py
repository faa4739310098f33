# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Creates engines by name."""

from __future__ import annotations

from .engine import Engine
from .local import LocalEngine
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest

ENGINES = ('local', 'celery')


def make_engine(
    name: str = 'local', *, workers: int = 2, time_limit: float = 60.0, broker: str = '',
    queue_limit: float = 600.0, engine_name: str = '',
) -> Engine:
    """
    Return a new engine: `local` or `celery`.

    `workers`: number of processes, for `local`. `broker` (URL of a Redis server, without
    password), `queue_limit` (s) and `engine_name` (unique, to resume jobs after a restart) are for
    `celery`. `time_limit`: default for tasks, in s.
    """
    if name == 'local':
        return LocalEngine(workers, time_limit)
    if name == 'celery':
        if not broker:
            raise LifecycleError("the engine 'celery' needs a broker, such as redis://localhost")
        from .celery_engine import CeleryEngine  # on use, as in __init__
        return CeleryEngine(broker, time_limit, queue_limit, engine_name)
    raise LifecycleError(f"unknown engine '{name}'" + nearest(name, ENGINES)
                         + f" (known: {', '.join(ENGINES)})")
