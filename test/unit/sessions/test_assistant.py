# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The complete graph of states runs from the request to the learnt skill, killed at any row."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from action_lifecycle.agents.skills.skill import parse_skill, SkillStore
from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.engine import load_graph, Session, StateHandler
from action_lifecycle.graphs.packaged import config_file
from action_lifecycle.journal import JournalError
from action_lifecycle.tools import ToolRegistry
import pytest

from .assistant import answer
from .rig import Agent, Rig, run

GRAPH = config_file('graphs/assistant.yaml')
PRINTED = Path(__file__).parents[1] / 'engine' / 'data' / 'complete_state_graph.yaml'
TYPES = {'ask_user': 'user', 'agent_reply': 'agent', 'use_tool': 'tool',
         'autonomous_plan': 'planner', 'execute_step': 'executor', 'verify_progress': 'verifier',
         'learn_skill': 'skill_builder'}


def assistant(folder: Path) -> tuple[Agent, list[str], dict[str, Any]]:
    """Return an agent with a model and tools, the calls of the tools, and what the model saw."""
    agent, calls, seen = Agent(), [], {}
    registry = agent.tool_manager

    @registry.tool(idempotent=True)
    def look(what: str) -> str:
        """Look for something."""
        calls.append(f'look {what}')
        return 'shelf'

    @registry.tool(idempotent=True)
    def fetch(place: str) -> str:
        """Fetch something."""
        calls.append(f'fetch {place}')
        return 'on the table, done'
    agent.skills = SkillStore(folder, registry)  # type: ignore[attr-defined]
    registry.add_source(agent.skills)  # type: ignore[attr-defined]

    def replies(context: Any, schema: Any) -> Any:
        given = answer(context, schema or {'properties': {'answer': {}}}, seen)
        return given if schema else {'role': 'assistant', 'content': given['answer']}
    agent.replies = replies

    async def chooser(choice: Any) -> Any:
        return answer(choice.context, dict(choice.schema), seen)
    agent.chooser = chooser  # type: ignore[attr-defined]
    return agent, calls, seen


def test_the_graph_is_as_printed() -> None:
    text, printed = GRAPH.read_text(encoding='utf-8'), PRINTED.read_text(encoding='utf-8')
    assert text[text.index('initial:'):] == printed[printed.index('initial:'):]
    graph = load_graph(GRAPH)
    assert {name: state.type for name, state in graph.states.items()} == TYPES
    assert graph.initial == 'agent_reply' and len(graph.warnings) == 1


async def whole_talk(path: Path, folder: Path, lasts: list[int]) -> tuple[Any, ...]:
    """Run the talk; the process is killed after each of these rows."""
    kills = [*lasts, 0]
    agent, calls, seen = assistant(folder)

    def start() -> Rig:
        rig = Rig(path, agent, kills.pop(0), chooser=agent.chooser)  # type: ignore[attr-defined]
        rig.sessions.restore()
        if 'one' not in rig.sessions.open:
            rig.begin(GRAPH.read_text(), session_id='one', context_input='Fetch the red cup.')
        return rig
    rig = None
    said: list[str] = []
    while True:
        try:
            rig = rig or start()
            status = await rig.until('one', lambda status: status.status == 'waiting')
            context = rig.sessions.view('one').context
            asked = [text for text in context if isinstance(text, str)]
            if 'learn it' not in asked:
                said = [status.output]
                await rig.sessions.send('one', 'agent_reply', 'learn it', 'anna')
            else:
                return rig, calls, seen, said
        except JournalError:
            if rig is None:  # it died before the session was open
                raise
            await rig.close()
            agent, calls_, seen_ = assistant(folder)
            calls += calls_
            rig = None


def test_the_complete_graph_plans_executes_verifies_and_learns(tmp_path: Path) -> None:
    async def main() -> None:
        rig, calls, seen, said = await whole_talk(tmp_path / 'j', tmp_path / 'skills', [])
        view = rig.sessions.view('one')
        assert not view.status.error_msg and view.status.state == 'ask_user'
        assert said == ['The cup is there.'] and seen == {'plans': 1}
        assert calls == ['look red cup', 'fetch shelf']
        steps = [item for item in view.context if isinstance(item, dict) and 'step' in item]
        assert [item['step'] for item in steps] == [0, 1, 2]
        assert steps[-1]['done'] == [0, 1, 2] and steps[1]['result'] == 'It will be heavy.'
        assert any(item.get('skill') == 'fetch_cup' for item in view.context
                   if isinstance(item, dict))
        registry = ToolRegistry()

        @registry.tool()
        def look(what: str) -> str:
            """Look for something."""
            return f'place of {what}'

        @registry.tool()
        def fetch(place: str) -> str:
            """Fetch something."""
            return f'fetched from {place}'
        registry.add_source(SkillStore(tmp_path / 'skills', registry))
        assert await registry.call_tool('fetch_cup', {'color': 'blue'}) == {
            'results': ['place of blue cup', 'fetched from place of blue cup']}
        with pytest.raises(LifecycleError, match='color'):
            await registry.call_tool('fetch_cup', {})
        # It has no final state: without an end by a person, the number of states is limited.
        rig.sessions.host.max_steps = 5
        rig.sessions.host.chooser = lambda choice: 'agent_reply'
        rig.sessions.open['one'].chooser = rig.sessions.host.chooser
        await rig.sessions.send('one', 'agent_reply', 'go on', 'anna')
        end = await rig.end('one')
        assert end.status == 'failed' and end.error_msg.startswith('max_steps: 5 ')
        await rig.close()
    run(main())


def test_killed_at_any_row_it_gets_to_the_same_end(tmp_path: Path) -> None:
    async def main() -> None:
        rig, *_ = await whole_talk(tmp_path / 'whole', tmp_path / 'skills', [])
        rows, wanted = rig.journal.last_seq(), rig.sessions.view('one')
        await rig.close()
        assert rows > 45
        for first in range(2, rows, 3):
            path = tmp_path / f'killed{first}'
            rig, calls, seen, _ = await whole_talk(
                path, tmp_path / f'skills{first}', [first, min(first + 10, rows)])
            view = rig.sessions.view('one')
            await rig.close()
            assert view.context == wanted.context, first
            assert [entry.text for entry in view.entries] == [
                entry.text for entry in wanted.entries]
            assert calls.count('look red cup') <= 2 and calls.count('fetch shelf') <= 2
    run(main())


def test_a_plan_that_fails_is_verified_and_a_step_can_be_tried_again(tmp_path: Path) -> None:
    async def main() -> None:
        agent, calls, _ = assistant(tmp_path / 'skills')
        tries = [0]
        original = agent.tool_manager.call_tool

        async def call_tool(tool_name: str, arguments: Any, user_id: Any = None, **more: Any
                            ) -> Any:
            tries[0] += 1
            if tries[0] == 1:
                raise LifecycleError('the lamp is off')
            return await original(tool_name, arguments, user_id)
        agent.tool_manager.call_tool = call_tool  # type: ignore[method-assign]
        session = Session(StateHandler(GRAPH), ['Fetch the red cup.'], agent,
                          chooser=agent.chooser)  # type: ignore[attr-defined]
        result = await asyncio.wait_for(session.run(30), 30.0)
        assert result.reason == 'paused' and result.state == 'ask_user'
        steps = [item for item in result.context if isinstance(item, dict) and 'step' in item]
        assert steps[0]['error'] == 'the lamp is off' and steps[0]['done'] == []
        assert [item['step'] for item in steps] == [0, 0, 1, 2]
    run(main())


@pytest.mark.parametrize(('text', 'fault'), [
    ('skill: a b\ndescription: x\nsteps: [{tool: look}]', 'expected up to 64 letters'),
    ('skill: look\ndescription: x\nsteps: [{tool: look}]', "a tool 'look' already"),
    ('skill: a\ndescription: x\nsteps: [{tool: lok}]', "no tool 'lok'; did you mean 'look'"),
    ('skill: a\ndescription: x\nsteps: [{tool: look, arguments: {what: 3}}]', 'steps[0]'),
    ('skill: a\ndescription: x\nsteps: [{tool: look, arguments: {wat: "{{ b }}"}}]',
     "unknown argument 'wat'"),
])
def test_a_skill_with_faults_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    agent, _, _ = assistant(tmp_path / 'skills')
    faults = run(agent.skills.faults(parse_skill(text, 'x.yaml')))  # type: ignore[attr-defined]
    assert fault in '\n'.join(faults)


def test_a_file_that_is_no_skill_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / 'bad.yaml').write_text('skill: bad\ndescription: x\nsteps: [{tol: look}]\n')
    (tmp_path / 'good.yaml').write_text('skill: good\ndescription: x\nsteps: [{tool: look}]\n')
    store = SkillStore(tmp_path, ToolRegistry())
    assert list(store.skills) == ['good'] and 'bad.yaml:3:' in caplog.text
