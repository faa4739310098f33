# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""States that pause for a permission: which call they make afterwards, and what they forget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from action_lifecycle.engine import LifecycleError, Session, State, StateHandler
from action_lifecycle.graphs.loader import load_graph
from action_lifecycle.graphs.state_types import Pause, REGISTRY
from action_lifecycle.journal import JournalError
from action_lifecycle.tools import AuthRequiredError
import pytest

from .rig import Agent, Rig, run

TALK = """\
initial: ask
states:
  ask: {type: user}
  work: {type: TYPE}
transitions:
- {event: do, from: ask, to: work}
- {event: back, from: work, to: ask}
"""


class Driver:
    """An agent with tools that want a permission, and a model that names the last place."""

    def __init__(self) -> None:
        self.agent = Agent()
        self.calls: list[str] = []
        self.permitted = False
        for name in ('drive', 'look'):
            self.agent.tool_manager.tool(name)(self.made(name))
        self.agent.replies = lambda context, schema: {
            'place': [item for item in context if isinstance(item, str)][-1]} if schema else None

    def made(self, name: str) -> Any:
        def call(place: str) -> str:
            if not self.permitted:
                raise AuthRequiredError(name, 'https://example.org/login')
            self.calls.append(f'{name} {place}')
            return 'done'
        return call


@pytest.mark.parametrize('is_killed', [False, True])
def test_the_call_that_the_model_has_chosen_is_made_after_the_permission(
    tmp_path: Path, is_killed: bool
) -> None:
    async def main() -> None:
        driver = Driver()
        rig = Rig(tmp_path / 'journal', driver.agent)
        rig.begin(TALK.replace('TYPE', 'tool, tool: drive'), session_id='one')
        await rig.sessions.send('one', 'do', 'kitchen')
        await rig.until('one', lambda status: rig.questions)
        if is_killed:
            await rig.close()
            rig = Rig(tmp_path / 'journal', driver.agent)
            rig.sessions.restore()
            await rig.until('one', lambda status: rig.questions)
        driver.permitted = True
        rig.answers.put_nowait('authorized')
        status = await rig.until('one', lambda status: status.status == 'waiting'
                                 and not rig.sessions.open['one']._driver.asks)
        assert (status.state, status.error_msg) == ('ask', '')
        assert driver.calls == ['drive kitchen'] and len(driver.agent.asked) == 1
        await rig.close()
    run(main())


def test_a_tool_state_forgets_a_call_that_was_given_up(tmp_path: Path) -> None:
    async def main() -> None:
        driver = Driver()
        rig = Rig(tmp_path / 'journal', driver.agent)
        rig.begin(TALK.replace('TYPE', 'tool, tool: drive'), session_id='one')
        await rig.sessions.send('one', 'do', 'kitchen')
        await give_up(rig)
        driver.permitted = True
        await rig.sessions.send('one', 'back')
        await rig.sessions.send('one', 'do', 'cellar')
        await rig.until('one', lambda status: driver.calls or status.error_msg)
        assert driver.calls == ['drive cellar']
        await rig.close()
    run(main())


def test_an_executor_forgets_the_step_of_a_plan_that_was_given_up(tmp_path: Path) -> None:
    def plan(tool: str) -> Any:
        return {'plan': {'goal': 'g', 'steps': [{'task': tool, 'tool': tool}]}, 'done': []}

    async def main() -> None:
        driver = Driver()
        driver.agent.replies = lambda context, schema: {'place': 'kitchen'}
        rig = Rig(tmp_path / 'journal', driver.agent)
        rig.begin(TALK.replace('TYPE', 'executor'), session_id='one')
        await rig.sessions.send('one', 'do', plan('drive'))
        await give_up(rig)
        driver.permitted = True
        await rig.sessions.send('one', 'back')
        await rig.sessions.send('one', 'do', plan('look'))
        await rig.until('one', lambda status: driver.calls or status.error_msg)
        assert driver.calls == ['look kitchen']
        await rig.close()
    run(main())


async def give_up(rig: Rig) -> None:
    """Answer that the tool is not authorised, and wait until the state has failed."""
    await rig.until('one', lambda status: rig.questions)
    rig.answers.put_nowait('give_up')
    await rig.until('one', lambda status: 'back' in status.next_events)


def test_a_session_of_a_program_forgets_a_call_that_was_answered_instead() -> None:
    async def main() -> None:
        driver = Driver()
        graph = load_graph(TALK.replace('TYPE', 'tool, tool: drive'), name='talk')
        session = Session(StateHandler(graph=graph), ['kitchen'], driver.agent)
        assert (await session.run()).state == 'ask'
        assert (await session.resume('kitchen')).state == 'work'
        driver.permitted = True
        assert (await session.resume({'skipped': True})).state == 'ask'
        await session.resume('cellar')
        assert driver.calls == ['drive cellar']
    run(main())


class Sign(State):
    """A state that must not be repeated, and pauses at its first run."""

    type = 'sign_of_tests'  # noqa: A003
    runs = 0

    def run(self, context: Any, agent: Any = None) -> Any:
        Sign.runs += 1
        return Pause('sign in', 'https://example.org/login') if Sign.runs == 1 else {'ok': True}

    def check_transition_ready(self, context: Any) -> bool:
        return True


@pytest.fixture
def sign() -> Iterator[type[Sign]]:
    REGISTRY.register_type(Sign)
    Sign.runs = 0
    yield Sign
    REGISTRY._things.pop('sign_of_tests')


GRAPH = """\
initial: work
states:
  work: {type: sign_of_tests}
  done: {type: terminal}
transitions: [{event: done, from: work, to: done}]
"""


def test_a_state_that_has_paused_is_not_asked_about(tmp_path: Path, sign: type[Sign]) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent())
        rig.begin(GRAPH, session_id='one')
        await rig.until('one', lambda status: rig.questions)
        rig.answers.put_nowait('authorized')
        assert (await rig.end('one')).status == 'ended'
        assert [question.kind for question in rig.questions] == ['authorize'] and sign.runs == 2
        await rig.close()
    run(main())


def test_a_state_that_was_killed_after_its_pause_is_asked_about(
    tmp_path: Path, sign: type[Sign]
) -> None:
    async def main() -> None:
        rig = Rig(tmp_path / 'journal', Agent(), last=6)  # opened to again, the second run begins
        rig.begin(GRAPH, session_id='one')
        rig.answers.put_nowait('authorized')
        with pytest.raises(JournalError):
            await rig.end('one')
        await rig.close()
        rig = Rig(tmp_path / 'journal', Agent())
        rig.sessions.restore()
        rig.answers.put_nowait('again')
        assert (await rig.end('one')).status == 'ended'
        question, = rig.questions
        assert question.kind == 'resume' and question.key == '1.run.0.after1'
        await rig.close()
    run(main())


@pytest.mark.parametrize('tool, told', [
    ('drive', ''), ('', ''),
    ('reboot', "the answer of the model does not fit: .steps[0].tool: 'reboot' is not one of")])
@pytest.mark.parametrize('form', [
    dict, json.dumps, lambda plan: SimpleNamespace(content=json.dumps(plan))],
    ids=['object', 'text', 'message'])
def test_a_plan_may_use_only_the_tools_that_the_planner_was_told_of(
    tool: str, told: str, form: Callable[[dict[str, Any]], Any]
) -> None:
    driver = Driver()
    driver.agent.replies = lambda context, schema: form({
        'goal': 'g', 'question': '', 'steps': [{'task': 'go', 'tool': tool}]})
    handler = StateHandler(graph=load_graph(TALK.replace('TYPE', 'planner'), name='talk.yaml'))

    async def main() -> str:
        try:
            await handler.get_state('work').run([], driver.agent)
        except LifecycleError as error:
            return str(error)
        return ''

    said = run(main())
    assert told in said and bool(told) is bool(said)
