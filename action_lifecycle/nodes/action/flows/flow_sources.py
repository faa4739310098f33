# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Loads flows from a file, a YAML string or a recipe, and checks them before they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .flow_check import FlowCheck, FlowRefused
from ..bridge_client import BridgeClient
from ...shared.background_worker import Apart
from ...shared.paths import find_flow
from ....documents.errors import LifecycleError
from ....documents.input_file import read_text
from ....documents.json_text import read_object
from ....flow.files.flow import LoadedFlow
from ....flow.files.loader import parse_flow
from ....flow.files.sources import Sources
from ....flow.recipes.recipe import Recipe
from ....flow.recipes.recipe_world import facts_of_goals, world_then
from ....lifecycle.ports import Condition, ConfirmRequest, Evidence, knows
from ....lifecycle.states import ErrorCode
from ....ros.calls.service_call import NoAnswer
from ....ros.conversions.motion import evaluation_from

KINDS = ('file', 'yaml', 'recipe', 'request')
FACTS = 2.0
"""Maximum time (s) to wait for facts that are not known yet."""


@dataclass(frozen=True)
class FlowOrder:
    """The content of an ExecuteFlow goal, as JSON-compatible values; `kind` is one of KINDS."""

    kind: str
    flow: str  #: by `kind`: file name, YAML string, recipe name, request in natural language
    source: str = ''
    parameters: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    requester: str = ''
    lease: str = ''
    recipe: str = ''  #: name under which to save a recipe of the run

    def data(self) -> dict[str, Any]:
        """Return the order as the journal stores it."""
        return asdict(self)


def order_from(goal: Any) -> FlowOrder:
    """Return the order of an ExecuteFlow goal; raises `LifecycleError` if it is not valid."""
    kind = goal.kind or ('yaml' if '\n' in goal.flow else 'file')
    if kind not in KINDS:
        raise LifecycleError(f"kind '{goal.kind}': expected {', '.join(KINDS)} or nothing")
    parameters = read_object(goal.parameters_json, 'parameters_json')
    return FlowOrder(kind, goal.flow, goal.source, parameters, goal.priority, goal.requester,
                     goal.lease, goal.recipe)


@dataclass(frozen=True)
class CheckedFlow:
    """A checked flow and its origin, as the journal stores it."""

    flow: LoadedFlow
    origin: dict[str, Any]


class FlowSources:
    """Reads and checks flows; `recipes` is the folder of the recipes."""

    def __init__(
        self, check: FlowCheck, world: BridgeClient, apart: Apart, folders: Sequence[str],
        recipes: Path,
    ) -> None:
        self.recipes = recipes
        self.check = check.check
        self._world = world
        self._apart = apart
        self._folders = list(folders)

    async def load(
        self, order: FlowOrder, progress: Callable[[str], None] = lambda text: None
    ) -> CheckedFlow:
        """
        Return a checked flow; raises `DocumentError` or `FlowRefused` with all faults.

        `progress(message)` is called when the check starts to wait, with what it waits for.
        """
        if order.kind == 'recipe':
            return await self._of_recipe(order, progress)
        flow, file = await self._apart.do(lambda: self._read(order))
        await self.check(flow, progress)
        return await self.noted(flow, order, {'kind': order.kind, 'file': file})

    async def noted(
        self, flow: LoadedFlow, order: FlowOrder, origin: Mapping[str, Any]
    ) -> CheckedFlow:
        """Return the flow with its origin; adds the current facts if a recipe is to be saved."""
        whole = {**origin, **({'lease': order.lease} if order.lease else {})}
        if order.recipe and 'world' not in whole:
            facts = facts_of_goals(flow)
            whole['world'] = world_then(await self._judged(
                [('world', knows(fact)) for fact in facts], {}))
        return CheckedFlow(flow, whole)

    def _read(self, order: FlowOrder) -> tuple[LoadedFlow, str]:
        """Return the flow of an order, and the path of the file with it; '' if there is none."""
        if order.kind == 'yaml':
            flow = parse_flow(order.flow, order.source or 'flow', order.parameters,
                              Sources(self._folders))
            file = order.source if Path(order.source).is_absolute() else ''
            return flow, file if file and _text_of(file) == order.flow else ''
        path = find_flow(order.flow, self._folders)
        text = _text_of(str(path))
        if text is None:
            raise LifecycleError(f'{path}: can not be read')
        return parse_flow(text, str(path), order.parameters, Sources(self._folders)), \
            str(path.absolute())

    async def _of_recipe(
        self, order: FlowOrder, progress: Callable[[str], None]
    ) -> CheckedFlow:
        recipe, text = await self._apart.do(lambda: self._read_recipe(order.flow))
        evidence = await self._judged(recipe.questions(), recipe.parameters())
        found = recipe.differences(text, order.parameters, evidence)
        if found:
            raise FlowRefused(ErrorCode.RECIPE_REFUSED, '\n'.join(
                [f"recipe '{recipe.name}' is refused; these things changed since it was made:",
                 *(f'- {difference}' for difference in found)]))
        flow = await self._apart.do(lambda: parse_flow(
            recipe.text(), f'{recipe.name}.json', sources=Sources(self._folders)))
        origin: dict[str, Any] = {'kind': 'recipe', 'recipe': recipe.name}
        if order.recipe:
            data = recipe.data()
            origin.update(source=data['flow'], world=data.get('world', {}))
        await self.check(flow, progress)
        return await self.noted(flow, order, origin)

    def _read_recipe(self, name: str) -> tuple[Recipe, str | None]:
        recipe = Recipe.load(self.recipes, name)
        file = recipe.spec.flow.file
        return recipe, _text_of(file) if file else None

    async def _judged(
        self, questions: Sequence[tuple[str, str]], parameters: Mapping[str, Any]
    ) -> list[Evidence]:
        """Have the bridge evaluate (name, condition) pairs with the current facts."""
        if not questions:
            return []
        request = ConfirmRequest('', '', 0, [Condition(*question) for question in questions],
                                 parameters=parameters)
        try:
            response = await self._world.call_evaluate(request, FACTS).done
        except NoAnswer as error:
            raise FlowRefused(
                ErrorCode.NOT_READY, f'the facts can not be read: {error}') from error
        found = evaluation_from(response)
        if found.error_code:
            raise FlowRefused(found.error_code, found.error_msg)
        return list(found.evidence)


def _text_of(file: str) -> str | None:
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError):
        return None
