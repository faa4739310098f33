# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs that stop something, or clear a stop: what they order, and what they print."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import getpass
from types import SimpleNamespace
from typing import Any

from action_lifecycle.cli import main
import pytest

msg = pytest.importorskip('action_lifecycle_msgs.msg')
srv = pytest.importorskip('action_lifecycle_msgs.srv')
action = pytest.importorskip('action_lifecycle_msgs.action')
orders = pytest.importorskip('action_lifecycle.cli.verbs.orders')
from action_lifecycle.cli.exits import NotThere  # noqa: E402, I100, I202

STOPPED = msg.SafetyState(state=2, reason='e-stop pressed', locked_resources=['arm'])
READY = msg.SafetyState(state=1)


class Robot:
    """A client of a robot whose action node accepts orders, or answers as `refusal` says."""

    def __init__(self) -> None:
        self.wait = 20.0
        self.given: list[Any] = []
        self.refusal: Exception | None = None
        self.safety = STOPPED
        self.heard: list[Callable[[Any], None]] = []
        self.state = 'cancelled'
        self.node = SimpleNamespace(create_subscription=lambda *args: self.heard.append(args[2]))

    def order(self, service: type, name: str, request: Any, limit: float = 60.0) -> Any:
        if self.refusal is not None:
            raise self.refusal
        self.given.append(request)
        self.safety = READY
        return service.Response(accepted=True), 7  # type: ignore[attr-defined]

    def latched(self, kind: type, name: str) -> Any:
        return self.safety

    def flow_action(self) -> None:
        """Return nothing: `send` needs no client."""

    def send(self, client: Any, goal: Any) -> Any:
        return SimpleNamespace(
            accepted=True, cancel_goal_async=lambda: self.given.append('cancel'),
            get_result_async=lambda: SimpleNamespace(
                done=lambda: True, result=lambda: SimpleNamespace(result=self.result())))

    def result(self) -> Any:
        code = msg.ErrorCode.CANCELED if self.state == 'cancelled' else msg.ErrorCode.NONE
        return action.ExecuteFlow.Result(
            flow_id='f', state='FINISH' if not code else 'FAIL', error_code=code,
            constellation_state=self.state)

    def until(self, done: Callable[[], Any], what: str, name: str = '') -> None:
        assert done()

    def spin(self, seconds: float, done: Callable[[], Any]) -> bool:
        for take in self.heard:
            take(self.safety)
        return bool(done())


@pytest.fixture
def robot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Robot]:
    """Replace the connection of the verbs."""
    made = Robot()

    @contextlib.contextmanager
    def connect(namespace: str, wait: float) -> Iterator[Robot]:
        yield made

    monkeypatch.setattr(orders, 'connect', connect)
    yield made


def test_the_cancel_of_a_flow_records_its_reason(robot: Robot) -> None:
    assert main(['cancel', 'f', '--actor', 'anna', '--reason', 'wrong part']) == 0
    order, then = robot.given
    assert (order.verb, order.flow_id, order.actor, order.reason, then) == (
        'cancel', 'f', 'anna', 'wrong part', 'cancel')
    robot.given.clear()
    assert main(['cancel', 'f']) == 0 and [order.reason for order in robot.given[:1]] == ['']
    assert robot.given[1:] == ['cancel']


@pytest.mark.parametrize('why', ['there is no flow f', 'the service is not there'])
def test_a_flow_is_canceled_whatever_becomes_of_the_reason(
    robot: Robot, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    robot.refusal = NotThere(why)
    assert main(['cancel', 'f', '--reason', 'wrong part']) == 0
    assert robot.given == ['cancel'] and robot.wait > orders.STOPPING
    assert capsys.readouterr().err == f'action_lifecycle: the reason is not recorded: {why}\n'


@pytest.mark.parametrize(('target', 'number'), [
    (('f',), 0), (('f/look',), 0), (('--job', 'nightly'), 0)])
def test_no_text_about_an_order_refuses_it(
    robot: Robot, target: tuple[str, ...], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> str:
        raise KeyError('getpwuid(): uid not found: 4711')

    assert main(['cancel', *target, '--actor', 'anna\udcff', '--reason', 'no\x1f\udcff']) == 0
    assert (robot.given[number].actor, robot.given[number].reason) == (
        'anna\ufffd', 'no\ufffd\ufffd')
    robot.given.clear()
    monkeypatch.setattr(getpass, 'getuser', nobody)
    assert main(['cancel', *target, '--reason', 'x']) == 0
    name, at, _ = robot.given[number].actor.partition('@')
    assert name.isdecimal() and at


def test_one_spelling_is_shown(robot: Robot, capsys: pytest.CaptureFixture[str]) -> None:
    from action_lifecycle.cli.table import live_table
    for state, shown in (('cancelled', 'canceled'), ('partially_failed', 'partially failed'),
                         ('executing', 'executing')):
        table = live_table(msg.FlowStatus(flow_id='f', constellation_state=state))
        assert str(table.title) == f'f: 0 of 0 done, {shown}'
    assert main(['cancel', 'f']) == 0 and capsys.readouterr().out.endswith(' succeeded, row 7\n')
    robot.state = 'partially_failed'
    assert main(['cancel', 'f']) == 2
    assert 'has ended already: FINISH (partially failed)' in capsys.readouterr().err


def test_what_was_cleared_and_the_state_after_it_are_shown(
    robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['clear-stop', '--actor', 'anna', '--reason', 'seen']) == 0
    assert capsys.readouterr().out == \
        'cleared (STOPPED: e-stop pressed; locked: arm); now READY, row 7\n'
    assert main(['clear-stop', '--actor', 'anna']) == 0
    assert capsys.readouterr().out == 'cleared (nothing was stopped or locked); now READY, row 7\n'
