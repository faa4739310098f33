# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The stages of a flow: analysed, sorted, jobs created, recipe written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from action_lifecycle.flow.files.edit import EditRefused
from action_lifecycle.journal import Row
from action_lifecycle.journal.flow_rows import flow_event
import pytest

from .changes import events, FLOW, REBUILD, recorded, with_recipes
from .robot import Clock, Robot, Start


def test_a_flow_from_a_recipe_was_analysed_and_sorted_before(
    start: Start, clock: Clock
) -> None:
    process = start()
    run = process.submit(FLOW, origin={'kind': 'recipe'})
    assert run.stage == 'scheduled_jobs_creation'
    assert events(process.flow_rows) == ['accepted scheduled_jobs_creation', 'continue']
    clock.run(0.5)
    process.orchestrator.edit('f', REBUILD, 'anna', 'one more')  # which it was not sorted with
    clock.run()
    assert events(process.flow_rows)[2:6] == [
        'edited dependency_analysis', 'stage topological_sort', 'stage scheduled_jobs_creation',
        'continue']


def test_the_rows_of_start_are_one_commit(start: Start, clock: Clock) -> None:
    process = start()
    commits: list[list[str]] = []
    append_many = process.journal.append_many

    def counted(entries: Any) -> list[Row]:
        entries = list(entries)
        commits.append([entry.event for entry in entries])
        return append_many(entries)

    process.journal.append_many = counted  # type: ignore[method-assign]
    process.submit(FLOW)
    assert commits == [['accepted', 'stage', 'stage', 'continue']]


def test_a_flow_that_can_not_be_sorted_says_in_which_stage_it_failed(start: Start) -> None:
    process = start()
    parsed = process.parse(FLOW)
    parsed.actions['a'].after['b'] = 'success'
    process.orchestrator.submit(parsed, 'f')
    assert events(process.flow_rows) == [
        'accepted dependency_analysis', 'fail topological_sort']
    assert flow_event(process.flow_rows[-1]).error_code == 'FLOW_CYCLE'


@pytest.mark.parametrize('recipe', ['', 'r'])
def test_without_a_verified_run_there_is_no_recipe_stage(
    start: Start, clock: Clock, robot: Robot, tmp_path: Path, recipe: str
) -> None:
    process = with_recipes(start(), tmp_path / 'recipes')
    robot.verdicts['a', 'confirm'] = ['refuted'] if recipe else []
    run = process.submit(FLOW, recipe=recipe)
    clock.run()
    assert run.ended and run.stage == 'scheduled_jobs_creation'
    assert 'stage flow_recipe_creation' not in events(process.flow_rows)


def test_the_recipe_stage_lasts_while_the_recipe_is_written(
    start: Start, clock: Clock, tmp_path: Path
) -> None:
    written: list[Callable[[], None]] = []
    process = with_recipes(start(), tmp_path / 'recipes', lambda work, done: written.append(
        lambda: done(work(), None)))
    run = process.submit(FLOW, recipe='r')
    clock.run(100.0)
    assert (run.state, run.stage) == ('CONTINUE', 'flow_recipe_creation')
    with pytest.raises(EditRefused, match='its recipe is being written'):
        process.orchestrator.edit('f', REBUILD, 'anna', 'late')
    process.kill()
    written.clear()
    process = with_recipes(start(), tmp_path / 'recipes', lambda work, done: written.append(
        lambda: done(work(), None)))
    (run,) = process.orchestrator.restore()
    assert (run.state, run.stage) == ('CONTINUE', 'flow_recipe_creation')
    written.pop()()
    clock.run(1.0)
    assert run.state == 'FINISH' and run.summary['recipe']['runs'] == 1
    assert events(recorded(process)).count('stage flow_recipe_creation') == 1


def test_the_recipe_stage_is_entered_when_it_is_recorded(
    start: Start, clock: Clock, tmp_path: Path
) -> None:
    process = with_recipes(start(), tmp_path / 'recipes')
    run = process.submit(FLOW, recipe='r')
    with process.full_disk(lambda entry: entry.event == 'stage') as refused:
        clock.run(100.0)
        assert len(refused) > 10 and run.stage == 'scheduled_jobs_creation'
        assert run.state == 'CONTINUE' and not (tmp_path / 'recipes').exists()
    clock.run(10.0)
    assert run.state == 'FINISH' and run.stage == 'flow_recipe_creation'
