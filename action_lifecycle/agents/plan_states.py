# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The state types planner, executor and verifier: a plan of steps, made and judged by a model.

The plan is part of the context, as `plan` of an update: a goal and steps, each a task in words
and, if a tool does it, the name of the tool. `done` has the indices of the steps that have
succeeded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Optional

from pydantic import Field, StrictStr

from .builtin_states import ReadyState
from .chooser import awaited, one_of, read_answer
from .tool_state import ToolState
from ..documents.errors import LifecycleError
from ..documents.json_schema import object_schema, schema_faults
from ..documents.models import StrictModel
from ..graphs.state_types import Pause, register_state

PLAN, DONE = 'plan', 'done'
MAX_STEPS = 20
"""Default maximum number of steps of a plan."""
_PLAN = """\
Make a plan for the request: at most {most} steps, each one task. If one of these tools does a
step, name the tool, else leave it empty:
{tools}
If the user has to permit something or to be asked first, write this as `question`, else leave it
empty."""
_STEP = 'Carry out this step of the plan and answer with its result: {task}'
_VERIFY = """\
Judge whether the goal of the plan is achieved, from the results in the context, and choose the
next state:
{ways}"""


def current_plan(context: Any) -> tuple[Mapping[str, Any], list[int]] | None:
    """Return the last plan in a context and the indices of its steps that are done."""
    items = [context] if isinstance(context, Mapping) else \
        [item for item in context if isinstance(item, Mapping)]
    done: list[int] | None = None
    for item in reversed(items):
        if done is None and isinstance(item.get(DONE), list):
            done = list(item[DONE])
        if isinstance(item.get(PLAN), Mapping):
            return item[PLAN], done or []
    return None


def asked(context: Any, prompt: str) -> list[Any]:
    """Return a context for a model with a prompt at its end."""
    return [*(context if isinstance(context, list) else [context]),
            {'role': 'system', 'content': prompt}]


async def said_by_model(
    state: ReadyState, agent: Any, context: Any, prompt: str,
    schema: Mapping[str, Any] | None = None,
) -> Any:
    """
    Return the answer of `agent.call_llm`: an object that is valid by `schema`, else text.

    The model may answer with an object, with JSON text, or with a message that has it as
    `content`. Raises LifecycleError if the answer does not fit the schema.
    """
    call: Callable[..., Any] = state.needed(agent, 'call_llm')
    output = await awaited(
        call(asked(context, prompt)) if schema is None
        else call(asked(context, prompt), json_schema=schema))
    answer = getattr(output, 'content', output)
    if schema is None:
        return answer.get('content', answer) if isinstance(answer, Mapping) else answer
    answer = read_answer(answer)
    if faults := await asyncio.to_thread(schema_faults, answer, schema):
        raise LifecycleError(f"state '{state.name}': the answer of the model does not fit: "
                             + '; '.join(faults))
    return answer


class PlannerFields(StrictModel):
    """The fields of a planner; without next states here, the chooser decides."""

    max_steps: int = Field(MAX_STEPS, ge=1, le=100, description='maximum number of steps')
    planned: Optional[StrictStr] = Field(None, description='the next state')
    permission: Optional[StrictStr] = Field(
        None, description='the next state if the user has to be asked first')


@register_state
class PlannerState(ReadyState):
    """Asks `agent.call_llm` for a plan, which becomes the update."""

    Fields = PlannerFields
    leads_to = ('planned', 'permission')

    async def run(self, context: Any, agent: Any = None) -> Any:
        tools = await _tools(agent)
        most = self.config.get('max_steps', MAX_STEPS)
        plan = await said_by_model(
            self, agent, context, _PLAN.format(most=most, tools='\n'.join(
                f'- {name}: {spec.get("description", "")}' for name, spec in tools.items())
                or '- (there are none)'),
            object_schema({
                'goal': {'type': 'string'}, 'question': {'type': 'string'},
                'steps': {'type': 'array', 'minItems': 1, 'maxItems': most,
                          'items': object_schema({'task': {'type': 'string'}, 'tool': {
                              'type': 'string', 'enum': ['', *tools]}})}}))
        self._next = self.config.get('permission' if plan['question'] else 'planned')
        return {PLAN: plan, DONE: []}


class ExecutorFields(StrictModel):
    """An executor has no fields."""


@register_state
class ExecutorState(ToolState):
    """
    Carries out the first step of the plan that is not done: with its tool, or with the model.

    While steps are left it is entered again, if it is one of its own next states. After the last
    step, and after a failure, which is part of the update, another next state follows.
    """

    type = 'executor'  # noqa: A003
    Fields = ExecutorFields
    leads_to = ()

    async def run(self, context: Any, agent: Any = None) -> Any:
        found = current_plan(context)
        left = [] if found is None else [
            index for index in range(len(found[0]['steps'])) if index not in found[1]]
        if found is None or not left:
            self._leave_to(False)
            return {'step': None, 'error': 'no step of a plan is left'}
        plan, done = found
        index, step = left[0], plan['steps'][left[0]]
        update: dict[str, Any] = {'step': index, 'task': step['task']}
        try:
            result = await self._carried_out(step, context, agent)
        except LifecycleError as error:
            self._leave_to(False)
            return {**update, 'error': str(error), DONE: done}
        if isinstance(result, Pause):
            return result
        self._leave_to(len(left) > 1)
        return {**update, 'result': result, DONE: [*done, index]}

    async def _carried_out(self, step: Mapping[str, Any], context: Any, agent: Any) -> Any:
        prompt = _STEP.format(task=step['task'])
        if not step.get('tool'):
            return await said_by_model(self, agent, context, prompt)
        self.tool = step['tool']
        update = await super().run(asked(context, prompt), agent)
        return update if isinstance(update, Pause) else update['content']

    def _leave_to(self, again: bool) -> None:
        """Decide on the next state, if only one is possible."""
        others = [name for name in self.ways if name != self.name]
        self._next = self.name if again and self.name in self.ways else \
            others[0] if len(others) == 1 else None


@register_state
class VerifierState(ReadyState):
    """Asks `agent.call_llm` whether the goal of the plan is achieved and what follows."""

    async def run(self, context: Any, agent: Any = None) -> Any:
        names = list(self.ways)
        answer = await said_by_model(
            self, agent, context, _VERIFY.format(ways='\n'.join(
                f'- {name}: {description}' for name, description in self.ways.items())),
            object_schema({
                'achieved': {'type': 'boolean'}, 'reason': {'type': 'string'},
                **one_of('next_state', names)['properties']}))
        self._next = answer['next_state']
        return {'achieved': answer['achieved'], 'reason': answer['reason']}


async def _tools(agent: Any) -> dict[str, Mapping[str, Any]]:
    """Return the specs of the agent's tools by name."""
    manager = getattr(agent, 'tool_manager', None)
    if manager is None:
        return {}
    return {name: spec for specs in (await awaited(manager.list_all_tools())).values()
            for name, spec in specs.items()}
