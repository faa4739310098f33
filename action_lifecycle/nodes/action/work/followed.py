# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Work that the node finds again by its id after a deactivation, if it has not restarted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
import json
from typing import Any

from ....lifecycle.ports import Handle
from ....lifecycle.running.work_states import MAX_RESULT
from ....lifecycle.states import ErrorCode
from ....lifecycle.text_format import joined
from ....lifecycle.work import Ended, NodeFaults, WorkRequest, WorkResult
from ....ros.node.lifecycle_node import ManagedNode

KEPT = 100
"""Number of results that are kept for actions that are restored later."""
MAX_SHOWN = 200
"""Maximum length of a result in text for people, in characters."""


class FollowedWork:
    """One piece of work; subclasses start it when they are made, and call `end` or `fail`."""

    def __init__(self, node: ManagedNode) -> None:
        self.node = node
        self.result: WorkResult | None = None
        self._request: WorkRequest | None = None
        self._ended: Ended | None = None

    def follow(self, request: WorkRequest, ended: Ended) -> None:
        """Report progress and end to these; to the last ones, if this is called again."""
        self._request, self._ended = request, ended
        if self.result is not None:
            self.node.call_soon(self._report)

    def told(self, progress: float, text: str) -> None:
        """Report the progress, from 0 to 1, or -1."""
        if self._request is not None and self.result is None:
            self._request.told(progress, text)

    def end(self, result: WorkResult) -> None:
        """Report the end; further calls have no effect."""
        if self.result is None:
            self.result = bounded(result)
            self.over()
            self._report()

    def fail(self, code: ErrorCode, message: str) -> None:
        """Report a failure."""
        self.end(WorkResult('failed', self.node.now(), error_code=code, error_msg=message))

    def _report(self) -> None:
        if self._ended is not None and self.result is not None:
            self._ended(self.result)

    def leave(self) -> None:
        """Report nothing any more, and leave the work as it is."""
        self._request = self._ended = None
        self.over()

    def cancel(self) -> None:
        """Stop the work; `end` follows."""
        raise NotImplementedError

    def over(self) -> None:
        """Release what the work has used, at its end."""


class Followed:
    """A worker whose work is found by its id; subclasses implement `make`."""

    def __init__(self, node: ManagedNode) -> None:
        self.node = node
        self._works: OrderedDict[str, FollowedWork] = OrderedDict()

    def make(self, spec: Any, request: WorkRequest) -> FollowedWork:
        """Start work; may raise LifecycleError."""
        raise NotImplementedError

    def faults(self, spec: Any, parameters: Collection[str]) -> NodeFaults:
        """Return the faults that can be found before anything runs, as (field, message)."""
        return ()

    def start(self, spec: Any, request: WorkRequest, ended: Ended) -> Handle:
        """Start the work, or follow the work with this id."""
        return self.follow(
            self._works.get(request.id) or self.make(spec, request), request, ended)

    def resume(self, spec: Any, request: WorkRequest, ended: Ended) -> Handle:
        """Follow the work with this id; see `WorkSpec.resume`."""
        return self.start(spec, request, ended)

    def follow(self, work: FollowedWork, request: WorkRequest, ended: Ended) -> Handle:
        """Have work found by the id of a request, and report its end."""
        self._works[request.id] = work
        self._forget()
        work.follow(request, ended)
        return work

    def knows(self, number: str) -> bool:
        """Return whether the work with this id runs or has ended in this process."""
        return number in self._works

    def not_running(self, ended: Ended, why: str) -> Handle:
        """Report that it is not known how work of an earlier process has ended."""
        return self.node.call_later(0.0, lambda: ended(WorkResult(
            'not_running', self.node.now(), why)))

    def _forget(self) -> None:
        over = [number for number, work in self._works.items() if work.result is not None]
        for number in over[:-KEPT]:
            del self._works[number]

    def close(self) -> None:
        """Leave all work as it is; nothing is reported any more."""
        for work in self._works.values():
            work.leave()
        self._works.clear()


def bounded(result: WorkResult) -> WorkResult:
    """Return a result without what is too long for the journal, with a note about it."""
    size = 0 if result.result is None else len(json.dumps(result.result))
    if size > MAX_RESULT:
        result.result = None
        result.note = joined(result.note, f'the result of {size} characters of JSON is not kept, '
                             f'at most {MAX_RESULT} are')
    return result


def shown(value: Any) -> str:
    """Return the beginning of a value as JSON, for people."""
    text = json.dumps(value, ensure_ascii=False, default=lambda _: '…')
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN - 1] + '…'
