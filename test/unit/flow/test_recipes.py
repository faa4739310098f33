# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A verified run leaves a recipe; it is executed again only where nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
import json
import os
from pathlib import Path
import subprocess
import sys
import time
from typing import Any

from action_lifecycle.documents.errors import DocumentError, LifecycleError
from action_lifecycle.flow import FlowRun, parse_flow
from action_lifecycle.flow.planning.asker import PlanReply
from action_lifecycle.flow.recipes.recipe import Recipe, source_of, write_recipe
from action_lifecycle.flow.recipes.recipe_file import recipe_path
from action_lifecycle.flow.recipes.recipe_making import RecipeMaker
from action_lifecycle.flow.recipes.recipe_world import facts_of_goals, world_then
from action_lifecycle.lifecycle.ports import knows
from action_lifecycle.lifecycle.states import ActionOutcome
import pytest

from .robot import Clock, Process, Robot, Start
from .test_steering import steered

TEXT = """flow: fetch
parameters:
  force: {default: 8.0, min: 2.0, max: 50.0}
max_motions: 2
actions:
  place:
    after: pick
    motion: {server: arm, type: a/action/B, goal: {x: {expr: 'slot[0]'}}}
    confirm: z > 0
  pick:
    parameters: {grip: '{{ force }}'}
    require: z < 1
    motion: {server: hand, type: a/action/B, goal: {effort: '{{ grip }}', at: {fact: part}}}
    confirm: z > 0
    fallback: [{strategy: retry, parameters: {grip: 35.0}}, ask]
"""


def at_once(work: Callable[[], Any], done: Callable[[Any, Exception | None], None]) -> None:
    try:
        done(work(), None)
    except OSError as error:
        done(None, error)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / 'recipes'


def with_recipes(process: Process, folder: Path, apart: Any = at_once) -> Process:
    process.orchestrator.extensions.append(
        RecipeMaker(process.orchestrator, folder, apart, lambda: 1e9))
    return process


def run_it(
    process: Process, flow_id: str = 'f', recipe: str = 'fetch', text: str = TEXT,
    origin: dict[str, Any] | None = None,
) -> FlowRun:
    return process.orchestrator.submit(
        parse_flow(text, 'fetch.yaml'), flow_id, recipe=recipe, origin=origin or {})


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


# What is executed from it


@pytest.fixture
def made(start: Start, clock: Clock, robot: Robot, folder: Path, tmp_path: Path) -> Recipe:
    file = tmp_path / 'fetch.yaml'
    file.write_text(TEXT)
    run_it(with_recipes(start(), folder), origin={
        'file': str(file), 'world': world_then([evidence('part', [0.1, 0.2])])})
    clock.run()
    return Recipe.load(folder, 'fetch')


def evidence(fact: str, numbers: list[float], validity: str = 'valid', condition: str = 'world',
             verdict: str = 'true') -> dict[str, Any]:
    return {'condition': condition, 'expression': knows(fact), 'verdict': verdict,
            'facts': [{'name': fact, 'stamp': 0.0, 'topic': '/t', 'validity': validity,
                       'numbers': numbers, 'unit': 'm'}]}


def test_it_is_a_flow_that_does_the_same_with_nothing_to_fill_in(made: Recipe) -> None:
    flow = parse_flow(made.text(), 'fetch.json')
    assert list(flow.actions) == ['pick', 'place']
    assert flow.max_motions == 2 and not flow.parameters
    assert flow.actions['pick'].motion[0].goal['effort'] == 8.0
    assert flow.actions['place'].after == {'pick': 'success'}
    assert [item.strategy for item in flow.actions['pick'].fallback] == ['ask']


def test_what_looks_like_a_template_in_a_recipe_is_a_text(
    start: Start, clock: Clock, folder: Path
) -> None:
    text = TEXT.replace('fetch', 'odd').replace(
        "goal: {effort: '{{ grip }}'", "goal: {name: '{{ \"{\" }}{ secret }}', effort: 1")
    run_it(with_recipes(start(), folder), recipe='odd', text=text)
    clock.run()
    flow = parse_flow(Recipe.load(folder, 'odd').text(), 'odd.json')
    assert flow.actions['pick'].motion[0].goal['name'] == '{{ secret }}'


def test_what_was_read_from_facts_results_and_conditions_is_kept_as_it_was(
    start: Start, clock: Clock, folder: Path
) -> None:
    verify = "{by: operator, question: 'Is {{ action }} done?'}"
    text = TEXT.replace('after: pick', 'after: {pick: {condition: attempts == 1}}').replace(
        'fetch', 'late').replace(
        "{x: {expr: 'slot[0]'}}", "{x: '{{ results.pick.facts.z }}', y: '{{ facts.z }}'}").replace(
        'confirm: z > 0\n  pick', f'confirm: z > 0\n    verify: {verify}\n  pick')
    process = with_recipes(start(), folder)
    run_it(process, recipe='late', text=text)
    clock.run(10.0)
    (question,) = process.desk.open.values()
    process.desk.respond(question.id, 'completed', 'me')
    clock.run(10.0)
    recipe = Recipe.load(folder, 'late')
    assert recipe.fragment('place')['motion'][0]['goal'] == {'x': 0.5, 'y': 0.5}
    flow = parse_flow(recipe.text(), 'late.json')
    assert flow.actions['place'].motion[0].goal == {'x': 0.5, 'y': 0.5}
    assert flow.actions['place'].verify[0].question == 'Is {{ action }} done?'
    assert facts_of_goals(parse_flow(text, 'f')) == ['part', 'z']
    run = process.orchestrator.submit(flow, 'again', origin={'kind': 'recipe'})
    clock.run(10.0)
    assert run.actions[1].sensors_said == 'confirmed'


def test_nothing_has_changed_so_nothing_is_different(made: Recipe) -> None:
    now = [evidence('part', [0.102, 0.2])]
    assert made.differences(TEXT, {}, now) == []
    assert made.differences(TEXT, {'force': 8.0}, now) == []


@pytest.mark.parametrize(('text', 'given', 'now', 'said'), [
    (TEXT.replace('8.0', '9.0'), {}, [evidence('part', [0.1, 0.2])], '+  force: {default: 9.0'),
    (None, {}, [evidence('part', [0.1, 0.2])], 'not there any more'),
    (TEXT, {'force': 9.0}, [evidence('part', [0.1, 0.2])], "'force': 8.0 then, 9.0 now"),
    (TEXT, {'farce': 9.0}, [evidence('part', [0.1, 0.2])], "did you mean 'force'"),
    (TEXT, {}, [evidence('part', [0.11, 0.2])], "'part': [0.1, 0.2] then, [0.11, 0.2] now"),
    (TEXT, {}, [evidence('part', [0.1, 0.2], 'stale')], 'stale now'),
    (TEXT, {}, [evidence('part', [0.1])], '[0.1] now'),
    (TEXT, {}, [], 'unknown now'),
    (TEXT, {}, [evidence('part', [0.1, 0.2]), evidence(
        'z', [2.0], condition='require of pick', verdict='false')], 'require of pick'),
])
def test_each_difference_is_told(
    made: Recipe, text: str | None, given: dict[str, Any], now: list[dict[str, Any]], said: str
) -> None:
    assert said in '\n'.join(made.differences(text, given, now))


def test_what_is_asked_before_it_runs(made: Recipe) -> None:
    assert made.questions() == [('world', 'all(part == part)'), ('require of pick', 'z < 1')]
    assert facts_of_goals(parse_flow(TEXT, 'f')) == ['part', 'slot']


def test_a_second_run_of_the_same_flow_widens_the_ranges(made: Recipe, folder: Path) -> None:
    data = made.data()
    data['flow_id'] = 'g'
    data['actions'][0]['evidence']['z'] = {'min': [0.4], 'max': [0.4], 'unit': 'm'}
    data['actions'][0]['duration'] = [2.0, 2.0]
    again = write_recipe(folder, Recipe(type(made.spec)(**data)))
    assert again.spec.runs == 2
    assert again.spec.actions[0].evidence['z'] == {'min': [0.4], 'max': [0.5], 'unit': 'm'}
    assert again.spec.actions[0].duration == pytest.approx([1.2, 2.0])


def test_a_recipe_of_a_changed_flow_begins_anew(made: Recipe, folder: Path) -> None:
    data = made.data()
    data.update(flow_id='g', flow=source_of(parse_flow(TEXT + '# more\n', 'f'), ''))
    assert write_recipe(folder, Recipe(type(made.spec)(**data))).spec.runs == 1


@pytest.mark.parametrize('name', ['', '../x', 'a/b', '.hidden', 'x' * 65, 'a.json', 'a\n'])
def test_a_name_never_leaves_the_folder(folder: Path, name: str) -> None:
    with pytest.raises(LifecycleError, match='not the name of a recipe'):
        recipe_path(folder, name)


def test_an_unknown_recipe_names_the_nearest(made: Recipe, folder: Path) -> None:
    with pytest.raises(LifecycleError, match="did you mean 'fetch'"):
        Recipe.load(folder, 'fetsh')
    with pytest.raises(LifecycleError, match="did you mean 'pick'"):
        made.fragment('pic')


@pytest.mark.parametrize(('fields', 'said'), [
    ({'require': None}, 'a list of mappings, each with .condition'),
    ({'require': [{}]}, 'a list of mappings, each with .condition'),
    ({'fallback': 5}, 'a list of mappings, each with .strategy'),
    ({'fallback': ['retry']}, 'a list of mappings, each with .strategy'),
    ({'parameters': None}, 'expected a mapping')])
def test_an_edited_recipe_is_refused_where_it_is_wrong(
    made: Recipe, folder: Path, fields: Any, said: str
) -> None:
    path = folder / 'fetch.json'
    data = json.loads(path.read_text())
    data['actions'][0]['fields'].update(fields)
    path.write_text(json.dumps(data, indent=1))
    with pytest.raises(DocumentError, match=rf'fetch.json:\d+:\d+: .*{said}'):
        Recipe.load(folder, 'fetch')


def test_a_recipe_of_another_version_or_with_an_action_twice_is_refused(
    made: Recipe, folder: Path
) -> None:
    path = folder / 'fetch.json'
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, 'version': 2}))
    with pytest.raises(DocumentError, match='version'):
        Recipe.load(folder, 'fetch')
    path.write_text(json.dumps({**data, 'actions': data['actions'] * 2}))
    with pytest.raises(DocumentError, match='a second action'):
        Recipe.load(folder, 'fetch')


def test_a_damaged_recipe_is_refused_with_its_line_and_replaced_by_the_next(
    made: Recipe, folder: Path
) -> None:
    path = folder / 'fetch.json'
    data = json.loads(path.read_text())
    data['actions'][0]['attemps'] = data['actions'][0].pop('attempts')
    path.write_text(json.dumps(data, indent=1))
    with pytest.raises(DocumentError, match=r'fetch.json:\d+:\d+: .*attemps'):
        Recipe.load(folder, 'fetch')
    write_recipe(folder, made)
    assert Recipe.load(folder, 'fetch').data() == made.data()


def test_killed_while_it_writes_the_old_recipe_or_the_new_one_is_there(
    made: Recipe, folder: Path
) -> None:
    seen = set()
    path = folder / 'fetch.json'
    for number in range(5):
        with subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name('recipe_writer.py')), str(folder)],
                env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}) as process:
            end = time.monotonic() + 20.0
            before = path.stat().st_ino
            while path.stat().st_ino == before:
                assert process.poll() is None and time.monotonic() < end
                time.sleep(0.001)
            for _ in range(20):
                Recipe.load(folder, 'fetch')  # while it is written again and again
            time.sleep(number * 0.003)
            process.kill()
        seen.add(Recipe.load(folder, 'fetch').spec.flow_id)
    assert seen
