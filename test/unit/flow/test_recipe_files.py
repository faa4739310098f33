# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recipe files: the flow in one, what has changed since it was written, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
import subprocess
import sys
import time
from typing import Any

from action_lifecycle.documents.errors import DocumentError, LifecycleError
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.recipes.recipe import Recipe, source_of, write_recipe
from action_lifecycle.flow.recipes.recipe_file import recipe_path
from action_lifecycle.flow.recipes.recipe_world import facts_of_goals, world_then
from action_lifecycle.lifecycle.ports import knows
import pytest

from .recipe_runs import folder, run_it, TEXT, with_recipes
from .robot import Clock, Robot, Start

__all__ = ['folder']  # a fixture


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
