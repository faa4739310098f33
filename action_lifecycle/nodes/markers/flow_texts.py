# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The actions of running flows as their files have them, read from the journal by a service."""

from __future__ import annotations

from collections import deque, OrderedDict
from collections.abc import Callable
import contextlib
import functools
from typing import Any

from action_lifecycle_msgs.srv import GetRows

from ..shared.in_thread import InThread
from ..shared.queries import MAX_LIMIT
from ...documents.errors import LifecycleError
from ...documents.json_text import read_json
from ...flow.files.journaled import JournaledText
from ...journal.row import Row
from ...lifecycle.flow_ids import stored
from ...lifecycle.spec import ActionSpec
from ...lifecycle.states import ErrorCode
from ...ros.calls.service_call import RetryPolicy, ServiceCall
from ...ros.node.lifecycle_node import ManagedNode
from ...viewer.record.versions import FlowVersions

POLICY = RetryPolicy(appear=1.0, answer=6.0, repeat=2.0)
KEPT = 100
"""Number of flows that are kept, those that were used last."""
NOW = 2**63 - 1


class _FlowText:
    """One outermost flow: its versions and those of the flows nested in it, by id."""

    def __init__(self) -> None:
        self.versions: dict[str, FlowVersions] = {}
        self.seq = 0  #: the last row that was read
        self.call: ServiceCall | None = None
        self.parsing: InThread[None] | None = None
        self.wanted = False  #: rows may have come since the last request


class FlowTexts:
    """
    Reads the rows of flows with `client`, of GetRows; calls `changed()` when there are new ones.

    A flow is parsed in a thread, so a large one does not block the node. Edits and the flows of
    nested actions are read as well; values that an attempt was begun with are not known here.
    """

    def __init__(
        self, node: ManagedNode, client: Any, changed: Callable[[], None]
    ) -> None:
        self._node = node
        self._client = client
        self._changed = changed
        self._flows: OrderedDict[str, _FlowText] = OrderedDict()
        self.fault = ''  #: why the last request has failed
        node.defer(self.close)

    def read(self, flow_id: str) -> None:
        """Read what the journal has of an outermost flow since the last time."""
        flow = self._flows.setdefault(flow_id, _FlowText())
        self._flows.move_to_end(flow_id)
        while len(self._flows) > KEPT:
            self._end(self._flows.popitem(last=False)[1])
        flow.wanted = True
        if flow.call is None and flow.parsing is None:
            self._ask(flow_id, flow)

    def find(self, flow_id: str, path: str) -> ActionSpec | None:
        """Return an action, None if it is not known (yet)."""
        flow = self._flows.get(flow_id)
        inner, name = stored(flow_id, path)
        versions = None if flow is None else flow.versions.get(inner)
        found = None if versions is None else versions.at(NOW).flow
        return None if found is None else found.actions.get(name)

    def close(self) -> None:
        """Forget all flows."""
        for flow in self._flows.values():
            self._end(flow)
        self._flows.clear()

    def _end(self, flow: _FlowText) -> None:
        if flow.call is not None:
            flow.call.cancel()
        if flow.parsing is not None:
            flow.parsing.cancel()

    def _ask(self, flow_id: str, flow: _FlowText) -> None:
        flow.wanted = False
        request = GetRows.Request(flow_id=flow_id, after_seq=flow.seq, limit=MAX_LIMIT)
        flow.call = ServiceCall(self._node, self._client, lambda: request, POLICY)
        flow.call.on_done(lambda done: self._answered(flow_id, flow, done))

    def _answered(self, flow_id: str, flow: _FlowText, done: Any) -> None:
        flow.call = None
        try:
            answer = done.result()
            if answer.error_code != ErrorCode.NONE:
                raise LifecycleError(answer.error_msg)
            rows = deque(Row._make(read_json(text, 'a row')) for text in answer.rows_json)
        except (LifecycleError, TypeError, ValueError) as error:
            self.fault = str(error)  # the next action asks again
            return
        self.fault = ''
        flow.wanted |= answer.more
        flow.seq = max(flow.seq, answer.next_seq)
        self._take(flow_id, flow, rows)

    def _take(self, flow_id: str, flow: _FlowText, rows: deque[Row]) -> None:
        """Take the rows of texts and edits, each text after it was parsed in a thread."""
        while rows:
            row = rows[0]
            if row.kind != 'flow' or row.ill_formed():
                rows.popleft()
                continue
            versions = flow.versions.get(row.flow_id)
            if versions is None:
                versions = flow.versions[row.flow_id] = FlowVersions(row.flow_id)
            text = versions.completed_by(row)
            if text is not None and flow.parsing is None:
                flow.parsing = InThread(
                    'flow text', functools.partial(_parse, text),
                    lambda _: self._take(flow_id, flow, rows), self._node.call_soon)
                return
            flow.parsing = None
            rows.popleft()
            if row.event in ('accepted', 'text'):
                versions.take_text(row)
            elif row.event == 'edited':
                versions.take_edit(row)
        if flow.wanted:
            self._ask(flow_id, flow)
        self._changed()


def _parse(text: JournaledText) -> None:
    """Parse a text into the cache; `FlowVersions.take_text` reports what is wrong with it."""
    with contextlib.suppress(Exception):  # a row may have any content
        text.cached()
