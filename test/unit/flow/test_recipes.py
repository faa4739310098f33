# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A verified run leaves a recipe, also when it is killed; any other run leaves none."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.documents.errors import TransitionNotAllowed
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.planning.asker import PlanReply
from action_lifecycle.flow.recipes.recipe import Recipe
from action_lifecycle.lifecycle.states import ActionOutcome
import pytest

from .recipe_runs import folder, run_it, TEXT, with_recipes
from .robot import Clock, Robot, Start
from .test_steering import steered

__all__ = ['folder']  # a fixture


def test_each_action_passes_the_recipe_states_and_contributes_its_fragment(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    process = with_recipes(start(), folder)
    run = run_it(process)
    clock.run()
    assert run.state == 'FINISH'
    assert process.states('pick')[-4:] == [
        'completed', 'recipe_requested', 'recipe_received', 'terminated']
    assert run.runners['pick'].action.outcome is ActionOutcome.SUCCEEDED
    spec = Recipe.load(folder, 'fetch').spec
    assert [action.action for action in spec.actions] == ['pick', 'place']
    pick = spec.actions[0]
    assert pick.fields['motion'][0]['goal']['effort'] == 8.0
    assert pick.evidence == {'z': {'min': [0.5], 'max': [0.5], 'unit': 'm'}}
    assert pick.required['z']['min'] == [0.5]
    assert pick.duration == pytest.approx([1.2, 1.2])
    assert spec.flow.parameters == {'force': 8.0}
    assert len(spec.flow.sha256) == 64 and len(spec.flow.parameters_sha256) == 64
    assert run.summary['recipe']['file'] == str(folder / 'fetch.json')


def test_the_recipe_of_an_action_in_error_can_be_requested_and_it_ends_as_failed(
    start: Start, clock: Clock, robot: Robot
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    text = ('flow: f\nactions:\n  pick:\n    motion: {server: arm, type: a/action/B, '
            'goal: {effort: 8}}\n    confirm: z > 0\n    retry: {times: 3, delay: 60}\n')
    process = start()
    run = process.orchestrator.submit(parse_flow(text, 'f.yaml'), 'f')
    clock.run(30.0)
    action = run.runners['pick'].action
    with pytest.raises(TransitionNotAllowed, match='receive_recipe'):
        process.orchestrator.fire('f', 'pick', 'receive_recipe', actor='anna')
    assert action.state == 'error' and 'request_recipe' in action.machine.possible_events()
    process.orchestrator.fire('f', 'pick', 'request_recipe', actor='anna')
    clock.run()
    assert process.states('pick')[-4:] == [
        'error', 'recipe_requested', 'recipe_received', 'terminated']
    assert robot.executed('pick') == 1  # it is not tried again
    assert action.outcome is ActionOutcome.FAILED and run.state == 'FAIL'
    kept, = (row for row in process.journal.rows() if row.event == 'receive_recipe')
    assert kept.data['fragment']['fields']['motion'][0]['goal'] == {'effort': 8}


def test_a_recipe_leaves_out_what_was_replaced(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process, _ = steered(start, clock, PlanReply(True, (
        '- add: {grasp: {replaces: pick, motion: {server: hand, type: a/action/B}, '
        'confirm: z > 0}}')))
    with_recipes(process, folder)
    run = run_it(process, text='flow: fetch\nsteering: true\nactions:\n'
                 '  pick: {motion: {server: arm, type: a/action/B}, confirm: z > 0}\n'
                 '  place: {after: pick, confirm: z > 0}\n')
    clock.run()
    assert run.state == 'FINISH' and run.summary['replaced'] == 1
    recipe = Recipe.load(folder, 'fetch')
    flow = parse_flow(recipe.text(), 'recipe')
    assert list(flow.actions) == ['grasp', 'place'] and not flow.actions['grasp'].replaces
    assert flow.actions['place'].after == {'grasp': 'success'}


def test_an_action_that_followed_a_replaced_one_prevents_the_recipe(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    """Whether it may come before the replacement is not known."""
    robot.verdicts['pick', 'confirm'] = ['refuted']
    process, _ = steered(start, clock, PlanReply(True), PlanReply(True, (
        '- add: {grasp: {replaces: pick, confirm: z > 0}}')))
    with_recipes(process, folder)
    run = run_it(process, text='flow: fetch\nsteering: true\nactions:\n'
                 '  pick: {motion: {server: arm, type: a/action/B}, confirm: z > 0}\n'
                 '  look: {after: {pick: completion}, confirm: z > 0}\n')
    clock.run()
    assert run.state == 'FINISH' and not folder.exists()
    assert "'look' followed 'pick'" in run.summary['recipe']['why_not']


def test_without_a_recipe_wanted_no_action_passes_the_recipe_states(
    start: Start, clock: Clock, folder: Path
) -> None:
    process = with_recipes(start(), folder)
    run_it(process, recipe='')
    clock.run()
    assert process.states('pick')[-2:] == ['completed', 'terminated']
    assert not folder.exists()


def test_the_fragment_has_what_worked_after_the_fallback_not_what_failed(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.verdicts['pick', 'confirm'] = ['refuted']
    run_it(with_recipes(start(), folder))
    clock.run()
    fragment = Recipe.load(folder, 'fetch').fragment('pick')
    assert fragment['motion'][0]['goal']['effort'] == 35.0
    assert fragment['parameters']['grip'] == 35.0
    assert not {'after', 'retry', 'fallback'} & fragment.keys()


def test_the_fragment_has_the_goal_as_it_was_sent(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    robot.by_hand.add('motion')
    run_it(with_recipes(start(), folder))
    for goals in ({'0': {'effort': 8.0, 'at': [0.1, 0.2]}}, {'0': {'x': 0.3}}):
        clock.run(5.0)
        robot.motions[-1].end(goals=goals)
    clock.run(5.0)
    recipe = Recipe.load(folder, 'fetch')
    assert recipe.fragment('pick')['motion'][0]['goal'] == {'effort': 8.0, 'at': [0.1, 0.2]}
    assert recipe.fragment('place')['motion'][0]['goal'] == {'x': 0.3}


@pytest.mark.parametrize('verdicts', [['refuted'] * 3, ['timed_out'] * 3])
def test_a_run_that_was_not_verified_as_a_whole_leaves_none_and_says_why(
    start: Start, clock: Clock, robot: Robot, folder: Path, verdicts: list[str]
) -> None:
    robot.verdicts['place', 'confirm'] = verdicts
    run = run_it(with_recipes(start(), folder))
    clock.run()
    assert run.state == 'FAIL'
    assert not folder.exists()
    assert "'place' failed" in run.summary['recipe']['why_not']


def test_a_canceled_run_leaves_none(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    process = with_recipes(start(), folder)
    run = run_it(process)
    clock.run(1.5)
    process.orchestrator.cancel('f', 'me', 'enough')
    for motion in robot.motions:
        if motion.canceled:
            motion.end('canceled')
    clock.run()
    assert run.ended and 'why_not' in run.summary['recipe'] and not folder.exists()


def test_a_disk_that_refuses_the_recipe_does_not_fail_the_flow(
    start: Start, clock: Clock, folder: Path
) -> None:
    folder.write_text('a file where the folder should be')
    run = run_it(with_recipes(start(), folder))
    clock.run()
    assert run.state == 'FINISH'
    assert 'could not be written' in run.summary['recipe']['why_not']


def test_the_recipe_stands_in_the_journal_and_stays_there_through_a_compaction(
    start: Start, clock: Clock, folder: Path
) -> None:
    process = with_recipes(start(), folder)
    run_it(process)
    clock.run()
    (row,) = process.journal.open_rows('recipe')
    assert row.action_id == 'fetch' and row.data == Recipe.load(folder, 'fetch').data()
    process.journal.compact(synced_to=process.journal.last_seq())
    assert process.journal.open_rows('recipe') == [row]


def test_killed_before_the_file_is_written_it_is_made_after_the_restart(
    start: Start, clock: Clock, folder: Path
) -> None:
    process = with_recipes(start(), folder, apart=lambda work, done: None)
    run_it(process)
    clock.run()
    assert not process.orchestrator.runs['f'].ended
    process.kill()
    process = with_recipes(start(), folder)
    (run,) = process.orchestrator.restore()
    clock.run()
    assert run.state == 'FINISH' and Recipe.load(folder, 'fetch').spec.runs == 1
    assert not list(folder.glob('*.part'))


def test_killed_after_the_file_was_written_it_is_not_counted_twice(
    start: Start, clock: Clock, folder: Path
) -> None:
    process = with_recipes(start(), folder)
    run_it(process, flow_id='first')
    clock.run()
    process.kill()
    process = with_recipes(start(), folder, apart=lambda work, done: work())
    run_it(process, flow_id='second')
    clock.run()
    process.kill()
    process = with_recipes(start(), folder)
    process.orchestrator.restore()
    clock.run()
    assert Recipe.load(folder, 'fetch').spec.runs == 2


def test_a_fragment_that_the_journal_does_not_take_leaves_the_action_done(
    start: Start, clock: Clock, robot: Robot, folder: Path
) -> None:
    text = TEXT.replace('{grip: ', '{long: "' + 'x' * 600_000 + '", grip: ').replace(
        'confirm: z > 0', 'confirm: z > 0\n    retry: {times: 3}')
    run = run_it(with_recipes(start(), folder), text=text.replace(
        'effort: ', "long: '{{ long }}', effort: "))
    clock.run()
    assert run.state == 'FINISH' and robot.executed('pick') == 1
    assert "'pick' contributed nothing" in run.summary['recipe']['why_not']


def test_canceled_while_its_fragment_is_recorded_a_verified_action_has_succeeded(
    start: Start, clock: Clock, folder: Path
) -> None:
    process = with_recipes(start(), folder)
    with process.full_disk(lambda entry: entry.event == 'receive_recipe'):
        run = run_it(process)
        clock.run(2.0)
        process.orchestrator.cancel('f', 'me', 'enough')
        clock.run(1.0)
    assert run.actions[0].outcome is ActionOutcome.SUCCEEDED


@pytest.mark.parametrize('last', ['completed', 'recipe_requested', 'recipe_received'])
def test_killed_in_any_recipe_state_an_action_goes_on(
    start: Start, clock: Clock, folder: Path, last: str
) -> None:
    process = with_recipes(start(), folder)
    with process.full_disk(lambda entry: entry.from_state == last):
        run_it(process)
        clock.run(3.0)
    process.kill()
    process = with_recipes(start(), folder)
    (run,) = process.orchestrator.restore()
    clock.run()
    assert run.state == 'FINISH'
    assert len(Recipe.load(folder, 'fetch').spec.actions) == 2
