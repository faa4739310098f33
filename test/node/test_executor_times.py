# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The executor of the managed nodes: how it is chosen, and what holds it up, the log included."""

from __future__ import annotations

import inspect
import logging
import re
import time
from typing import Any

from action_lifecycle.nodes.shared.ros_log import log_to
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle.ros.node.timers import sleep, Timeout
from action_lifecycle.ros.node.watchdog import Watchdog
from diagnostic_msgs.msg import DiagnosticArray
import pytest
from rcl_interfaces.msg import Log
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile

from .managed_rig import Rig, rig

__all__ = ['rig']  # a fixture


@pytest.mark.parametrize(('version', 'choice', 'expected'), [
    ((7, 1, 6), 'auto', 'SingleThreadedExecutor'), ((7, 1, 11), 'auto', 'EventsExecutor'),
    ((7, 1, 11), 'single_threaded', 'SingleThreadedExecutor'),
    ((7, 1, 6), 'events', 'EventsExecutor'), ((), 'auto', 'SingleThreadedExecutor'),
    ((8, 0, 0), 'auto', 'SingleThreadedExecutor'), ((9, 1, 2), 'auto', 'SingleThreadedExecutor'),
    ((9, 1, 4), 'auto', 'EventsExecutor'), ((10, 0, 4), 'auto', 'EventsExecutor')])
def test_the_executor_is_chosen_by_the_version_of_rclpy(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, version: Any, choice: str, expected: str
) -> None:
    monkeypatch.setattr('action_lifecycle.ros.node.executor.rclpy_version', lambda: version)
    assert type(make_executor(choice, rig.context)).__name__ == expected


def test_what_holds_the_executor_is_told_by_name_once_and_counted(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else holds the executor, on a machine that is busy, is counted and told of too."""
    told: list[str] = []
    monkeypatch.setattr(rig.node.watchdog, '_log', told.append)
    rig.node.start()
    ran: list[float] = []

    def slow() -> None:
        time.sleep(0.03)
        ran.append(time.monotonic())

    for _ in range(3):
        Timeout(rig.node, 0.0, slow)
    rig.until(lambda: len(ran) == 3)
    assert rig.node.watchdog.count >= 3
    (took,) = (found for text in told
               if (found := re.search(r'slow took (\d+) ms, in which the node did', text)))
    assert int(took[1]) >= 30
    health: list[Any] = []
    rig.node.add_timer(0.1, slow)  # again and again: the slowest is told, it may be another once
    rig.other.create_subscription(DiagnosticArray, '/diagnostics', health.append, 10)
    rig.until(lambda: any('slow took' in status.message for array in health
                          for status in array.status if status.name == 'example: executor'))


def test_what_takes_long_is_a_warning_only_if_people_may_notice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([0.03, 1.0, 1.25, 2.0, 2.015])
    monkeypatch.setattr('action_lifecycle.ros.node.watchdog.now', lambda: next(times))
    told: list[str] = []
    warned: list[str] = []
    dog = Watchdog(told.append, warn=warned.append)
    dog.ended('topic /scan', 0.0)
    assert told == ['topic /scan took 30 ms, in which the node did nothing else']
    dog.ended('service ~/check', next(times))
    assert warned == ['service ~/check took 250 ms, in which the node did nothing else']
    dog.ended('topic /scan', next(times))
    assert (dog.count, len(told)) == (2, 1)


def test_what_takes_long_is_told_and_warned_of_with_debug_messages_too() -> None:
    logger = rclpy.logging.get_logger('watched')
    logger.set_level(rclpy.logging.LoggingSeverity.DEBUG)
    for took in (0.03, 1.0, 0.03):
        Watchdog(logger.debug, warn=logger.warning).ended('work', time.perf_counter() - took)


def test_a_callback_is_called_what_people_know_it_by(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(rig.node.watchdog, '_log', told.append)
    monkeypatch.setattr(rig.node.watchdog, '_warn', told.append)
    rig.node.guarded(lambda: time.sleep(0.03), what='answer of action /arm/move')()
    rig.node.guarded(lambda: time.sleep(0.03))()
    assert [text.partition(' took ')[0] for text in told] == [
        'answer of action /arm/move', 'work of test_a_callback_is_called_what_people_know_it_by']


def test_lines_of_the_log_have_their_place_and_no_source_file_is_read_for_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    rig.other.create_subscription(
        Log, '/rosout', found.append, QoSProfile(
            depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    log = rig.node.get_logger()

    def repeated(word: str) -> None:
        for _ in range(3):
            log.info(f'{word} one', once=True)
            log.info(f'{word} other', skip_first=True)

    def plain() -> None:
        log.info('plain')
        log.debug('not shown')
        log.error('bad')

    repeated('repeated')
    with monkeypatch.context() as patched:
        patched.setattr(inspect, 'getframeinfo', None)
        plain()
    rig.until(lambda: any(line.msg == 'bad' for line in found))
    lines = [line for line in found if line.name == 'example']
    assert [line.msg for line in lines] == [
        'repeated one', 'repeated other', 'repeated other', 'plain', 'bad']
    assert {(line.file, line.function) for line in lines} == {
        (__file__, 'repeated'), (__file__, 'plain')}
    assert [line.level for line in lines[3:]] == [20, 40]
    assert [line.line for line in lines[3:]] == [
        plain.__code__.co_firstlineno + 1, plain.__code__.co_firstlineno + 3]


def test_text_that_is_not_valid_does_not_stop_who_logs_it(rig: Rig) -> None:
    found: list[Any] = []
    rig.other.create_subscription(
        Log, '/rosout', found.append, QoSProfile(
            depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    logger = logging.getLogger('action_lifecycle')
    before = logger.handlers, logger.propagate
    try:
        log_to(rig.node)
        logger.error('bad: %s', '\ud800')
        rig.node.get_logger().info('bad, too: \ud800', once=True)
        rig.until(lambda: {'bad: ?', 'bad, too: ?'} <= {line.msg for line in found})
    finally:
        logger.handlers, logger.propagate = before


def test_each_step_of_a_coroutine_is_timed_not_what_it_awaits(rig: Rig) -> None:
    told: list[str] = []
    dog = Watchdog(told.append)

    async def patient() -> str:
        await sleep(rig.node, 0.1)
        return 'done'

    async def slow() -> None:
        await sleep(rig.node, 0.01)
        time.sleep(0.03)

    assert rig.wait(rig.executor.create_task(dog.steps('patient', patient()))) == 'done'
    rig.wait(rig.executor.create_task(dog.steps('slow', slow())))
    assert [text.split()[0] for text in told] == ['slow']
