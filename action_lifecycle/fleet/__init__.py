# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Data that robots share: the ledger of the fleet, claims on tasks, operations on shared work.

Names of the Redis backend are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TYPE_CHECKING

from .errors import LedgerError, LedgerRefused, LedgerUnavailable
from .ledger import Ledger, open_ledger, register_ledger
from .smart_ledger import MemoryTasks, SmartLedger

if TYPE_CHECKING:
    from .backends.redis.ledger import RedisLedger
    from .backends.redis.operations import (
        OperationStateMachine,
        recover_checkpoint,
        write_checkpoint_and_transition,
    )
    from .backends.redis.reader import RedisReader
    from .backends.redis.tasks import RedisTasks

_OF_REDIS = {
    'OperationStateMachine': 'operations', 'RedisLedger': 'ledger', 'RedisReader': 'reader',
    'RedisTasks': 'tasks', 'recover_checkpoint': 'operations',
    'write_checkpoint_and_transition': 'operations',
}

__all__ = [
    'Ledger', 'LedgerError', 'LedgerRefused', 'LedgerUnavailable', 'MemoryTasks',
    'OperationStateMachine', 'RedisLedger', 'RedisReader', 'RedisTasks', 'SmartLedger',
    'open_ledger', 'recover_checkpoint', 'register_ledger', 'write_checkpoint_and_transition',
]


def __getattr__(name: str) -> Any:
    """Import a name of the Redis backend."""
    if name not in _OF_REDIS:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'.backends.redis.{_OF_REDIS[name]}', __name__), name)
