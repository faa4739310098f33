# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The base class of kinds of work that are a Python function."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
import json
import threading
from typing import Any, ClassVar

from .ports import Handle
from .states import ErrorCode
from .work import Ended, NodeFaults, WorkHost, WorkRequest, WorkResult, WorkSpec


class FunctionWork(WorkSpec):
    """
    Work that is done by `run` in a thread of its own; subclasses add fields.

    `repeatable`: after a crash, `run` is called again, since that does no harm.
    """

    repeatable: ClassVar[bool] = False

    def run(self, request: WorkRequest) -> Any:
        """
        Do the work; may block. Returns its result (of JSON) or raises an exception if it fails.

        `request.told(progress, text)` reports the progress. `request.canceled()` is true when it
        should return early; what it returns is ignored then.
        """
        raise NotImplementedError(f"work of the kind '{self.kind}' has no run()")

    def faults_in_node(
        self, parameters: Collection[str], host: WorkHost
    ) -> NodeFaults:
        """Return no faults; to be overridden."""
        return ()

    def start(self, request: WorkRequest, host: WorkHost, ended: Ended) -> Handle:
        """Call `run` in a thread of its own."""
        return _Call(self, request, host, ended)

    def resume(self, request: WorkRequest, host: WorkHost, ended: Ended) -> Handle:
        """Call `run` again if it is repeatable."""
        if self.repeatable:
            return self.start(request, host, ended)
        host.call_soon(lambda: ended(WorkResult(
            'not_running', host.now(), 'it was interrupted in its function')))
        return _Ended()


class _Ended:
    """The handle of work that does not run."""

    def cancel(self) -> None:
        """Do nothing."""


class _Call:
    """A call of `run`."""

    def __init__(
        self, spec: FunctionWork, request: WorkRequest, host: WorkHost, ended: Ended
    ) -> None:
        self._host = host
        self._ended = ended
        self._canceled = threading.Event()
        seen = replace(
            request, canceled=self._canceled.is_set,
            told=lambda progress, text: host.call_soon(lambda: request.told(progress, text)))
        host.in_thread(f'work {spec.kind}', lambda: spec.run(seen), self._done)

    def cancel(self) -> None:
        """Ask `run` to return; the work ends when it has."""
        self._canceled.set()

    def _done(self, result: Any, error: Exception | None) -> None:
        now = self._host.now()
        if self._canceled.is_set():
            self._ended(WorkResult('canceled', now, 'it has returned'))
        elif error is not None:
            self._ended(WorkResult(
                'failed', now, error_code=ErrorCode.WORK_FAILED,
                error_msg=f'{type(error).__name__}: {error}'))
        else:
            self._ended(_success(result, now))


def _success(result: Any, now: float) -> WorkResult:
    try:
        text = json.dumps(result, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        return WorkResult('failed', now, error_code=ErrorCode.WORK_FAILED,
                          error_msg=f'its result is no JSON: {error}')
    return WorkResult('executed', now, '' if result is None else text[:200], result=result)
