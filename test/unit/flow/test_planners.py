# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planners in Python: how they are found, and what counts as an answer."""

from __future__ import annotations

from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import PlanAnswer, PlanRequest, register_planner
from action_lifecycle.flow.planning.planners import ask_planner, find_planner, PLANNERS
import pytest


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget afterwards what a test registers."""
    monkeypatch.setattr(PLANNERS, '_things', dict(PLANNERS))


FLOW, EDIT = PlanRequest('pick'), PlanRequest('pick', flow_yaml='flow: f')


@pytest.mark.parametrize(('said', 'request_', 'answer'), [
    ('flow: f', FLOW, PlanAnswer('flow: f')), ('- clear: true', EDIT, PlanAnswer(
        edit_yaml='- clear: true')), (None, FLOW, PlanAnswer()), (None, EDIT, PlanAnswer()),
    ('', EDIT, PlanAnswer()), (PlanAnswer(message='no'), EDIT, PlanAnswer(message='no'))])
def test_text_is_a_flow_or_an_edit_as_the_request_wants(
    said: Any, request_: PlanRequest, answer: PlanAnswer
) -> None:
    assert ask_planner(lambda request: said, request_) == answer


@pytest.mark.parametrize('said', [3, {'flow': 'f'}, ['- clear: true'], b'flow: f'])
def test_anything_else_is_refused_with_its_type(said: Any) -> None:
    with pytest.raises(LifecycleError, match=type(said).__name__):
        ask_planner(lambda request: said, EDIT)


@pytest.mark.parametrize('error', [RuntimeError('no idea'), SystemExit(3), KeyboardInterrupt()])
def test_no_exception_ends_the_thread(error: BaseException) -> None:
    def plan(request: PlanRequest) -> None:
        raise error

    with pytest.raises(LifecycleError, match=type(error).__name__):
        ask_planner(plan, FLOW)


def test_functions_and_classes_are_planners() -> None:
    @register_planner('f')
    def function(request: PlanRequest) -> str:
        return request.request

    @register_planner('c')
    class Class:
        count = 0

        def plan(self, request: PlanRequest) -> str:
            self.count += 1
            return str(self.count)

    assert ask_planner(find_planner('f'), FLOW).flow_yaml == 'pick'
    plan = find_planner('c')
    assert [ask_planner(plan, FLOW).flow_yaml for _ in range(2)] == ['1', '2']


def test_what_is_no_planner_is_refused() -> None:
    register_planner('number')(3)

    @register_planner('broken')
    class Broken:

        def __init__(self) -> None:
            raise OSError('no model file')

    for name, why in (('number', 'expected a function, or a class with a method'),
                      ('broken', "planner 'broken': OSError: no model file"),
                      ('numbr', "there is no planner 'numbr'; did you mean 'number'?.*known: "
                                'broken, number')):
        with pytest.raises(LifecycleError, match=why):
            find_planner(name)
