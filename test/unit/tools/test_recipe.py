# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The conda recipe has version and dependencies of both package.xml, and its script runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parents[3]
RECIPE = ROOT / 'recipe/recipe.yaml'
FOLDERS = {'action_lifecycle_msgs': ROOT / 'action_lifecycle_msgs', 'action_lifecycle': ROOT}
CONDA = {'dateutil': 'python-dateutil', 'redis': 'redis-py', 'yaml': 'pyyaml'}
"""Names of conda packages that differ from the rosdep key without `python3-`."""
HOST = {'python', 'ros_environment', 'ros_workspace'}
RUN = {'python', 'ros_workspace'}
"""What each of RoboStack's packages needs, with ros2-distro-mutex."""
BUILT_WITH = {'ament_cmake': {'numpy'}, 'ament_python': {'setuptools'}}


def _filled(value: Any, context: dict[str, str]) -> Any:
    """Return the recipe with the values of its context; other templates stay."""
    if isinstance(value, dict):
        return {key: _filled(inner, context) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, context) for inner in value]
    for name, text in context.items() if isinstance(value, str) else ():
        value = value.replace(f'${{{{ {name} }}}}', text)
    return value


DOCUMENT = yaml.safe_load(RECIPE.read_text(encoding='utf-8'))
CONTEXT = DOCUMENT['context']
OUTPUTS = {output['package']['name']: output
           for output in _filled(DOCUMENT['outputs'], CONTEXT)}


def _conda(key: str) -> str:
    """Return the name of the conda package for a rosdep key."""
    if key.startswith('python3-'):
        return CONDA.get(key[8:], key[8:])
    if key in ('numpy', 'python', 'setuptools'):
        return key
    return f"ros-{CONTEXT['distro']}-{key.replace('_', '-')}"


def _description(package: str) -> ElementTree.Element:
    return ElementTree.parse(FOLDERS[package] / 'package.xml').getroot()


def _expected(package: str, tags: tuple[str, ...], always: set[str]) -> set[str]:
    keys = {element.text or '' for tag in tags for element in _description(package).findall(tag)}
    return {CONTEXT['mutex'], *map(_conda, keys | always)}


def _required(package: str, part: str) -> set[str]:
    """Return the requirements; one that is pinned to the recipe's own output by its name."""
    listed = OUTPUTS[_conda(package)]['requirements'][part]
    assert len(listed) == len(set(listed))
    own = ("${{ pin_subpackage('ros-' ~ distro ~ '-action-lifecycle-msgs', exact=True) }}")
    return {_conda('action_lifecycle_msgs') if name == own else name for name in listed}


def test_there_is_one_output_for_each_package() -> None:
    assert list(OUTPUTS) == [_conda(package) for package in FOLDERS]


def test_the_version_is_that_of_both_packages() -> None:
    assert {_description(package).findtext('version') for package in FOLDERS} \
        == {CONTEXT['version']}
    assert DOCUMENT['recipe']['version'] == '${{ version }}'
    assert not any('version' in output['package'] for output in OUTPUTS.values())


@pytest.mark.parametrize('package', FOLDERS)
def test_it_is_built_with_what_the_package_is_built_with(package: str) -> None:
    kind = _description(package).findtext('export/build_type') or ''
    assert _required(package, 'host') == _expected(
        package, ('buildtool_depend', 'build_depend', 'depend'), HOST | BUILT_WITH[kind])


@pytest.mark.parametrize('package', FOLDERS)
def test_it_needs_what_the_package_needs_at_run_time(package: str) -> None:
    assert _required(package, 'run') == _expected(package, ('exec_depend', 'depend'), RUN)


@pytest.mark.parametrize('package', FOLDERS)
def test_summary_and_licence_are_those_of_the_package(package: str) -> None:
    description = _description(package)
    assert OUTPUTS[_conda(package)]['about']['summary'] == description.findtext('description')
    assert DOCUMENT['about']['license'] == description.findtext('license')


def test_the_python_package_is_installed_where_ros2_run_and_launch_look(tmp_path: Path) -> None:
    pytest.importorskip('setuptools')
    output = OUTPUTS[_conda('action_lifecycle')]
    source, prefix = tmp_path / 'source', tmp_path / 'prefix'
    site = prefix / 'lib/python/site-packages'
    for name in ('action_lifecycle', 'config', 'launch', 'resource'):
        shutil.copytree(ROOT / name, source / name,
                        ignore=shutil.ignore_patterns('__pycache__'))
    for name in ('package.xml', 'setup.cfg', 'setup.py'):
        shutil.copy(ROOT / name, source)
    for line in output['build']['script']:
        done = subprocess.run(
            ['sh', '-c', line], cwd=source, capture_output=True, text=True, timeout=100,
            env={**os.environ, 'PYTHON': sys.executable, 'PREFIX': str(prefix),
                 'SP_DIR': str(site)})
        assert done.returncode == 0, done.stderr
    (contents,) = (test['package_contents']['files'] for test in output['tests']
                   if 'package_contents' in test)
    assert [name for name in contents if not (prefix / name).is_file()] == []
    (command,) = (line for test in output['tests'] for line in test.get('script', ()))
    done = subprocess.run(
        ['sh', '-c', command], capture_output=True, text=True, timeout=60,
        env={**os.environ, 'PREFIX': str(prefix), 'PYTHONPATH': os.pathsep.join(
            [str(site), os.environ.get('PYTHONPATH', '')])})
    assert done.returncode == 0 and done.stdout.startswith('usage: action_lifecycle'), done.stderr


def test_rattler_build_renders_both_packages() -> None:
    rattler_build = pytest.importorskip('rattler_build')
    variants = rattler_build.VariantConfig.from_file(str(RECIPE.with_name('variants.yaml')))
    rendered = rattler_build.Stage0Recipe.from_file(RECIPE).render(
        variants, rattler_build.RenderConfig())
    recipes = [variant.recipe.to_dict() for variant in rendered]
    assert [recipe['package'] for recipe in recipes] == [
        {'name': name, 'version': CONTEXT['version']} for name in OUTPUTS]
    assert '${{' not in json.dumps([recipe['requirements'] for recipe in recipes])
