# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the agent node tells about sessions that change in its network thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from pathlib import Path
import sqlite3
import threading
import time
from types import SimpleNamespace
from typing import Any

from action_lifecycle.agents.sessions.host import SessionStatus
from action_lifecycle.nodes.agent.agent_node import AgentNode
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle_msgs.action import RunGraph
from action_lifecycle_msgs.msg import ErrorCode, SessionArray
from isolation import domain_id
import pytest
import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.parameter import Parameter

from .agent_rig import LATCHED
from .ending import destroy

ASK = 'initial: ask\nstates:\n  ask: {type: user, transition: {next: [bye]}}\n' \
    '  bye: {type: terminal}\n'


class Rig:
    """The node and a client of it, in this process."""

    def __init__(self, folder: Path) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor = make_executor(context=self.context)
        self.node = AgentNode(context=self.context, parameter_overrides=[
            Parameter('journal_path', value=str(folder / 'journal'))])
        self.other = rclpy.create_node('client', context=self.context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.other)
        self.shown: dict[str, Any] = {}
        self.other.create_subscription(SessionArray, 'agent/sessions', self._seen, LATCHED)
        self.client = ActionClient(self.other, RunGraph, 'agent/run_graph')
        assert self.node.start()
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def _seen(self, message: SessionArray) -> None:
        self.shown = {session.id: session for session in message.sessions}

    def wait(self, condition: Callable[[], Any]) -> Any:
        limit = time.monotonic() + 30.0
        while not (found := condition()):
            assert time.monotonic() < limit, 'it never came true'
            time.sleep(0.005)
        return found

    def begin(self, session_id: str) -> Any:
        """Return the future of the result of a session that has begun."""
        assert self.client.wait_for_server(20.0)
        sent = self.client.send_goal_async(RunGraph.Goal(
            graph=ASK, source='ask.yaml', session_id=session_id))
        self.wait(sent.done)
        self.wait(lambda: session_id in self.shown)
        return sent.result().get_result_async()

    def close(self) -> None:
        if not self.context.ok():
            return
        self.executor.shutdown()
        self.thread.join(10.0)
        self.node.trigger_shutdown()
        self.client.destroy()
        destroy(self.node, self.other)
        self.context.try_shutdown()


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.close()


def test_the_goal_of_a_session_that_is_set_aside_ends(rig: Rig) -> None:
    result = rig.begin('one')
    sessions, network = rig.node.server.sessions, rig.node.network
    assert sessions is not None and network is not None

    async def damage() -> None:
        sessions._set_aside('one', 'row 2 of the journal does not match')
    network.submit(damage()).result()
    rig.wait(result.done)
    end = result.result().result
    assert (end.session_id, end.error_code) == ('one', ErrorCode.NOT_FOUND)
    assert "session 'one' is set aside: row 2" in end.error_msg
    rig.wait(lambda: not rig.shown)


def test_a_change_that_comes_while_others_are_published_is_published_too(rig: Rig) -> None:
    rig.begin('one')
    server = rig.node.server

    class Changed(dict[str, Any]):
        """The changes, which another thread takes when it is asked whether there are any."""

        def __len__(self) -> int:
            found, taking = super().__len__(), threading.Thread(target=server._take)
            server._changed = dict(self)
            taking.start()
            taking.join(0.3)
            return found
    server._changed = Changed(one=SessionStatus('one', 'ask', 'ask', 'waiting', 1.0))
    server.changed(SimpleNamespace(
        status=lambda: SessionStatus('one', 'ask', 'bye', 'waiting', 2.0)))
    rig.wait(lambda: rig.shown['one'].state == 'bye')


def test_the_node_starts_although_rows_of_a_session_are_damaged(
    rig: Rig, tmp_path: Path
) -> None:
    for name in ('one', 'two'):
        rig.begin(name)
    rig.close()
    with contextlib.closing(sqlite3.connect(tmp_path / 'journal')) as connection:
        connection.execute("UPDATE entry SET data_json = '[' WHERE flow_id = 'one'")
        connection.commit()
    again = Rig(tmp_path)
    try:
        again.wait(lambda: list(again.shown) == ['two'])
        result = again.client.send_goal_async(RunGraph.Goal(session_id='one'))
        again.wait(result.done)
        end = result.result().get_result_async()
        again.wait(end.done)
        assert end.result().result.error_code == ErrorCode.NOT_FOUND
        assert "session 'one' is set aside: row 2" in end.result().result.error_msg
    finally:
        again.close()
