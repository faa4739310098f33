# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Safety fails closed and stays latched."""

from __future__ import annotations

import math

from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.world import parse_facts, Safety, SafetyMonitor, SafetyStatus
from action_lifecycle.world.safety.safety import BEATS, LATE, LISTEN
import pytest

from . import messages

FACTS = parse_facts("""
estop: {topic: estop, type: std_msgs/msg/Bool, field: data, mode: heartbeat, max_age: 0.5}
safety: [{topic: door, type: std_msgs/msg/Bool, field: data, stop_when: false, mode: on_change}]
""")
STAMPED = parse_facts("""
estop: none
safety: [{topic: estop, type: std_msgs/msg/Header, mode: heartbeat, max_age: 0.5}]
""")


class Watcher:

    def __init__(self) -> None:
        self.changes: list[SafetyStatus] = []
        self.monitor = SafetyMonitor(FACTS, self.changes.append)
        self.spec, self.door_spec = self.monitor.specs()

    def estop(self, data: object, now: float, **how: bool) -> None:
        self.monitor.ingest(self.spec, messages.flag(data), now, **how)

    def door(self, data: object, now: float, **how: bool) -> None:
        self.monitor.ingest(self.door_spec, messages.flag(data), now, **how)

    def beat(self, until: float) -> None:
        """Let the e-stop be heard regularly; the last heartbeat is at `until`."""
        for number in reversed(range(BEATS)):
            self.estop(False, until - number * 0.1)

    def ready(self, now: float, *, moved: bool = True) -> None:
        self.door(True, now - 0.3)
        self.beat(now)
        assert self.state == Safety.READY
        self.monitor.moved = moved

    def publishers(self, *names: bytes, now: float, topic: str = 'estop') -> bool:
        spec = self.spec if topic == 'estop' else self.door_spec
        return self.monitor.set_publishers(spec, names, now)

    @property
    def state(self) -> Safety:
        return self.monitor.status.state

    @property
    def reason(self) -> str:
        return self.monitor.status.reason


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


# -- what makes it ready

def test_never_seen_is_not_ready(watcher: Watcher) -> None:
    assert watcher.state == Safety.NOT_READY
    watcher.beat(1.0)
    assert watcher.state == Safety.NOT_READY and "'door' was never seen" in watcher.reason
    watcher.door(True, 1.1)
    assert watcher.state == Safety.READY
    assert watcher.monitor.next_deadline() == 1.5


def test_it_is_ready_after_several_regular_heartbeats(watcher: Watcher) -> None:
    watcher.door(True, 0.0)
    for number in range(BEATS):
        assert watcher.state == Safety.NOT_READY
        watcher.estop(False, 1.0 + 0.4 * number)
    assert watcher.state == Safety.READY


def test_heartbeats_that_come_all_at_once_count_as_one(watcher: Watcher) -> None:
    watcher.door(True, 0.0)
    for number in range(20):
        watcher.estop(False, 1.0 + 0.002 * number)
    assert watcher.state == Safety.NOT_READY
    assert f'not heard {BEATS} times in a row' in watcher.reason


def test_heartbeats_with_a_silence_between_them_are_not_regular(watcher: Watcher) -> None:
    watcher.door(True, 0.0)
    for number in range(9):
        watcher.estop(False, 1.0 + 0.6 * number)
        assert watcher.state == Safety.NOT_READY


def test_a_latched_message_is_no_heartbeat(watcher: Watcher) -> None:
    watcher.door(True, 0.0, latched=True)
    for number in range(9):
        watcher.estop(False, 1.0 + 0.1 * number, latched=True)
    assert watcher.state == Safety.NOT_READY
    assert 'a latched message is no heartbeat' in watcher.reason


def test_a_latched_stop_stops(watcher: Watcher) -> None:
    watcher.estop(True, 1.0, latched=True)
    assert watcher.monitor.status.code == ErrorCode.ESTOP


def test_a_latched_stop_is_no_heartbeat(watcher: Watcher) -> None:
    watcher.door(True, 0.0, latched=True)
    watcher.estop(True, 1.0, latched=True)
    for number in range(BEATS - 1):
        watcher.estop(False, 1.45 + 0.13 * number)
    assert 'not heard' in watcher.monitor.clear(1.6)
    watcher.estop(False, 1.45 + 0.13 * BEATS)
    assert watcher.monitor.clear(1.9) == ''


@pytest.mark.parametrize(('stamp', 'ready'), [
    (100.0, True), (99.6, True), (100.4, True), (99.4, False), (100.6, False), (7.0, False),
    (0.0, True)])  # zero: the publisher does not set it
def test_a_stamp_must_be_of_now(stamp: float, ready: bool) -> None:
    monitor = SafetyMonitor(STAMPED, lambda status: None)
    spec, = monitor.specs()
    for number in range(BEATS):
        later = 0.1 * number
        monitor.ingest(spec, messages.header(stamp + later if stamp else 0.0), 1.0 + later,
                       100.0 + later)
    assert (monitor.status.state == Safety.READY) is ready
    if not ready:
        how = 'older than' if stamp < 100 else 'ahead of ROS time by more than'
        assert f'its stamps are {how} 0.5 s' in monitor.status.reason


def test_replayed_stamps_do_not_keep_it_ready() -> None:
    monitor = SafetyMonitor(STAMPED, lambda status: None)
    spec, = monitor.specs()
    for number in range(20):
        later = 0.1 * number
        stamp = 100.0 + later if number < 10 else 50.0 + later
        monitor.ingest(spec, messages.header(stamp), 1.0 + later, 100.0 + later)
        assert (monitor.status.state == Safety.READY) is (BEATS - 1 <= number < 14)
    assert 'silent for 0.5 s: its stamps are older' in monitor.status.reason


def test_without_safety_topics_it_is_ready() -> None:
    monitor = SafetyMonitor(parse_facts('estop: none'), lambda status: None)
    assert monitor.status.state == Safety.READY and monitor.next_deadline() == math.inf


# -- silence

def test_silence_before_anything_has_moved_is_not_latched(watcher: Watcher) -> None:
    watcher.ready(1.0, moved=False)
    watcher.monitor.advance(1.5)
    assert watcher.state == Safety.NOT_READY and "'estop' has been silent" in watcher.reason
    assert watcher.monitor.status.code == ErrorCode.SAFETY_NOT_READY
    assert watcher.monitor.next_deadline() == math.inf
    watcher.beat(3.0)
    assert watcher.state == Safety.READY


def test_silence_stops_and_stays_latched(watcher: Watcher) -> None:
    watcher.ready(1.0)
    watcher.monitor.advance(1.49)
    assert watcher.state == Safety.READY
    watcher.monitor.advance(1.5)
    assert watcher.state == Safety.STOPPED
    assert watcher.monitor.status.code == ErrorCode.SAFETY_STALE
    assert 'estop' in watcher.reason
    watcher.estop(False, 2.0)  # back again: still latched
    assert watcher.state == Safety.STOPPED
    assert 'not heard' in watcher.monitor.clear(2.05)
    watcher.beat(2.3)
    assert watcher.monitor.clear(2.35) == ''
    assert watcher.state == Safety.READY


def test_silence_that_ends_before_it_was_noticed_stops_too(watcher: Watcher) -> None:
    watcher.ready(1.0)
    watcher.estop(False, 9.0)
    assert watcher.state == Safety.STOPPED


def test_an_on_change_topic_may_be_silent(watcher: Watcher) -> None:
    watcher.door(True, 1.0)
    watcher.ready(1000.0)
    assert watcher.state == Safety.READY


def test_who_judges_late_reads_first_what_has_come(watcher: Watcher) -> None:
    watcher.ready(1.0)
    watcher.monitor.advance(1.8)  # the alarm was set for 1.5
    assert watcher.state == Safety.READY
    assert watcher.monitor.next_deadline() == pytest.approx(1.8 + LISTEN)
    watcher.estop(False, 1.85)
    watcher.monitor.advance(2.0)
    assert watcher.state == Safety.READY
    watcher.monitor.advance(2.4)
    assert watcher.state == Safety.READY
    watcher.monitor.advance(2.4 + LISTEN)  # nothing had come
    assert watcher.state == Safety.STOPPED


def test_a_late_judgement_waits_for_one_max_age_at_most(watcher: Watcher) -> None:
    watcher.ready(1.0)
    watcher.monitor.advance(1.95)
    assert watcher.monitor.next_deadline() == pytest.approx(2.0)
    watcher.monitor.advance(2.0)
    assert watcher.state == Safety.STOPPED


def test_a_judgement_in_time_waits_for_nothing(watcher: Watcher) -> None:
    watcher.ready(1.0)
    watcher.monitor.advance(1.5 + LATE / 2)
    assert watcher.state == Safety.STOPPED


# -- stop

def test_the_first_reason_stays(watcher: Watcher) -> None:
    watcher.ready(1.0)
    watcher.estop(True, 1.1)
    watcher.door(False, 1.2)
    assert watcher.monitor.status.code == ErrorCode.ESTOP
    assert watcher.monitor.status.topic == 'estop'
    assert [status.state for status in watcher.changes[-2:]] == [Safety.READY, Safety.STOPPED]


@pytest.mark.parametrize('pressed', ['estop', 'door'])
def test_a_stop_that_is_said_takes_the_place_of_a_silence(watcher: Watcher, pressed: str) -> None:
    watcher.ready(1.0)
    watcher.monitor.advance(1.5)
    assert watcher.monitor.status.code == ErrorCode.SAFETY_STALE
    if pressed == 'estop':
        watcher.estop(True, 3.0)
        watcher.estop(False, 3.1)
    else:
        watcher.door(False, 3.0)  # while the e-stop is still silent
        watcher.door(True, 3.1)
    assert watcher.monitor.status.code == ErrorCode.ESTOP
    assert watcher.monitor.status.topic == pressed
    assert [status.code for status in watcher.changes[-3:]] == [
        ErrorCode.NONE, ErrorCode.SAFETY_STALE, ErrorCode.ESTOP]


def test_a_stop_is_latched_before_anything_has_moved(watcher: Watcher) -> None:
    watcher.estop(True, 1.0)
    assert watcher.state == Safety.STOPPED


def test_clearing_is_refused_while_the_reason_is_there(watcher: Watcher) -> None:
    watcher.estop(True, 1.0)
    assert watcher.state == Safety.STOPPED
    assert 'says stop' in watcher.monitor.clear(1.1)
    watcher.beat(1.6)
    watcher.door(False, 1.6)
    assert "'door' says stop" in watcher.monitor.clear(1.6)
    watcher.door(True, 1.7)
    watcher.beat(2.3)
    assert watcher.monitor.clear(2.3) == ''
    assert watcher.state == Safety.READY


def test_clearing_is_refused_for_max_age_after_a_stop_of_whomever(watcher: Watcher) -> None:
    watcher.ready(1.0)
    for number in range(20):  # 10 Hz say go, every fifth message of somebody else says stop
        now = 1.1 + 0.1 * number
        watcher.estop(False, now)
        if number % 5 == 0:
            watcher.estop(True, now + 0.01)
        assert 'stop' in watcher.monitor.clear(now + 0.05)
        assert watcher.state == Safety.STOPPED
    watcher.beat(3.52)
    assert watcher.monitor.clear(3.52) == ''


def test_clearing_is_refused_while_a_topic_is_not_heard() -> None:
    before = SafetyStatus(Safety.STOPPED, ErrorCode.ESTOP, 'from before')
    monitor = SafetyMonitor(FACTS, lambda status: None, before)
    assert 'never seen' in monitor.clear(1.0)
    assert monitor.status is before


def test_what_can_not_be_read_stops(watcher: Watcher) -> None:
    watcher.door(True, 1.0)
    watcher.monitor.ingest(watcher.spec, messages.point(1, 2, 3), 1.0)
    assert watcher.state == Safety.STOPPED


# -- who publishes

@pytest.mark.parametrize('topic', ['estop', 'door'])
def test_a_topic_with_two_publishers_permits_nothing(watcher: Watcher, topic: str) -> None:
    watcher.publishers(b'a', b'b', now=0.1, topic=topic)
    watcher.door(True, 0.2)
    watcher.beat(1.0)
    assert watcher.state == Safety.NOT_READY and 'has 2 publishers' in watcher.reason
    watcher.publishers(b'a', now=1.1, topic=topic)
    assert watcher.state == Safety.NOT_READY and 'lost a publisher' in watcher.reason
    watcher.door(True, 1.1)
    watcher.beat(1.4)
    assert watcher.state == Safety.READY


@pytest.mark.parametrize('topic', ['estop', 'door'])
def test_a_second_publisher_stops_what_moves(watcher: Watcher, topic: str) -> None:
    watcher.ready(1.0)
    watcher.publishers(b'a', now=1.0, topic=topic)
    assert watcher.state == Safety.READY
    watcher.publishers(b'a', b'b', now=1.1, topic=topic)
    assert watcher.monitor.status.code == ErrorCode.SAFETY_STALE
    watcher.beat(1.5)
    assert 'has 2 publishers' in watcher.monitor.clear(1.5)


@pytest.mark.parametrize('topic', ['estop', 'door'])
@pytest.mark.parametrize('others', [(), (b'b',)])
def test_a_publisher_that_goes_is_a_silence(
    watcher: Watcher, topic: str, others: tuple[bytes, ...]
) -> None:
    watcher.publishers(b'a', now=0.5, topic=topic)
    watcher.ready(1.0)
    assert watcher.publishers(*others, now=1.1, topic=topic)
    assert watcher.monitor.status.code == ErrorCode.SAFETY_STALE
    assert 'lost a publisher' in watcher.reason


def test_what_a_publisher_has_latched_does_not_replace_what_came_later(watcher: Watcher) -> None:
    watcher.door(False, 1.0)
    watcher.door(True, 1.1, latched=True)
    watcher.beat(2.0)
    assert "'door' says stop" in watcher.monitor.clear(2.0)


def test_what_is_latched_is_read_anew_after_a_publisher_has_gone(watcher: Watcher) -> None:
    watcher.publishers(b'a', b'b', now=0.5, topic='door')
    watcher.door(True, 1.0)
    watcher.beat(1.2)
    watcher.publishers(b'a', now=1.2, topic='door')
    assert watcher.state == Safety.NOT_READY
    watcher.door(True, 1.25, latched=True)
    assert watcher.state == Safety.READY


# -- messages that were lost

@pytest.mark.parametrize('topic', ['estop', 'door'])
def test_a_lost_message_may_have_said_stop(watcher: Watcher, topic: str) -> None:
    watcher.ready(1.0)
    spec = watcher.spec if topic == 'estop' else watcher.door_spec
    watcher.monitor.lost(spec, 1.05)
    watcher.estop(False, 1.05)
    watcher.door(True, 1.05)
    assert watcher.state == Safety.STOPPED
    assert watcher.monitor.status.code == ErrorCode.SAFETY_STALE
    assert f"topic '{topic}' has lost messages, and one may have said stop" in watcher.reason


def test_after_a_loss_before_anything_has_moved_the_heartbeats_count_anew(
    watcher: Watcher
) -> None:
    watcher.ready(1.0, moved=False)
    watcher.monitor.lost(watcher.spec, 1.05)
    watcher.estop(False, 1.05)
    assert watcher.state == Safety.NOT_READY
    watcher.beat(1.4)
    assert watcher.state == Safety.READY


def test_the_latched_message_that_is_fetched_again_ends_the_doubt(watcher: Watcher) -> None:
    watcher.ready(1.0, moved=False)
    watcher.monitor.lost(watcher.door_spec, 1.05)
    assert watcher.state == Safety.NOT_READY
    watcher.door(True, 1.06, latched=True)
    assert watcher.state == Safety.READY


def test_a_lost_message_of_a_topic_that_only_has_to_arrive_is_none() -> None:
    monitor = SafetyMonitor(STAMPED, lambda status: None)
    spec, = monitor.specs()
    for number in range(BEATS):
        monitor.ingest(spec, messages.header(100.0 + number * 0.1), 1.0 + number * 0.1,
                       100.0 + number * 0.1)
    monitor.moved = True
    monitor.lost(spec, 1.3)
    assert monitor.status.state == Safety.READY
