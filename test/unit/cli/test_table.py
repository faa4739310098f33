# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the tables say of actions that wait for a person."""

from __future__ import annotations

from argparse import Namespace
import io
from typing import Any

import pytest

msg = pytest.importorskip('action_lifecycle_msgs.msg')
table = pytest.importorskip('action_lifecycle.cli.table')


@pytest.fixture
def close() -> Any:
    return msg.ActionStatus(
        action_id='close', state=msg.ActionState(value='assigned'),
        blocked_reason="dependency: 'hand' is locked: s2/close was not seen to stop")


def test_a_locked_resource_is_named_with_what_to_do(
    close: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('COLUMNS', '200')
    said = "waits: 'hand' is locked: s2/close was not seen to stop; check the robot, then call " \
        '~/clear_stop'
    assert table.waits_for(close) == said
    table.console().print(table.live_table(msg.FlowStatus(flow_id='f', actions=[close])))
    assert 'not seen to stop' in capsys.readouterr().out


def test_a_pause_and_a_breakpoint_are_shown_with_who_has_ordered_them(
    close: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('COLUMNS', '200')
    close.blocked_reason = 'approval_required: breakpoint, set by ann'
    assert table.waits_for(close) == 'waits: breakpoint, set by ann'
    table.console().print(table.live_table(msg.FlowStatus(
        flow_id='f', constellation_state='executing', paused=True, paused_by='be\x1bn',
        breakpoints=['close'], actions=[close])))
    shown = capsys.readouterr().out
    assert 'f: 0 of 0 done, executing, paused by be�n, breakpoints: close' in shown, shown
    assert 'waits: breakpoint, set by ann' in shown


def test_who_waits_for_an_answer_is_not_said_to_wait_for_a_resource(close: Any) -> None:
    for reason in ('', 'input_required', 'approval_required'):
        close.blocked_reason = reason
        assert table.waits_for(close) == ''


def test_an_open_question_is_told_in_one_line_with_how_to_answer() -> None:
    messages = pytest.importorskip('action_lifecycle.ros.conversions.status')
    request = msg.OperatorRequest(
        flow_id='f', action_id='grasp', question='Is it\nwet?', options=['yes', 'no'])
    assert messages.asked_in_words(request) == (
        "f/grasp asks a person: 'Is it wet?' (yes, no); answer: action_lifecycle operator")
    request.stamp.sec, request.deadline.sec, request.default_answer = 100, 160, 'no'
    assert "(yes, no), within 60 s (then 'no'); answer:" in messages.asked_in_words(request)


@pytest.mark.parametrize(('outcome', 'age', 'expected'), [
    ('', 0.0, '2.0 s'), ('', 1.5, '3.5 s'), ('succeeded', 1.5, '1.0 s')])
def test_the_time_of_an_attempt_goes_on_until_it_ends(
    outcome: str, age: float, expected: str
) -> None:
    flow = msg.FlowStatus()
    flow.stamp.sec = 100
    action = msg.ActionStatus(
        attempt=1, elapsed=2.0, state=msg.ActionState(value='in_progress', outcome=outcome))
    action.stamp.sec = 99
    assert table.spent(flow, action, age) == expected
    action.attempt = 0
    assert table.spent(flow, action, age) == ''


def test_a_flow_is_named_with_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    table.console().print(table.live_table(msg.FlowStatus(
        flow_id='pick-1f2e', name='pick', total=3, done=1, constellation_state='executing')))
    assert 'pick (pick-1f2e): 1 of 3 done, executing' in capsys.readouterr().out


@pytest.mark.parametrize(('numbers', 'text'), [
    ([0.5], '0.5 m'), ([1.0, 2.0], '[1 2] m'), ([1.0] * 6, '[1 1 1 1 ...] m'), ([], 'never seen')])
def test_a_value_that_is_cut_says_so(numbers: list[float], text: str) -> None:
    assert table.fact_text(msg.Fact(numbers=numbers, unit='m', validity=1)) == text


class Terminal(io.StringIO):

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(('stream', 'no_color', 'colored'), [
    (Terminal(), None, True), (Terminal(), '1', False), (io.StringIO(), None, False)])
def test_colors_are_for_terminals_and_not_where_nobody_wants_them(
    stream: io.StringIO, no_color: str | None, colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('TERM', 'xterm-256color')
    for name in ('NO_COLOR', 'FORCE_COLOR'):
        monkeypatch.delenv(name, raising=False)
    if no_color is not None:
        monkeypatch.setenv('NO_COLOR', no_color)
    monkeypatch.setattr('sys.stdout', stream)
    table.console().print('[red]late[/red]')
    assert ('\x1b[31m' in stream.getvalue()) is colored and 'late' in stream.getvalue()


def test_lines_for_programs_have_a_table_of_plain_characters(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = pytest.importorskip('action_lifecycle.cli.running.summary')
    execute_flow = pytest.importorskip('action_lifecycle_msgs.action').ExecuteFlow
    changes = [msg.ActionStateChange(flow_id='f', action_id='pick', attempt=1, event='terminate',
                                     to_state='terminated', outcome='succeeded')]
    for plain in (True, False):
        stream = io.StringIO()
        monkeypatch.setattr('sys.stdout', stream)
        summary.sum_up(table.console(), Namespace(json=None, plain=plain),
                       execute_flow.Result(flow_id='f'), changes)
        assert 'pick' in stream.getvalue() and stream.getvalue().isascii() is plain
