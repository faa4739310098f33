# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Choosing by a service of another node, over real DDS."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
import json
import threading
from typing import Any

from action_lifecycle.engine import ChoiceError, load_graph, Session, StateHandler
from action_lifecycle.ros.calls.service_chooser import ServiceChooser
from action_lifecycle_msgs.srv import ChooseTransition
from isolation import domain_id
import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

GRAPH = """\
initial: ask
states:
  ask: {type: decision, description: decide, transition: {next: [left, right]}}
  left: {type: terminal, description: to the left}
  right: {type: terminal, description: to the right}
"""


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    context = Context()
    rclpy.init(context=context, domain_id=domain_id())
    node = rclpy.create_node('test_chooser', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    requests: list[Any] = []

    def run(answer: Callable[[], str] | None, graph: str = GRAPH) -> Any:
        if answer is not None:
            def serve(request: Any, response: Any) -> Any:
                requests.append(request)
                response.transition = answer()
                return response
            node.create_service(ChooseTransition, 'choose_transition', serve)

        session = Session(
            StateHandler(graph=load_graph(graph, name='g.yaml')), ['context'],
            chooser=ServiceChooser(node, machine='m'),
            choice_timeout=2.0 if answer is None else 30.0)
        return asyncio.run(session.run(5)), requests

    yield run
    executor.shutdown()
    context.try_shutdown()
    thread.join(5.0)


def test_another_node_decides(ask: Callable[..., Any]) -> None:
    result, (request,) = ask(lambda: 'right')
    assert result.state == 'right' and result.reason == 'terminal'
    assert request.machine == 'm' and request.state == 'ask'
    assert list(request.transitions) == ['left', 'right']
    assert list(request.descriptions) == ['to the left', 'to the right']
    assert json.loads(request.answer_schema)['properties']['next_state']['enum'] == [
        'left', 'right']


@pytest.mark.parametrize('answer', ['up', '', '{"next_state": "up"}'])
def test_an_answer_that_is_none_of_the_names_is_never_followed(
    ask: Callable[..., Any], answer: str
) -> None:
    with pytest.raises(ChoiceError, match='to choose from: left, right'):
        ask(lambda: answer)


def test_nobody_answers_in_time(ask: Callable[..., Any]) -> None:
    with pytest.raises(ChoiceError, match='no answer within 2.0 s'):
        ask(None)


def test_the_declared_default_is_taken_instead_of_a_guess(ask: Callable[..., Any]) -> None:
    graph = GRAPH.replace('transition: {next: [left, right]}', 'x: 0').replace(', x: 0', '') + (
        'transitions:\n  - {event: left, from: ask, to: left}\n'
        '  - {event: right, from: ask, to: right, default: true}\n')
    result, _ = ask(lambda: 'up', graph)
    assert result.state == 'right'
