# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A model for config/graphs/assistant.yaml: it plans, executes, fails once, learns, and stops."""

from __future__ import annotations

import json
from typing import Any

PLAN = {'goal': 'a red cup on the table', 'question': '', 'steps': [
    {'task': 'look for the cup', 'tool': 'look'}, {'task': 'think about it', 'tool': ''},
    {'task': 'fetch it', 'tool': 'fetch'}]}
SKILL = {
    'learn': True, 'reason': 'it is asked often', 'name': 'fetch_cup',
    'description': 'Fetches a cup of a colour.',
    'parameters': [{'name': 'color', 'type': 'string', 'description': ''}],
    'steps': [{'tool': 'look', 'arguments': '{"what": "{{ color }} cup"}'},
              {'tool': 'fetch', 'arguments': '{"place": "{{ results[0] }}"}'}]}


def answer(messages: list[Any], schema: dict[str, Any], seen: dict[str, Any]) -> Any:
    """
    Return the answer of the model to a request; `seen`: counters that tests read.

    It depends on the context only, as that of a model does, so that a request may be repeated.
    """
    fields = schema['properties']
    text = json.dumps(messages)
    if 'steps' in fields and 'goal' in fields:
        seen['plans'] = seen.get('plans', 0) + 1
        return PLAN
    if 'learn' in fields:
        return SKILL
    if 'achieved' in fields:
        done = text.count('on the table, done') > 0
        return {'achieved': done, 'reason': 'as seen',
                'next_state': 'agent_reply' if done else 'execute_step'}
    if 'next_state' in fields:
        return {'next_state': _next(text, fields['next_state']['enum'])}
    if 'what' in fields:
        return {'what': 'red cup'}
    if 'place' in fields:
        return {'place': 'shelf'}
    return {'answer': _reply(text)}


def _next(text: str, names: list[str]) -> str:
    if set(names) == {'execute_step', 'ask_user'}:
        return 'execute_step'
    if 'learn it' in text and 'it is asked often' in text:
        return 'ask_user' if 'ask_user' in names else 'agent_reply'
    if 'learn it' in text and 'learn_skill' in names:
        return 'learn_skill'
    if 'as seen' in text:
        return 'ask_user'
    return 'autonomous_plan' if 'autonomous_plan' in names else 'agent_reply'


def _reply(text: str) -> str:
    if 'Carry out this step' in text:
        return 'It will be heavy.'
    return 'The cup is there.' if 'as seen' in text else 'I will plan.'
