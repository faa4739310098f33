# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Subscribes to the safety topics; publishes their state on ~/safety and in diagnostics."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import functools
import time
from typing import Any

from action_lifecycle_msgs import msg
from builtin_interfaces.msg import Time
from rclpy.time import Time as RosTime

from .black_box import Recorder
from ...documents.stamps import to_seconds
from ...lifecycle.states import ErrorCode
from ...ros.conversions.basic import to_time
from ...ros.interfaces.qos import state_qos
from ...ros.node.diagnostics import ERROR, Health, OK, WARN
from ...ros.node.lifecycle_node import ManagedNode
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
FRESH = 0.1  #: s; before a motion they are checked again, unless this was done just before


class SafetyGuard:
    """
    Monitors the safety topics by steady time; calls `on_stop` when safety becomes STOPPED.

    A latched stop is kept in the file of the parameter `stop_file` until it is cleared. If the
    file has a stop, the monitor starts as STOPPED.
    """

    def __init__(
        self, node: ManagedNode, facts: FactSet, on_stop: Callable[[SafetyStatus], None],
        recorder: Recorder,
    ) -> None:
        stop_file = node.parameter('stop_file')
        self._node = node
        self._on_stop = on_stop
        self._file = StopFile(stop_file) if stop_file else None
        self.monitor = SafetyMonitor(
            facts, self._changed, None if self._file is None else self._file.read(),
            node.resolve_topic_name)
        if self.status.state is Safety.STOPPED:
            self._log()
        self._stamp = Time()  #: of the state that was published last
        self._cause = ''  #: that was published last
        self._polled = 0.0  #: steady time (s) at which the publishers were checked
        self._patience = Timeout(node, PATIENCE, self._not_ready_yet)
        self._alarm = Alarm(node, self._advance, ros_time=False)
        self._publisher = node.add_publisher(msg.SafetyState, '~/safety', state_qos())
        self._readers: list[tuple[SafetySpec, TopicReader]] = []
        self._subscriptions: list[Subscriptions] = []
        for spec in self.monitor.specs():
            take = node.guarded(functools.partial(self._take, spec), what=f'topic {spec.topic}')
            need = TopicNeed(spec.topic, spec.type, spec.qos, recorder.recording(
                spec.topic, spec.type, take, node.now, stand_in=True),
                distrust=functools.partial(self._distrust, spec))
            subscriptions = Subscriptions(node, [need], linger=lambda: 0.0)
            subscriptions.hold([spec.topic])
            self._subscriptions.append(subscriptions)
            self._readers.append((spec, subscriptions.readers[spec.topic]))
        self._look_again()

    @property
    def status(self) -> SafetyStatus:
        """Return the state and the first reason for it."""
        return self.monitor.status

    def trouble(self) -> SafetyStatus | None:
        """Return why no motion may start; None if one may."""
        if self._node.steady() >= self._polled + FRESH:
            self._poll()
        self._advance()
        status = self.status
        return None if status.state is Safety.READY else dataclasses.replace(
            status, reason=status.reason + self._why_unseen())

    def clear(self, seen: Time | None = None) -> str:
        """
        Clear a latched stop; returns why this is not possible, '' if it is cleared.

        `seen`: stamp of the state that the person saw; a newer stop is not cleared.
        """
        self._poll()
        self._advance()
        if self.status.state is Safety.STOPPED and seen not in (None, Time(), self._stamp):
            age = max(0.0, self._node.now() - to_seconds(self._stamp))
            return (f'there is a newer stop than what you saw, since {age:.1f} s: '
                    f'{self.status.reason}; look at the robot, then clear it again')
        why = self.monitor.clear(self._node.steady())
        self._set_alarm()
        return why

    def note_motion(self, moved: bool) -> None:
        """Record whether a motion has begun since activation."""
        self.monitor.moved = moved

    def publish(self) -> None:
        """Publish the state on ~/safety, with a stamp that no other state has."""
        before, now = (RosTime.from_msg(each).nanoseconds
                       for each in (self._stamp, to_time(self._node.now())))
        if 0 <= before - now < STANDSTILL:
            now = before + 1
        self._stamp = RosTime(nanoseconds=now).to_msg()
        self._publish()

    def _publish(self) -> None:
        self._cause = self.monitor.cause(self._node.steady())
        self._publisher.publish(msg.SafetyState(
            stamp=self._stamp, state=int(self.status.state),
            error_code=int(self.status.code), reason=self.status.reason,
            topic=self.status.topic, cause=self._cause))

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
        if self.status.code is ErrorCode.SAFETY_STALE:
            self._keep(None)
        self._patience.cancel()
        self._looking.cancel()
        self._alarm.destroy()
        for subscriptions in self._subscriptions:
            subscriptions.destroy()

    def _take(self, spec: SafetySpec, message: Any, age: float | None = None) -> None:
        published: float | None = self._node.now()
        if age is not None:  # latched: published `age` s ago by the wall clock
            published = None if self._node.get_clock().ros_time_is_active else published - age
        self.monitor.ingest(spec, message, self._node.steady(), published,
                            latched=age is not None)
        self._set_alarm()

    def _distrust(self, spec: SafetySpec, reason: str) -> None:
        self.monitor.distrust(spec, reason, self._node.steady())
        self._set_alarm()

    def _advance(self) -> None:
        """Evaluate the topics; if a deadline is due, read waiting messages first."""
        if self._node.steady() >= self.monitor.next_deadline():
            for _, reader in self._readers:
                reader.read()
        self.monitor.advance(self._node.steady())
        self._set_alarm()

    def _poll(self) -> None:
        """Update the publishers of the topics in the monitor."""
        self._polled = self._node.steady()
        for spec, reader in self._readers:
            publishers = reader.look()
            if self.monitor.set_publishers(spec, publishers, self._node.steady()):
                reader.fetch_again()

    def _look_again(self) -> None:
        self._poll()
        self._set_alarm()
        if self._node.active and self._cause != self.monitor.cause(self._node.steady()):
            self._publish()
        self._looking = Timeout(self._node, POLL_PERIOD, self._look_again)

    def _set_alarm(self) -> None:
        self._alarm.set(self.monitor.next_deadline())

    def _changed(self, status: SafetyStatus) -> None:
        if status.state is Safety.STOPPED:
            self._on_stop(status)
        self._keep(status if status.state is Safety.STOPPED else None)
        self._log()
        self.publish()

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

    def _log(self) -> None:
        status, logger = self.status, self._node.get_logger()
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
        if not there:
            return ': nobody publishes it'
        unseen = self.monitor.unseen(self.status.topic)
        return ': it has a publisher, but no message was received' if unseen else ''
