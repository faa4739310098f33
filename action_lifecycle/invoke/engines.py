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

"""Creates engines by name."""

from __future__ import annotations

from .jobs import Engine
from .local import LocalEngine
from ..engine.errors import LifecycleError, nearest

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
