# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes a box when an outcome is refuted, or on request."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import functools
from importlib.util import find_spec
import json
import math
from pathlib import Path
import time

from action_lifecycle_msgs.srv import SaveBlackBox

from .folder import BoxFolder
from .recorder import Recorder
from .rings import Rings
from .writing import Box, Incident, Pace, write_box
from ...shared.background_worker import Apart
from ....bags import BagError
from ....documents.errors import LifecycleError
from ....lifecycle.ports import Confirmation, ConfirmRequest, MotionRequest, WorkResult
from ....lifecycle.states import ErrorCode
from ....ros.node.diagnostics import Health, OK, WARN
from ....ros.node.lifecycle_node import ManagedNode
from ....ros.node.timers import Timeout
from ....world.facts.facts import FactSet, TopicFact

MEGABYTE = 1_000_000
MOTION_VERDICTS = {ErrorCode.MAINTAIN_VIOLATED: 'violated',
                   ErrorCode.STOP_UNCONFIRMED: 'stop_unconfirmed'}
PACKAGES = ('mcap', 'rosbags')  #: of the extra `bags`
QUEUE = 4  #: maximum number of boxes that wait to be written


class BlackBox:
    """The black box of one configuration of the bridge; without a folder it does nothing."""

    def __init__(self, node: ManagedNode, facts: FactSet, facts_text: str) -> None:
        self._node = node
        self._facts_text = facts_text
        self._folder = BoxFolder(Path(node.parameter('black_box.folder')).expanduser(),
                                 node.parameter('black_box.total') * MEGABYTE)
        self._seconds: float = node.parameter('black_box.seconds')
        self._after: float = node.parameter('black_box.after')
        self._when = frozenset(node.parameter('black_box.when'))
        self._rings = Rings(self._seconds, node.parameter('black_box.memory') * MEGABYTE)
        windows = [fact.spec.window for fact in facts.values() if isinstance(fact, TopicFact)]
        self._lead = min(self._seconds, max(windows, default=0.0))
        self._waiting: dict[Path, tuple[Timeout, Callable[[], None]]] = {}
        self._queued = self._written = self._lost = 0
        self._last = self._trouble = ''
        self.off = self._why_off()
        self.recorder = Recorder(node, None if self.off else self._rings)
        node.add_service(SaveBlackBox, '~/save_black_box', self._save, inactive=True)
        node.add_diagnostics('black_box', self.health)
        if not self.off:
            self._pace = Pace()
            self._apart = Apart(node)
            node.defer(self._close)
            try:
                self._folder.prepare()
            except OSError as error:
                self._fail(self._folder.path, error)

    def _why_off(self) -> str:
        if not self._node.parameter('black_box.folder'):
            return "parameter 'black_box.folder' is empty"
        if not self._seconds:
            return "parameter 'black_box.seconds' is 0"
        missing = [name for name in PACKAGES if find_spec(name) is None]
        if missing:
            why = f"{' and '.join(missing)} not installed: pip install 'action_lifecycle[bags]'"
            self._node.get_logger().warning(f'no black box is written: {why}')
            return why
        return ''

    def keep(self, started: float, after: float) -> Callable[[], None]:
        """Keep the messages that a confirmation needs, until the returned function is called."""
        return self._rings.keep(self._start(started, after))

    def _start(self, started: float, after: float) -> float:
        """Return from when on a confirmation needs messages; `after`: 0 if it is not given."""
        first = min(after, started) if after > 0 else started
        return max(first, started - self._seconds) - self._lead

    def judged(
        self, request: ConfirmRequest, started: float, judged: Confirmation
    ) -> Confirmation:
        """Begin a box if a confirmation has failed; returns it with the name of the box."""
        name = self._begin(Incident(
            judged.verdict, judged.error_msg, request.flow_id, request.action_id,
            request.attempt), self._start(started, request.after))
        return dataclasses.replace(judged, black_box=name)

    def motion_ended(self, request: MotionRequest, result: WorkResult) -> WorkResult:
        """Begin a box if a motion was stopped by `maintain`, or its stop was not confirmed."""
        result.black_box = self._begin(Incident(
            MOTION_VERDICTS.get(result.error_code, ''), result.error_msg, request.flow_id,
            request.action_id, request.attempt), math.inf)
        return result

    def _begin(self, incident: Incident, start: float) -> str:
        """Write a box `black_box.after` s later; returns its name, '' if none is written."""
        if self.off or incident.verdict not in self._when:
            return ''
        if len(self._waiting) + self._queued >= QUEUE:
            self._lost += 1
            self._node.get_logger().warning(
                f'no black box for {incident.flow_id}/{incident.action_id}: {QUEUE} others are '
                'not written yet')
            return ''
        path = self._new_path(incident)
        start = min(start, self._node.now() + self._after - self._seconds)
        release = self._rings.keep(start)

        def due() -> None:
            self._waiting.pop(path)
            box = self._box(incident, start)
            release()
            self._queued += 1
            self._apart(functools.partial(self._write, path, box),
                        functools.partial(self._ended, path))
        self._waiting[path] = Timeout(self._node, self._after, due), due
        return path.name

    async def _save(
        self, request: SaveBlackBox.Request, response: SaveBlackBox.Response
    ) -> SaveBlackBox.Response:
        if self.off:
            response.error_code = int(ErrorCode.NOT_READY)
            response.error_msg = f'no black box is written: {self.off}'
            return response
        if not 0.0 <= request.seconds < math.inf:
            raise LifecycleError(f'seconds {request.seconds}: expected 0 or more')
        now, incident = self._node.now(), Incident('requested', request.reason)
        path = self._new_path(incident)
        start = now - (request.seconds or self._seconds)
        work = functools.partial(self._write, path, self._box(incident, start))
        self._queued += 1
        try:
            response.messages = await self._apart.do(work)
        except Exception as error:
            self._ended(path, None, error)
            response.error_code = int(ErrorCode.INTERNAL)
            response.error_msg = self._trouble
            return response
        self._ended(path, response.messages, None)
        response.path = str(path)
        return response

    def _new_path(self, incident: Incident) -> Path:
        now = time.time()
        while True:
            path = self._folder.new_path(
                now, incident.flow_id, incident.action_id, str(incident.attempt or ''),
                incident.verdict)
            if path not in self._waiting and not path.exists():
                return path
            now += 0.001

    def _box(self, incident: Incident, start: float) -> Box:
        node = self._node
        return Box(incident, start, node.now(), self._rings.since(start), self._facts_text, {
            'bridge': node.get_fully_qualified_name(),
            'facts_file': Path(node.parameter('facts_file')).name,
            'topics': json.dumps(self.recorder.topics)})

    def _write(self, path: Path, box: Box) -> int:
        """Write a box, in the worker's thread; returns the number of its messages."""
        self._folder.prepare()
        count = write_box(path, box, self._pace)
        self._folder.drop_oldest(path)
        return count

    def _ended(self, path: Path, count: int | None, error: Exception | None) -> None:
        self._queued -= 1
        if error is not None:
            self._fail(path, error)
            return
        self._written += 1
        self._last, self._trouble = path.name, ''
        self._node.get_logger().info(f'black box: {path} ({count} messages)')

    def _fail(self, path: Path, error: Exception) -> None:
        why = str(error) if isinstance(error, BagError) else (
            f"{path}: {getattr(error, 'strerror', None) or error}")
        self._trouble = f'no black box: {why}'
        self._node.get_logger().error(self._trouble)

    # -- diagnostics, end

    def health(self) -> Health:
        """Return the last box, or why there is none, for the diagnostics."""
        if self.off:
            return Health(OK, f'off: {self.off}')
        values = {'messages kept': self._rings.count(),
                  'memory (MB)': round(self._rings.bytes / MEGABYTE, 1),
                  'boxes written': self._written, 'boxes lost': self._lost, 'last': self._last}
        if self._trouble:
            return Health(WARN, self._trouble, values)
        return Health(OK, f'last: {self._last}' if self._last else 'no box yet', values)

    def _close(self) -> None:
        """Complete the boxes that were begun, without the messages still to come."""
        for timeout, due in list(self._waiting.values()):
            timeout.cancel()
            due()
        self._pace.end()
        self._apart.close(finish=True)
