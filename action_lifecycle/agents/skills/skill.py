# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Skills: named sequences of tool calls, one YAML file each, which are tools themselves.

    skill: fetch_cup
    description: Fetches a cup of a colour.
    parameters: {color: {type: string, description: Colour of the cup.}}
    steps:
      - {tool: look_for, arguments: {what: 'cup, {{ color }}'}}
      - {tool: fetch, arguments: {place: '{{ results[0] }}'}}

A skill is data, no code: it can only call the tools that exist, with arguments that are valid by
their schemas. Templates may read the parameters and `results`, a list of the results so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
import logging
from pathlib import Path
import re
from typing import Any, Literal

from pydantic import Field
import yaml

from ..tool_state import ToolError
from ..tools.registry import Caller, Tool, ToolRegistry
from ...documents.durable_file import replacing
from ...documents.errors import LifecycleError
from ...documents.json_schema import object_schema, schema_faults
from ...documents.models import listed, StrictModel, validate
from ...documents.suggestions import nearest
from ...documents.templates.template import render
from ...documents.yaml_document import parse_document, read_document

SERVER = 'skills'
MAX_SKILLS = 200
MAX_CALLS = 20
"""Maximum number of calls of a skill."""
TIME_LIMIT = 600.0
"""Time limit (s) of a skill; each call has its own, too."""
_NAME = re.compile(r'[a-z][a-z0-9_]{0,63}\Z')
_LOG = logging.getLogger('action_lifecycle')


class Parameter(StrictModel):
    """A parameter of a skill."""

    type: Literal['string', 'number', 'integer', 'boolean'] = 'string'  # noqa: A003
    description: str = ''


class Call(StrictModel):
    """A call of a tool; strings of its arguments may be templates."""

    tool: str
    arguments: dict[str, Any] = {}


class Skill(StrictModel):
    """A file of a skill."""

    skill: str = Field(description='Name of the skill; letters a-z, digits and _.')
    description: str = Field(min_length=1, max_length=1000)
    parameters: dict[str, Parameter] = {}
    steps: list[Call] = listed(1, MAX_CALLS)

    def text(self) -> str:
        """Return the content of the file."""
        data = {
            'skill': self.skill, 'description': self.description, 'parameters': {
                name: {'type': given.type, 'description': given.description}
                for name, given in self.parameters.items()},
            'steps': [{'tool': call.tool, 'arguments': call.arguments} for call in self.steps]}
        return str(yaml.safe_dump(data, allow_unicode=True, sort_keys=False))


class SkillStore:
    """
    The skills of a folder, as a source of tools of `registry`; see `ToolSource`.

    Files that are not valid are logged and skipped. Raises LifecycleError if there is no folder.
    """

    name = SERVER

    def __init__(self, folder: Path, registry: ToolRegistry) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LifecycleError(f'{folder}: {error.strerror}') from error
        self._folder = folder
        self._registry = registry
        self.skills: dict[str, Skill] = {}
        for path in sorted(folder.glob('*.yaml'))[:MAX_SKILLS]:
            try:
                document = read_document(path)
                skill = validate(document, Skill)
                if skill.skill != path.stem or not _NAME.match(skill.skill):
                    raise LifecycleError(f'{path}: skill: expected the name of the file')
                self.skills[skill.skill] = skill
            except LifecycleError as error:
                _LOG.error('a skill is left out: %s', error)

    async def tools(self) -> Iterable[Tool]:
        """Return the skills as tools."""
        return [Tool(skill.skill, SERVER, skill.description, object_schema({
            name: {'type': given.type, 'description': given.description}
            for name, given in skill.parameters.items()}),
            partial(self._perform, skill, caller=self._registry.call_tool), TIME_LIMIT,
            call_by_steps=partial(self._perform, skill)) for skill in self.skills.values()]

    async def close(self) -> None:
        """Do nothing."""

    async def faults(self, skill: Skill) -> list[str]:
        """Return the reasons why a new skill can't be stored."""
        specs = {name: spec for server, tools in (await self._registry.list_all_tools()).items()
                 if server != SERVER for name, spec in tools.items()}
        found = list(self._name_faults(skill, specs))
        for index, call in enumerate(skill.steps):
            where = f'steps[{index}]'
            if call.tool not in specs:
                found.append(f"{where}: no tool '{call.tool}'" + nearest(call.tool, specs))
                continue
            schema = specs[call.tool]['inputSchema']
            if not _has_templates(call.arguments):
                found += [f'{where}: {fault}' for fault in
                          schema_faults(call.arguments, schema)]
            else:
                found += [f"{where}: unknown argument '{name}'" for name in call.arguments
                          if name not in schema.get('properties', {})]
        return found

    def _name_faults(self, skill: Skill, specs: Mapping[str, Any]) -> Iterator[str]:
        if not _NAME.match(skill.skill):
            yield 'skill: expected up to 64 letters a-z, digits and _, first a letter'
        elif skill.skill in specs or skill.skill in self.skills:
            yield f"skill: there is a tool '{skill.skill}' already"
        if len(self.skills) >= MAX_SKILLS:
            yield f'there are {MAX_SKILLS} skills already'
        for name in skill.parameters:
            if not _NAME.match(name) or name == 'results':
                yield f"parameters: '{name}' can't name a parameter"

    def add(self, skill: Skill) -> None:
        """Store a skill without faults; raises LifecycleError if the file can't be written."""
        path = self._folder / f'{skill.skill}.yaml'
        try:
            with replacing(path) as part:
                part.write_text(skill.text(), encoding='utf-8')
        except OSError as error:
            raise LifecycleError(f'{path}: {error.strerror}') from error
        self.skills[skill.skill] = skill

    async def _perform(
        self, skill: Skill, arguments: dict[str, Any], user_id: Any, caller: Caller
    ) -> Any:
        results: list[Any] = []
        for index, call in enumerate(skill.steps):
            try:
                tool = await self._registry.find(call.tool)
                if tool.server == SERVER:
                    raise ToolError(f"'{call.tool}' is a skill")
                results.append(await caller(
                    call.tool, render(call.arguments, {**arguments, 'results': results}),
                    user_id))
            except ToolError as error:
                if hasattr(error, 'connect_url'):
                    raise
                raise ToolError(f"skill '{skill.skill}', step {index}: {error}") from error
        return {'results': results}


def parse_skill(text: str, source: str) -> Skill:
    """Return the skill of a YAML text; raises DocumentError."""
    return validate(parse_document(text, source), Skill)


def _has_templates(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_templates, value.values()))
    if isinstance(value, list):
        return any(map(_has_templates, value))
    return isinstance(value, str) and ('{{' in value or '{%' in value)
