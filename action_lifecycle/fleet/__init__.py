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

"""
What robots share: the ledger of the fleet, claims on tasks, operations on shared work.

Names that need the Redis client are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TYPE_CHECKING

from .smart_ledger import MemoryTasks, SmartLedger

if TYPE_CHECKING:
    from .checkpoints import recover_checkpoint, write_checkpoint_and_transition
    from .operations import OperationStateMachine
    from .redis.ledger import RedisLedger, RedisReader
    from .redis.tasks import RedisTasks

_WITH_REDIS = {
    'OperationStateMachine': 'operations', 'RedisLedger': 'redis.ledger',
    'RedisReader': 'redis.ledger', 'RedisTasks': 'redis.tasks',
    'recover_checkpoint': 'checkpoints', 'write_checkpoint_and_transition': 'checkpoints',
}

__all__ = [
    'MemoryTasks', 'OperationStateMachine', 'RedisLedger', 'RedisReader', 'RedisTasks',
    'SmartLedger', 'recover_checkpoint', 'write_checkpoint_and_transition',
]


def __getattr__(name: str) -> Any:
    """Import a name that needs the Redis client."""
    if name not in _WITH_REDIS:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'.{_WITH_REDIS[name]}', __name__), name)
