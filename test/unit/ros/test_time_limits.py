# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The error of a flow that was not done in time says what it waited for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

msg = pytest.importorskip('action_lifecycle_msgs.msg')
flow_client = pytest.importorskip('action_lifecycle.ros.flow_client')
from action_lifecycle.documents.errors import LifecycleError  # noqa: E402, I100, I202
from action_lifecycle.ros.conversions.status import at_time_limit  # noqa: E402


def action(name: str, state: str, blocked: str = '', **fields: Any) -> Any:
    return msg.ActionStatus(action_id=name, blocked_reason=blocked, state=msg.ActionState(
        value=state, outcome='succeeded' if state == 'terminated' else ''), **fields)


STATUS = msg.FlowStatus(paused=True, paused_by='anna', actions=[
    action('home', 'terminated', attempt=1),
    action('look', 'executing_motion', attempt=1, error_msg='attempt 1:\nno part'),
    action('lift', 'assigned', 'input_required: the server is\x00 not there'),
    action('later', 'assigned')])


def test_what_is_open_is_told_in_one_line() -> None:
    assert at_time_limit(None) == at_time_limit(msg.FlowStatus()) == ''
    assert at_time_limit(STATUS) == (
        '; at the time limit: paused by anna; look is executing_motion (attempt 1: no part); '
        'lift is assigned (the server is\ufffd not there)')
    assert at_time_limit(msg.FlowStatus(error_msg='the bridge is awaited')) == \
        '; at the time limit: the bridge is awaited'


@pytest.mark.parametrize(('ends', 'said'), [
    ('canceled by anna', ': canceled by anna'),
    (LifecycleError('what became of it is not known'), ': what became of it is not known'),
    (None, ', and has not been seen to have stopped')])
def test_the_error_of_a_run_has_what_it_waited_for(ends: Any, said: str) -> None:
    class Client(flow_client.FlowClient):  # type: ignore[misc,name-defined]

        def __init__(self) -> None:
            self._client = SimpleNamespace(server_is_there=lambda: True)

        def start(self, *args: Any, **options: Any) -> Any:
            failed = isinstance(ends, Exception)
            done = SimpleNamespace(exception=lambda: ends if failed else None,
                                   result=lambda: SimpleNamespace(error_msg=ends))
            return SimpleNamespace(flow_id='f', status=STATUS, cancel=self.cancel, done=done)

        def cancel(self) -> None:
            self.canceled = True

        def _wait(self, run: Any, timeout: float | None) -> bool:
            return hasattr(self, 'canceled') and ends is not None

    with pytest.raises(LifecycleError) as caught:
        Client().run('x', timeout=2.0)
    assert str(caught.value) == \
        f'flow f: not done within 2 s; it was canceled{said}{at_time_limit(STATUS)}'
