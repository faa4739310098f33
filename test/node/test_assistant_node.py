# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The complete graph of states runs in the agent node with a model, and is killed on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import threading
from typing import Any

from action_lifecycle.journal import verify_journal
from action_lifecycle_msgs.msg import Session
import pytest
from unit.llm.endpoint import Endpoint
from unit.sessions.assistant import answer

from .agent_rig import AgentRig

TOOLS = """\
python:
  look: {call: 'cup_tools:look', idempotent: true}
  fetch: {call: 'cup_tools:fetch', idempotent: true}
"""
PYTHON = """\
def look(what: str) -> str:
    '''Look for something.'''
    return 'shelf'

def fetch(place: str) -> str:
    '''Fetch something.'''
    return 'on the table, done'
"""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    yield endpoint
    endpoint.close()


def test_the_complete_graph_runs_to_its_end_although_the_node_is_killed_twice(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    pytest.importorskip('openai')
    folder = tmp_path / 'tools'
    folder.mkdir()
    (folder / 'cup_tools.py').write_text(PYTHON)
    (folder / 'tools.yaml').write_text(TOOLS)
    held, release = threading.Event(), threading.Event()
    hold_at = [4]  # numbers of requests that are answered only after a kill

    def reply(request: dict[str, Any]) -> Any:
        if hold_at and len(endpoint.requests) == hold_at[0]:
            held.set()
            release.wait(60.0)
        return answer(request['messages'],
                      request['response_format']['json_schema']['schema'], {})
    endpoint.always = reply
    rig = AgentRig(tmp_path, OPENAI_BASE_URL=endpoint.url, OPENAI_MODEL='small')
    rig.environment['PYTHONPATH'] += f':{folder}'
    try:
        rig.start(tools_file=str(folder / 'tools.yaml'), skills_folder=str(tmp_path / 'skills'),
                  max_steps=20)
        rig.begin('assistant', 'cup', 'Fetch the red cup.')
        for number in (11, 0):  # where the second process is killed
            rig.until(held.is_set, 60.0, 'a request to the model')
            held.clear()
            hold_at[0] = number
            rig.kill()
            release.set()
            release = threading.Event()
            rig.start()
        waiting = rig.until_session(
            'cup', lambda session: session.status == Session.WAITING, 'the answer')
        assert waiting.output == 'The cup is there.' and not waiting.error_msg
        assert rig.send('cup', 'agent_reply', 'learn it').accepted
        rig.until_session('cup', lambda session: session.status == Session.WAITING
                          and session.step > waiting.step + 2, 'the skill')
        assert (tmp_path / 'skills' / 'fetch_cup.yaml').exists()
        states = [row.to_state for row in rig.rows('moved')]
        assert {'autonomous_plan', 'execute_step', 'verify_progress', 'learn_skill', 'ask_user',
                'agent_reply'} <= set(states)
        steps = [item['step'] for item in rig.context_of('cup')
                 if isinstance(item, dict) and 'step' in item]
        assert steps == [0, 1, 2]
        # It has no final state: it ends when its states run without an end, at the limit.
        endpoint.always = lambda request: {'next_state': 'agent_reply'} if 'next_state' in str(
            request['response_format']) else {'answer': 'Again.'}
        result = rig.begin('', 'cup')
        rig.send('cup', 'agent_reply', 'go on')
        end = rig.until(lambda: result.result() if result.done() else None, 60.0, 'the end')
        assert end.result.reason == Session.FAILED
        assert end.result.error_msg.startswith('max_steps: 20 ')
        assert not verify_journal(rig.journal_path)
    finally:
        release.set()
        rig.close()
