# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The service that lists operations in the ledger of the fleet."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
import json
from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.srv import ListOperations

from ..shared.queries import page_limit
from ...fleet.errors import LedgerError, LedgerUnavailable
from ...fleet.operation_listing import ListedOperation, OperationPage
from ...lifecycle.states import ErrorCode
from ...ros.calls.threads import from_thread
from ...ros.conversions.basic import to_time
from ...ros.node.lifecycle_node import ManagedNode

Find = Callable[..., Future[OperationPage]]


class OperationQueries:
    """
    Offers `~/list_operations`.

    `find()` returns `Operations.find` of the ledger, run in the network thread; it raises
    LedgerError if there is no ledger or the node is not active.
    """

    def __init__(self, node: ManagedNode, find: Callable[[], Find]) -> None:
        self._node = node
        self._find = find
        self._scan = bool(node.parameter('scan_operations'))
        node.add_service(ListOperations, '~/list_operations', self.list_operations)

    async def list_operations(self, request: Any, response: Any) -> Any:
        """Fill the response with a page of the matching operations."""
        try:
            asked = self._find()(
                list(request.states), active_only=request.active_only, offset=request.offset,
                limit=page_limit(request.limit), scan=self._scan)
            await from_thread(self._node, asked)
            page = asked.result()
        except LedgerUnavailable as error:
            response.error_code, response.error_msg = int(ErrorCode.LEDGER_UNAVAILABLE), str(error)
        except LedgerError as error:
            response.error_code, response.error_msg = int(ErrorCode.INVALID_REQUEST), str(error)
        else:
            response.total = page.total
            response.operations = [operation_to(one) for one in page.operations]
        return response


def operation_to(operation: ListedOperation) -> msg.Operation:
    """Return the message of an operation."""
    return msg.Operation(
        trace_id=operation.trace_id, state=operation.state, owner=operation.owner,
        updated=to_time(operation.updated), active=operation.active,
        metadata_json=json.dumps(dict(operation.metadata), sort_keys=True))
