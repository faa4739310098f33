# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The state type skill_builder: lets a model make a new skill from the tools that exist."""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any

import pydantic

from .skill import Call, MAX_CALLS, Parameter, Skill, SkillStore
from ..builtin_states import ReadyState
from ..chooser import awaited
from ..plan_states import said_by_model
from ...documents.errors import LifecycleError
from ...documents.json_schema import object_schema
from ...documents.json_text import read_object
from ...graphs.state_types import register_state

TRIES = 3
"""Maximum number of proposals; each request contains the faults of the last one."""
_TEXT = {'type': 'string'}
_PROMPT = """\
Judge whether what was done should become a skill: a named sequence of at most {most} tool calls
that can be used again. If so, describe it. Arguments are JSON text of an object; strings in them
may be templates such as {{{{ color }}}} over the parameters, or {{{{ results[0] }}}} for the
result of an earlier call. Tools:
{tools}"""


@register_state
class SkillBuilderState(ReadyState):
    """
    Asks `agent.call_llm` for a skill and stores it in `agent.skills`, where it becomes a tool.

    The model may also decide that there is nothing to learn. A proposal with faults is refused;
    the update says what was learnt, or why nothing was.
    """

    async def run(self, context: Any, agent: Any = None) -> Any:
        store: SkillStore | None = getattr(agent, 'skills', None)
        if store is None:
            return {'skill': '', 'reason': 'no folder for skills is configured'}
        tools = {name: spec for server, specs in (await awaited(
            self.needed(agent, 'tool_manager').list_all_tools())).items()
            for name, spec in specs.items() if server != store.name}
        if not tools:
            return {'skill': '', 'reason': 'there are no tools'}
        prompt = _PROMPT.format(most=MAX_CALLS, tools='\n'.join(
            f'- {name}: {json.dumps(spec, default=str)}' for name, spec in tools.items()))
        faults: list[str] = []
        for _ in range(TRIES):
            refused = '\nThe last answer was refused:\n' + '\n'.join(faults) if faults else ''
            answer = await said_by_model(
                self, agent, context, prompt + refused, _schema(list(tools)))
            if not answer['learn']:
                return {'skill': '', 'reason': answer['reason']}
            skill, faults = _skill(answer)
            if skill is not None:
                if store.skills.get(skill.skill) == skill:  # stored before a restart
                    return {'skill': skill.skill, 'reason': answer['reason']}
                faults = await store.faults(skill)
                if not faults:
                    store.add(skill)
                    return {'skill': skill.skill, 'reason': answer['reason']}
        return {'skill': '', 'reason': 'no usable skill: ' + '; '.join(faults)[:2000]}


def _schema(tools: list[str]) -> dict[str, Any]:
    return object_schema({
        'learn': {'type': 'boolean'}, 'reason': _TEXT, 'name': _TEXT, 'description': _TEXT,
        'parameters': {'type': 'array', 'maxItems': MAX_CALLS, 'items': object_schema({
            'name': _TEXT, 'description': _TEXT,
            'type': {'type': 'string', 'enum': ['string', 'number', 'integer', 'boolean']}})},
        'steps': {'type': 'array', 'maxItems': MAX_CALLS, 'items': object_schema({
            'tool': {'type': 'string', 'enum': tools}, 'arguments': _TEXT})}})


def _skill(answer: Mapping[str, Any]) -> tuple[Skill | None, list[str]]:
    """Return the skill of an answer, or its faults."""
    try:
        return Skill(
            skill=answer['name'], description=answer['description'],
            parameters={given['name']: Parameter(
                type=given['type'], description=given['description'])
                for given in answer['parameters']},
            steps=[Call(tool=step['tool'], arguments=read_object(
                step['arguments'], 'arguments', finite=True))
                   for step in answer['steps']]), []
    except (pydantic.ValidationError, ValueError, LifecycleError) as error:
        return None, str(error).splitlines()[:20]
