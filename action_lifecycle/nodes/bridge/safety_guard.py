# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Subscribes to the safety topics; publishes their state on ~/safety and in diagnostics.

The topics are watched, and the cancels of the motions sent, in a thread of their own. All else is
done in the thread of the node afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
import contextlib
import dataclasses
import functools
import threading
import time
from typing import Any

from action_lifecycle_msgs import msg
from builtin_interfaces.msg import Time
from rclpy.task import Future
from rclpy.time import Time as RosTime

from .black_box import Recorder
from .urgent_stops import UrgentStops
from ...documents.stamps import to_seconds
from ...lifecycle.futures import settle
from ...lifecycle.states import ErrorCode
from ...ros.conversions.basic import to_time
from ...ros.interfaces.qos import state_qos
from ...ros.node.diagnostics import ERROR, Health, OK, WARN
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.node_thread import NodeThread
from ...ros.node.subscriptions import Subscriptions, TopicNeed, TopicReader
from ...ros.node.timers import Alarm, Timeout
from ...world.facts.facts import FactSet
from ...world.facts.facts_file import SafetySpec
from ...world.safety.safety import Safety, SafetyMonitor, SafetyStatus
from ...world.safety.stop_file import StopFile

_LEVELS = {Safety.READY: OK, Safety.NOT_READY: WARN, Safety.STOPPED: ERROR}
PATIENCE = 3.0  #: time (s) after which missing safety messages are logged
STANDSTILL = 1_000_000  #: ns; if ROS time advanced less, stamps are counted on
POLL_PERIOD = 0.25  #: period (s) at which the publishers of the safety topics are checked
AGAIN = 0.05  #: period (s) of the cancels at a stop until the node's thread sends its own
FRESH = 0.1  #: s; before a motion they are checked again, unless this was done just before


class SafetyGuard:
    """
    Monitors the safety topics by steady time; calls `on_stop` when safety becomes STOPPED.

    A latched stop is kept in the file of the parameter `stop_file` until it is cleared. If the
    file has a stop, the monitor starts as STOPPED.

    `monitor` is used in both threads under a lock, which is held for the judgement and for sending
    the cancels only.
    """

    def __init__(
        self, node: ManagedNode, facts: FactSet, on_stop: Callable[[SafetyStatus], None],
        recorder: Recorder,
    ) -> None:
        stop_file = node.parameter('stop_file')
        self._node = node
        self._on_stop = on_stop
        self._file = StopFile(stop_file) if stop_file else None
        self._lock = threading.RLock()  #: of the monitor
        self._file_lock = threading.Lock()
        self._untold: deque[SafetyStatus] = deque()  #: changes that the node has not seen yet
        self._watch = NodeThread(node, 'safety')
        node.defer(self._watch.close)  # if the configuration fails later
        self.urgent = UrgentStops(node, lambda: self.status.state is Safety.STOPPED)
        self.monitor = SafetyMonitor(
            facts, self._changed, None if self._file is None else self._file.read(),
            node.resolve_topic_name)
        self._kept = self.status  #: that the file has
        if self.status.state is Safety.STOPPED:
            self._log(self.status)
        self._stamp = Time()  #: of the state that was published last
        self._cause = ''  #: that was published last
        self._polled = 0.0  #: steady time (s) at which the publishers were checked
        self._patience = Timeout(self._watch, PATIENCE, self._not_ready_yet)
        self._alarm = Alarm(self._watch, self._advance, ros_time=False)
        self._publisher = node.add_publisher(msg.SafetyState, '~/safety', state_qos())
        self._readers: list[tuple[SafetySpec, TopicReader]] = []
        self._subscriptions: list[Subscriptions] = []
        for spec in self.monitor.specs():
            record = recorder.recording(spec.topic, spec.type, self._arrival, stand_in=True)
            take = self._watch.guarded(
                functools.partial(self._take, spec, None if record == self._arrival else record),
                what=f'topic {spec.topic}')
            need = TopicNeed(spec.topic, spec.type, spec.qos, take,
                             distrust=functools.partial(self._distrust, spec),
                             lost=self._watch.guarded(functools.partial(self._lose, spec)))
            subscriptions = Subscriptions(self._watch, [need], linger=lambda: 0.0)
            subscriptions.hold([spec.topic])
            self._subscriptions.append(subscriptions)
            self._readers.append((spec, subscriptions.readers[spec.topic]))
        self._look_again()
        self._watch.start()

    @property
    def status(self) -> SafetyStatus:
        """Return the state and the first reason for it."""
        return self.monitor.status

    def trouble(self) -> SafetyStatus | None:
        """
        Return why no motion may start; None if one may.

        Only the thread that reads the topics judges their silence.
        """
        if self._node.steady() >= self._polled + FRESH:
            self._poll(self._look_from_outside)
        status = self.status
        if status.state is Safety.READY and self._late():
            return SafetyStatus(Safety.NOT_READY, ErrorCode.SAFETY_NOT_READY,
                                'the safety topics are not read in time')
        return None if status.state is Safety.READY else dataclasses.replace(
            status, reason=status.reason + self._why_unseen())

    async def clear(self, seen: Time | None = None) -> str:
        """
        Clear a latched stop; returns why this is not possible, '' if it is cleared.

        `seen`: stamp of the state that the person saw; a newer stop is not cleared.
        """
        judged = Future()
        self._watch.call_soon(lambda: self._clear_if(None, judged))
        await judged
        self._tell()
        if self.status.state is Safety.STOPPED and seen not in (None, Time(), self._stamp):
            age = max(0.0, self._node.now() - to_seconds(self._stamp))
            return (f'there is a newer stop than what you saw, since {age:.1f} s: '
                    f'{self.status.reason}; look at the robot, then clear it again')
        cleared, status = Future(), self.status
        self._watch.call_soon(lambda: self._clear_if(status, cleared))
        why: str = await cleared
        self._tell()
        return why

    def _clear_if(self, seen: SafetyStatus | None, done: Any) -> None:
        """Judge the topics now, and clear the stop if it is `seen`."""
        why = ''
        try:
            self._advance()
            self._poll(_look)
            if seen is not None:
                with self._judging():
                    why = self.monitor.clear(self._node.steady()) if seen is self.status \
                        else self.status.reason
                self._set_alarm()
        finally:
            self._node.call_soon(lambda: settle(done, why))

    def note_motion(self, moved: bool) -> None:
        """Record whether a motion has begun since activation."""
        self.monitor.moved = moved

    def publish(self) -> None:
        """Publish the state on ~/safety, with a stamp that no other state has."""
        self._publish_of(self.status)

    def _publish_of(self, status: SafetyStatus) -> None:
        before, now = (RosTime.from_msg(each).nanoseconds
                       for each in (self._stamp, to_time(self._node.now())))
        if 0 <= before - now < STANDSTILL:
            now = before + 1
        self._stamp = RosTime(nanoseconds=now).to_msg()
        self._publish(status)

    def _publish(self, status: SafetyStatus) -> None:
        with self._lock:
            self._cause = self.monitor.cause(self._node.steady())
        self._publisher.publish(msg.SafetyState(
            stamp=self._stamp, state=int(status.state), error_code=int(status.code),
            reason=status.reason, topic=status.topic, cause=self._cause))

    def health(self) -> Health:
        """Return the state for the diagnostics."""
        status = self.status
        troubles = [reader.trouble for _, reader in self._readers if reader.trouble]
        level, message = _LEVELS[status.state], status.message or status.state.name.lower()
        message += self._why_unseen()
        if troubles and level == OK:
            level, message = WARN, troubles[0]
        return Health(level, message, {
            'state': status.state.name, 'error code': status.code.name, 'topic': status.topic,
            **{f'trouble {number}': trouble for number, trouble in enumerate(troubles, 1)}})

    def destroy(self) -> None:
        """
        Unsubscribe and stop publishing, at an orderly shutdown.

        A stop because of a stale topic is removed from the file, as drivers often end before the
        bridge.
        """
        self._watch.close()
        self._tell()
        if self.status.code is ErrorCode.SAFETY_STALE:
            self._keep(None)
        self._patience.cancel()
        self._looking.cancel()
        self._alarm.destroy()
        for subscriptions in self._subscriptions:
            subscriptions.destroy()
        self._watch.destroy_node()

    def _arrival(self, message: Any, age: float = 0.0) -> tuple[float, float]:
        """Return when a message that is only recorded arrived (ROS time, s), and its age (s)."""
        return self._node.now(), age

    # -- in the thread that watches

    @contextlib.contextmanager
    def _judging(self) -> Iterator[None]:
        """Use the monitor, in any thread; what a change leads to is done after the cancels."""
        with self._lock:
            yield
        if self._untold:
            self._save()

    def _changed(self, status: SafetyStatus) -> None:
        self._untold.append(status)
        self._node.call_soon(self._tell)  # first, as the servers' answers must come after it
        if status.state is Safety.STOPPED:
            self.urgent.halt()
            self._watch.call_soon(self._halt_again)

    def _halt_again(self) -> None:
        """Repeat the cancels until the node's thread has taken over, as goals may be new to it."""
        if self._untold and self.status.state is Safety.STOPPED:
            self.urgent.halt()
            Timeout(self._watch, AGAIN, self._halt_again)

    def _take(
        self, spec: SafetySpec, record: Callable[..., None] | None, message: Any,
        age: float | None = None,
    ) -> None:
        published: float | None = self._node.now()
        if age is not None:  # latched: published `age` s ago by the wall clock
            published = None if self._node.get_clock().ros_time_is_active else published - age
        with self._judging():
            self.monitor.ingest(spec, message, self._node.steady(), published,
                                latched=age is not None)
        self._set_alarm()
        if record is not None:
            self._node.spawn(record, message, *(() if age is None else (age,)))

    def _distrust(self, spec: SafetySpec, reason: str) -> None:
        with self._judging():
            self.monitor.distrust(spec, reason, self._node.steady())
        self._set_alarm()

    def _lose(self, spec: SafetySpec, count: int) -> None:
        with self._judging():
            self.monitor.lost(spec, self._node.steady())
        self._set_alarm()
        for one, reader in self._readers:
            if one is spec:
                self._watch.call_soon(reader.fetch_again)

    def _advance(self) -> None:
        """Evaluate the topics; if a deadline is due, read waiting messages first."""
        if self._node.steady() >= self.monitor.next_deadline():
            for _, reader in self._readers:
                reader.read()
        with self._judging():
            self.monitor.advance(self._node.steady())
        self._set_alarm()

    def _late(self) -> bool:
        """Whether a deadline is due that the thread of the topics has not judged."""
        return self._node.steady() >= self.monitor.next_deadline()

    def _poll(self, look: Callable[[SafetySpec, TopicReader], Collection[bytes]]) -> None:
        """Update the publishers of the topics in the monitor."""
        self._polled = self._node.steady()
        for spec, reader in self._readers:
            publishers = look(spec, reader)
            with self._judging():
                if self._late():  # messages may wait to be read
                    return
                lost = self.monitor.set_publishers(spec, publishers, self._node.steady())
            if lost:
                self._watch.call_soon(reader.fetch_again)

    def _look_again(self) -> None:
        self._advance()
        self._poll(_look)
        self._set_alarm()
        if self._untold:  # the node had no executor yet
            self._node.call_soon(self._tell)
        elif self._cause != self.monitor.cause(self._node.steady()):
            self._node.call_soon(self._publish_cause)
        self._looking = Timeout(self._watch, POLL_PERIOD, self._look_again)

    def _set_alarm(self) -> None:
        self._alarm.set(self.monitor.next_deadline())

    # -- in the node's thread

    def _look_from_outside(self, spec: SafetySpec, reader: TopicReader) -> Collection[bytes]:
        """Return the publishers of a topic; the reader matches them in its own thread."""
        found = reader.publishers()
        if found.misread:
            with self._judging():
                self.monitor.distrust(spec, found.strange, self._node.steady())
        self._watch.call_soon(reader.look)
        return found.gids

    def _tell(self) -> None:
        """Stop the motions, log and publish each change since the last call."""
        while self._untold:
            status = self._untold[0]
            if status.state is Safety.STOPPED:
                self._on_stop(status)
            self._untold.popleft()
            self._save()
            self._log(status)
            self._publish_of(status)

    def _publish_cause(self) -> None:
        if self._node.active and not self._untold:
            self._publish(self.status)

    def _save(self) -> None:
        """Keep the state in the file, in any thread, before it is published."""
        with self._file_lock:
            status = self.status
            if status is not self._kept:
                self._kept = status
                self._keep(status if status.state is Safety.STOPPED else None)

    def _keep(self, stop: SafetyStatus | None) -> None:
        """Write the latched stop to the file; None: remove the file."""
        if self._file is not None:
            try:
                if stop is None:
                    self._file.remove()
                else:
                    self._file.write(stop, time.time())
            except OSError as error:
                self._node.get_logger().error(
                    f"stop_file '{self._file.path}': {error.strerror}; the file is out of date")

    def _log(self, status: SafetyStatus) -> None:
        logger = self._node.get_logger()
        text = f'safety: {status.state.name}' + (f': {status.message}' if status.message else '')
        if status.state is Safety.STOPPED:
            logger.error(text)
        else:
            logger.info(text)

    def _not_ready_yet(self) -> None:
        if self.status.state is Safety.NOT_READY:
            self._node.get_logger().warning(
                f'safety: NOT_READY: {self.status.reason}{self._why_unseen()}; no motion starts')

    def _why_unseen(self) -> str:
        """Return why a topic was never received, as a suffix for messages; '' if not known."""
        if self.status.state is not Safety.NOT_READY:
            return ''
        reader = next(reader for _, reader in self._readers if reader.name == self.status.topic)
        if reader.trouble:
            return '' if reader.misread else f': {reader.trouble}'
        there = self._node.count_publishers(self.status.topic)
        if not there and (why := reader.why_silent()):
            return f': {why}'
        unseen = self.monitor.unseen(self.status.topic)
        return ': it has a publisher, but no message was received' if unseen else ''


def _look(spec: SafetySpec, reader: TopicReader) -> Collection[bytes]:
    return reader.look()
