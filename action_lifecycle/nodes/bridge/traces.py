# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Evidence traces in the bridge: its parameters, its period, and what the requests have to say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .trace_queries import TraceQueries
from ...lifecycle.ports import ConfirmRequest, MotionRequest, WorkResult
from ...ros.node.diagnostics import Health, OK, WARN
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.timers import Timeout
from ...traces.contents import Confirmed, TraceKey
from ...traces.recorder import TraceRecorder
from ...traces.writer import TraceWriter
from ...work.standstill import Standstill
from ...world.condition import WatchResult
from ...world.model import WorldModel
from ...world.watches import Watch

PERIOD = 0.5  #: s between two writes; a kill loses at most as much
MEGABYTE = 1_000_000


class Traces:
    """
    Records traces in the file of parameter `trace_file`; without one, all methods do nothing.

    Raises TraceError if the file can't be opened.
    """

    def __init__(self, node: ManagedNode, model: WorldModel) -> None:
        self._node = node
        self._timer: Timeout | None = None
        self._writer: TraceWriter | None = None
        self._recorder: TraceRecorder | None = None
        path = Path(node.parameter('trace_file')).expanduser() if node.parameter(
            'trace_file') else None
        if path is not None:
            self._writer = TraceWriter(path, int(node.parameter('trace_limit') * MEGABYTE))
            self._recorder = TraceRecorder(model, self._writer.put)
        TraceQueries(node, path)

    def health(self) -> Health:
        """Return whether traces are recorded, for the diagnostics."""
        if self._writer is None:
            return Health(OK, 'not recorded', {})
        if self._writer.fault:
            return Health(WARN, f'not recorded: {self._writer.fault}', {'lost': self._writer.lost})
        return Health(OK, 'recorded', {'lost': self._writer.lost})

    def motion_begins(
        self, request: MotionRequest, standstill: Standstill
    ) -> Callable[[Watch], None] | None:
        """Begin the trace of an attempt; returns what notes the verdicts of `maintain`."""
        if self._recorder is None:
            return None
        key, recorder = key_of(request), self._recorder
        recorder.begin(
            key, [*request.maintain, *request.confirm], request.parameters, self._node.now())
        recorder.begin(key, standstill.conditions, standstill.names, self._node.now())
        recorder.mark(key, self._node.now(), 'motion_followed' if request.resume else
                      'motion_started', ', '.join(step.server for step in request.steps))
        self._poll_later()
        return lambda watch: recorder.judged(key, watch)

    def motion_ended(self, request: MotionRequest, result: WorkResult) -> None:
        """Note the end of a motion."""
        if self._recorder is not None:
            self._recorder.waiting(
                key_of(request), self._node.now(), 'motion_ended', ': '.join(
                    filter(None, (result.outcome, result.controller_said, result.error_msg))))

    def confirm_begins(self, request: ConfirmRequest) -> Callable[[Watch], None] | None:
        """Begin or continue the trace of an attempt; returns what notes the verdicts."""
        if self._recorder is None:
            return None
        key, recorder = key_of(request), self._recorder
        recorder.begin(key, request.conditions, request.parameters, self._node.now())
        recorder.confirming(key, self._node.now())
        self._poll_later()
        return lambda watch: recorder.judged(key, watch)

    def confirmed(self, request: ConfirmRequest, watch: Watch, result: WatchResult) -> None:
        """Note the verdict of a confirmation."""
        if self._recorder is not None:
            key = key_of(request)
            self._recorder.judged(key, watch)
            self._recorder.confirmed(key, Confirmed(
                watch.start, watch.after, result.stamp, request.conditions, request.parameters,
                result.outcome.name.lower(), [entry.as_dict() for entry in result.evidence]))

    def confirm_ended(
        self, request: ConfirmRequest, mark: str = 'confirm_canceled', detail: str = ''
    ) -> None:
        """Note that a confirmation has ended without a verdict."""
        if self._recorder is not None:
            self._recorder.waiting(key_of(request), self._node.now(), mark, detail)

    def destroy(self) -> None:
        """End all traces and close the file."""
        if self._timer is not None:
            self._timer.cancel()
        if self._recorder is not None and self._writer is not None:
            self._recorder.close(self._node.now())
            self._writer.close()
            self._recorder = self._writer = None

    def _poll_later(self) -> None:
        if self._timer is None:
            self._timer = Timeout(self._node, PERIOD, self._poll)

    def _poll(self) -> None:
        self._timer = None
        if self._recorder is not None:
            self._recorder.poll(self._node.now())
            if self._recorder.recording:
                self._poll_later()


def key_of(request: Any) -> TraceKey:
    """Return the attempt to which a request belongs."""
    return TraceKey(request.flow_id, request.action_id, request.attempt)
