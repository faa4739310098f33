# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Safety fails closed and stays latched."""

from __future__ import annotations

import math

from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.world import parse_facts, Safety, SafetyMonitor, SafetyStatus
import pytest

from . import messages

FACTS = parse_facts("""
estop: {topic: estop, type: std_msgs/msg/Bool, field: data, mode: heartbeat, max_age: 0.5}
safety: [{topic: door, type: std_msgs/msg/Bool, field: data, stop_when: false, mode: on_change}]
""")


class Watcher:

    def __init__(self) -> None:
        self.changes: list[SafetyStatus] = []
        self.monitor = SafetyMonitor(FACTS, self.changes.append)

    def estop(self, data: object, now: float) -> None:
        self.monitor.ingest(self.monitor.specs()[0], messages.flag(data), now)

    def door(self, data: object, now: float) -> None:
        self.monitor.ingest(self.monitor.specs()[1], messages.flag(data), now)

    @property
    def state(self) -> Safety:
        return self.monitor.status.state


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


def test_never_seen_is_not_ready(watcher: Watcher) -> None:
    assert watcher.state == Safety.NOT_READY
    watcher.estop(False, 1.0)
    assert watcher.state == Safety.NOT_READY  # the door was not seen yet
    watcher.door(True, 1.1)
    assert watcher.state == Safety.READY
    assert watcher.monitor.next_deadline() == 1.5


def test_being_held_up_is_no_silence_but_for_once_as_long_at_most() -> None:
    held = [0.0]
    changes: list[SafetyStatus] = []
    monitor = SafetyMonitor(FACTS, changes.append, held=lambda: held[0])
    estop, door = monitor.specs()
    monitor.ingest(door, messages.flag(True), 1.0)
    monitor.ingest(estop, messages.flag(False), 1.0)
    held[0] = 0.4  # of the 0.8 s that have passed
    monitor.ingest(estop, messages.flag(False), 1.8)
    assert monitor.status.state == Safety.READY and monitor.next_deadline() == 2.3
    held[0] = 9.0
    assert monitor.next_deadline() == 2.8
    monitor.advance(2.79)
    assert monitor.status.state == Safety.READY
    monitor.advance(2.8)
    assert monitor.status.code == ErrorCode.SAFETY_STALE


def test_silence_stops_and_stays_latched(watcher: Watcher) -> None:
    watcher.door(True, 1.0)
    watcher.estop(False, 1.0)
    watcher.monitor.advance(1.49)
    assert watcher.state == Safety.READY
    watcher.monitor.advance(1.5)
    assert watcher.state == Safety.STOPPED
    assert watcher.monitor.status.code == ErrorCode.SAFETY_STALE
    assert 'estop' in watcher.monitor.status.reason
    watcher.estop(False, 2.0)  # back again: still latched
    assert watcher.state == Safety.STOPPED
    assert watcher.monitor.clear(2.1) == ''
    assert watcher.state == Safety.READY


def test_silence_that_ends_before_it_was_noticed_stops_too(watcher: Watcher) -> None:
    watcher.door(True, 1.0)
    watcher.estop(False, 1.0)
    watcher.estop(False, 9.0)
    assert watcher.state == Safety.STOPPED


def test_the_first_reason_stays(watcher: Watcher) -> None:
    watcher.door(True, 1.0)
    watcher.estop(False, 1.0)
    watcher.estop(True, 1.1)
    watcher.door(False, 1.2)
    assert watcher.monitor.status.code == ErrorCode.ESTOP
    assert watcher.monitor.status.topic == 'estop'
    assert len(watcher.changes) == 2  # ready, stopped


@pytest.mark.parametrize('pressed', ['estop', 'door'])
def test_a_stop_that_is_said_takes_the_place_of_a_silence(watcher: Watcher, pressed: str) -> None:
    watcher.door(True, 1.0)
    watcher.estop(False, 1.0)
    watcher.monitor.advance(2.0)
    assert watcher.monitor.status.code == ErrorCode.SAFETY_STALE
    if pressed == 'estop':
        watcher.estop(True, 3.0)
        watcher.estop(False, 3.1)
    else:
        watcher.door(False, 3.0)  # while the e-stop is still silent
        watcher.door(True, 3.1)
    assert watcher.monitor.status.code == ErrorCode.ESTOP
    assert watcher.monitor.status.topic == pressed
    assert [status.code for status in watcher.changes] == [
        ErrorCode.NONE, ErrorCode.SAFETY_STALE, ErrorCode.ESTOP]


def test_clearing_is_refused_while_the_reason_is_there(watcher: Watcher) -> None:
    watcher.estop(True, 1.0)
    assert watcher.state == Safety.STOPPED
    assert 'says stop' in watcher.monitor.clear(1.1)
    watcher.estop(False, 1.2)
    watcher.door(False, 1.2)
    assert "'door' says stop" in watcher.monitor.clear(1.2)
    watcher.door(True, 1.3)
    assert watcher.monitor.clear(1.3) == ''
    assert watcher.state == Safety.READY


def test_an_on_change_topic_may_be_silent(watcher: Watcher) -> None:
    watcher.door(True, 1.0)
    watcher.estop(False, 999.9)
    watcher.monitor.advance(1000.0)
    assert watcher.state == Safety.READY


def test_what_can_not_be_read_stops(watcher: Watcher) -> None:
    watcher.door(True, 1.0)
    watcher.monitor.ingest(watcher.monitor.specs()[0], messages.point(1, 2, 3), 1.0)
    assert watcher.state == Safety.STOPPED


def test_without_safety_topics_it_is_ready() -> None:
    monitor = SafetyMonitor(parse_facts('estop: none'), lambda status: None)
    assert monitor.status.state == Safety.READY and monitor.next_deadline() == math.inf
