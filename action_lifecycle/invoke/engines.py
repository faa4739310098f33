# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Creates engines by name."""

from __future__ import annotations

from .jobs import Engine
from .local import LocalEngine
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest

ENGINES = ('local', 'celery')


def make_engine(
    name: str = 'local', *, workers: int = 2, time_limit: float = 60.0, broker: str = '',
    queue_limit: float = 600.0,
) -> Engine:
    """
    Create the engine of this name.

    `workers` is for `local`; `broker` (URL of a Redis server without a password) and `queue_limit`
    (s) are for `celery`. `time_limit` (s): default for tasks.
    """
    if name == 'local':
        return LocalEngine(workers, time_limit)
    if name == 'celery':
        if not broker:
            raise LifecycleError("the engine 'celery' needs a broker, such as redis://localhost")
        from .celery_engine import CeleryEngine  # see __init__
        return CeleryEngine(broker, time_limit, queue_limit)
    raise LifecycleError(f"unknown engine '{name}'" + nearest(name, ENGINES)
                         + f" (known: {', '.join(ENGINES)})")
