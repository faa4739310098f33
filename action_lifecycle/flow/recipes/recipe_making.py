# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes the recipe of a verified run, after its last action and before its end."""

from __future__ import annotations

from collections.abc import Callable
import logging
from pathlib import Path
import time

from .recipe import Recipe, write_recipe
from .recipe_file import recipe_path
from ..orchestrator import Orchestrator
from ..run.flow_hooks import Extension
from ..run.flow_run import FlowRun, RECIPE_STAGE
from ...documents.errors import LifecycleError
from ...journal.row import Entry
from ...lifecycle.ports import Apart
from ...lifecycle.states import ActionOutcome


class RecipeMaker(Extension):
    """
    Delays the end of a flow with a `recipe` until the recipe is written or can't be.

    The flow is in the stage flow_recipe_creation meanwhile. `apart` runs the writing in another
    thread. The recipe is then journaled in a row of kind 'recipe', which is synced to the ledger
    of the fleet.
    """

    def __init__(
        self, orchestrator: Orchestrator, folder: Path, apart: Apart,
        wall_time: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self._orchestrator = orchestrator
        self._apart = apart
        self._wall_time = wall_time
        self._making: set[str] = set()
        self._halted = False
        self._log = logging.getLogger('action_lifecycle')

    def is_blocking(self, run: FlowRun) -> bool:
        """Return whether the recipe of a flow is being written; starts this if needed."""
        if not run.recipe or 'recipe' in run.notes:
            return False
        if run.flow_id in self._making:
            return True
        why = _why_not(run)
        if why:
            self._without(run, why)
            return False
        if run.stage != RECIPE_STAGE and not self._orchestrator.recorder.until_recorded(
                f'the stage {RECIPE_STAGE} of flow {run.flow_id}',
                lambda: run.stages.fire('scheduled'),
                lambda: self._orchestrator.advance_soon(run)):
            return True
        self._making.add(run.flow_id)
        recipe = Recipe.of(
            run.recipe, run.flow_id, run.flow,
            [run.runners[name].action.fragment for name in run.flow.actions
             if name not in run.replaced], run.origin, self._wall_time())
        self._apart(lambda: write_recipe(self.folder, recipe),
                    lambda recipe, error: self._written(run, recipe, error))
        return True

    def halt(self) -> None:
        """Ignore recipes that are written from now on; a restart resumes their flows."""
        self._halted = True

    def _written(self, run: FlowRun, recipe: Recipe, error: Exception | None) -> None:
        self._making.discard(run.flow_id)
        if self._halted:
            return
        if error is not None:
            self._without(run, f'it could not be written: {error}')
        else:
            run.notes['recipe'] = {
                'name': recipe.name, 'file': str(recipe_path(self.folder, recipe.name)),
                'runs': recipe.spec.runs}
            self._journal(run, recipe)
        self._orchestrator.advance_soon(run)

    def _journal(self, run: FlowRun, recipe: Recipe) -> None:
        recorder = self._orchestrator.recorder
        try:  # not final: a recipe is kept until it is replaced
            recorder.journal.append(Entry(
                kind='recipe', action_id=recipe.name, event='stored', data=recipe.data(),
                cause=f'verified by {run.flow_id}', ros_time=recorder.clock.now()))
        except LifecycleError as error:
            self._log.warning('recipe %s is in its file, but not in the journal and the ledger: '
                              '%s', recipe.name, error)
            run.notes['recipe']['not_in_ledger'] = str(error)

    def _without(self, run: FlowRun, why: str) -> None:
        run.notes['recipe'] = {'name': run.recipe, 'why_not': why}
        self._log.warning('flow %s leaves no recipe %s: %s', run.flow_id, run.recipe, why)


def _why_not(run: FlowRun) -> str:
    """Return why a run is not fully verified; '' if it is."""
    actions = [action for action in run.actions if action.action_id not in run.replaced]
    missing = [
        f"'{action.action_id}' {action.outcome.value if action.outcome else 'has not ended'}"
        for action in actions if action.outcome is not ActionOutcome.SUCCEEDED]
    missing += [
        f"'{action.action_id}' followed '{name}', which was replaced later"
        for action in actions for name in action.spec.after if name in run.replaced]
    missing += [
        f"'{action.action_id}' has no evidence" for action in actions
        if action.outcome is ActionOutcome.SUCCEEDED and not (
            action.passed_completed and action.evidence)]
    missing += [f"'{action.action_id}' contributed nothing" for action in actions
                if action.outcome is ActionOutcome.SUCCEEDED and not action.fragment]
    return 'not verified as a whole: ' + ', '.join(missing) if missing else ''
