# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `operations`: lists operations in the ledger of the fleet."""

from __future__ import annotations

import argparse

from action_lifecycle_msgs.srv import ListOperations

from ..client import accepted, connect
from ..exits import NotThere
from ..node_data import operation_data
from ..table import at_clock, print_json, print_rows
from ...documents.errors import LifecycleError
from ...lifecycle.states import ErrorCode


def list_operations(options: argparse.Namespace) -> None:
    """Print the operations that match the filters."""
    if options.limit < 1:
        raise LifecycleError(f'--limit {options.limit}: expected 1 or more')
    with connect(options.namespace, options.wait) as client:
        answer = client.call(
            ListOperations, 'ledger/list_operations', ListOperations.Request(
                states=options.state, active_only=options.active, limit=options.limit))
    if answer.error_code == ErrorCode.LEDGER_UNAVAILABLE:
        raise NotThere(answer.error_msg)
    operations = list(map(operation_data, accepted(answer).operations))
    if options.json:
        print_json(operations)
        return
    print_rows(('operation', 'state', 'owner', 'updated', 'attempt', 'error'), (
        (one['trace_id'], one['state'], one['owner'], at_clock(one['updated']),
         one['metadata'].get('attempt', ''), one['metadata'].get('error', ''))
        for one in operations))
    if answer.total > len(operations):
        print(f'{len(operations)} of {answer.total} operations; --limit shows more')
