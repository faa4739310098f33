# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Data that robots share: the ledger of the fleet, claims on tasks, operations on shared work.

redis-py is imported when the first connection is made.
"""

from .backends.redis.ledger import RedisLedger
from .backends.redis.operations import (
    OperationStateMachine,
    recover_checkpoint,
    write_checkpoint_and_transition,
)
from .backends.redis.reader import RedisReader
from .backends.redis.tasks import RedisTasks
from .errors import LedgerError, LedgerRefused, LedgerUnavailable, RequestInvalid
from .flow_tasks import FlowTasks, ReadOnlyTasks
from .ledger import Ledger, open_ledger, register_ledger
from .smart_ledger import MemoryTasks, SmartLedger

__all__ = [
    'FlowTasks', 'Ledger', 'LedgerError', 'LedgerRefused', 'LedgerUnavailable', 'MemoryTasks',
    'OperationStateMachine', 'ReadOnlyTasks', 'RedisLedger', 'RedisReader', 'RedisTasks',
    'RequestInvalid', 'SmartLedger', 'open_ledger', 'recover_checkpoint', 'register_ledger',
    'write_checkpoint_and_transition',
]
