# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the package says about itself agrees with what it imports and installs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import importlib.util
from pathlib import Path
import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from ros_env import ROSDEP_KEYS
import yaml

ROOT = Path(__file__).parents[3]
PACKAGE = ElementTree.parse(ROOT / 'package.xml').getroot()
INTERFACES = ElementTree.parse(ROOT / 'action_lifecycle_msgs/package.xml').getroot()
KEYS = {**ROSDEP_KEYS, **{
    name: f'python3-{name}' for name in ('hypothesis', 'jsonschema', 'networkx', 'psutil',
                                         'pytest')}}
# extras: the module that imports one says how to install it
NOT_REQUIRED = {'PIL', 'argcomplete', 'celery', 'fastapi', 'httpx', 'itsdangerous', 'kombu',
                'matplotlib', 'mcap', 'mcap_ros2', 'mcp', 'mujoco', 'nicegui', 'openai',
                'paho', 'playwright', 'pytest', 'rosbags', 'socketio', 'starlette', 'uvicorn'}
EXTENDED = {'ros2cli'}  # imported only by what it finds by an entry point
BESIDE_ROS = {'ros2launch'}  # not imported: the command that starts the launch files


def _imports(folder: str) -> dict[str, Path]:
    """Return the top-level name of each module that is imported at run time, and where."""
    found: dict[str, Path] = {}
    for path in (ROOT / folder).rglob('*.py'):
        for name in _names(ast.parse(path.read_text(encoding='utf-8'))):
            found[name.partition('.')[0]] = path
    own = {path.stem for place in ('bench', 'tools') for path in (ROOT / place).glob('*.py')} | {
        'action_lifecycle', 'sample', 'fuzz', 'isolation', 'node', 'unit'}  # the last: below test/
    return {name: path for name, path in found.items()
            if name not in sys.stdlib_module_names | own | NOT_REQUIRED | EXTENDED}


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and 'TYPE_CHECKING' in ast.unparse(node.test):
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield node.module
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


def _dependencies(*tags: str) -> set[str]:
    return {element.text or '' for tag in tags for element in PACKAGE.findall(tag)}


@pytest.mark.parametrize('folder', ['action_lifecycle', 'launch'])
def test_each_import_has_its_exec_depend(folder: str) -> None:
    declared = _dependencies('exec_depend')
    undeclared = {name: path for name, path in _imports(folder).items()
                  if KEYS.get(name, name) not in declared}
    assert not undeclared


def test_each_import_of_a_test_has_its_depend() -> None:
    declared = _dependencies('exec_depend', 'test_depend')
    undeclared = {name: path for name, path in _imports('test').items()
                  if KEYS.get(name, name) not in declared}
    assert not undeclared


def test_each_exec_depend_is_imported() -> None:
    imported = {KEYS.get(name, name) for folder in ('action_lifecycle', 'launch')
                for name in _imports(folder)} | {'action_lifecycle_msgs'} | BESIDE_ROS
    assert _dependencies('exec_depend') - imported == set()
    assert set(ROSDEP_KEYS.values()) == {key for key in imported if key.startswith('python3-')}


def test_each_python_dependency_is_pinned_for_the_private_ros() -> None:
    text = ''.join((ROOT / f'tools/requirements-{name}.txt').read_text(encoding='utf-8')
                   for name in ('demo', 'dev'))
    pinned = set(re.findall(r'^([a-z0-9-]+)==', text, re.MULTILINE))
    named = {'yaml': 'pyyaml', 'dateutil': 'python-dateutil'}  # otherwise as the rosdep key
    python = {named.get(key[8:], key[8:]) for key in _dependencies('exec_depend', 'test_depend')
              if key.startswith('python3-')}
    assert python - pinned == set()


def test_the_demo_has_the_extras_that_it_shows() -> None:
    setup = (ROOT / 'setup.py').read_text(encoding='utf-8')
    extras = ast.literal_eval(re.findall(r'extras_require=(\{.*?\})', setup, re.DOTALL)[0])
    demo = (ROOT / 'tools/requirements-demo.txt').read_text(encoding='utf-8')
    pinned = set(re.findall(r'^([a-z0-9-]+)==', demo, re.MULTILINE))
    shown = {re.split('[<>=]', name)[0] for extra in ('bags', 'report', 'sim', 'web')
             for name in extras[extra]}
    assert shown - pinned == set()


@pytest.mark.parametrize('name', ['ros', 'demo', 'dev', 'oldest', 'pythons'])
def test_requirements_are_pinned_to_one_version_and_sorted(name: str) -> None:
    text = (ROOT / f'tools/requirements-{name}.txt').read_text(encoding='utf-8')
    for block in text.split('\n\n'):
        pins = [line for line in block.splitlines() if line and not line.startswith('#')]
        assert all(re.fullmatch(r'[a-z0-9-]+==[0-9][0-9a-z.]*', pin) for pin in pins), pins
        names = [pin.partition('==')[0] for pin in pins]
        assert names == sorted(set(names))


def test_each_dependency_resolves_by_rosdep_on_jazzy_and_newer() -> None:
    recorded = yaml.safe_load((Path(__file__).parent / 'rosdep_keys.yaml').read_text('utf-8'))
    keys = {element.text or '' for package in (PACKAGE, INTERFACES) for element in package
            if element.tag.endswith('depend')} - {'action_lifecycle_msgs'}
    assert keys - set(recorded['keys']) == set(), 'tools/record_rosdep --help says what to do'
    needed = {'ubuntu', 'debian'}, {'jazzy', 'kilted', 'lyrical', 'rolling'}
    assert [key for key, found in recorded['keys'].items()
            if not any(names <= set(found) for names in needed)] == []


def test_the_packages_have_one_version_and_one_license() -> None:
    setup = (ROOT / 'setup.py').read_text(encoding='utf-8')
    versions = {element.findtext('version') for element in (PACKAGE, INTERFACES)}
    assert versions == set(re.findall(r"version='(.*)'", setup))
    assert {element.findtext('license') for element in (PACKAGE, INTERFACES)} == {'Apache-2.0'}
    assert 'Apache License' in (ROOT / 'LICENSE').read_text(encoding='utf-8')


def test_each_console_script_has_its_function() -> None:
    setup = (ROOT / 'setup.py').read_text('utf-8')
    listed = setup.partition('console_scripts')[2].partition(']')[0]
    scripts = dict(re.findall(r"'(\w+) = ([\w.]+:\w+)'", listed))
    assert scripts.pop('action_lifecycle') == 'action_lifecycle.cli:main'
    assert scripts == {name: f'action_lifecycle.executables:{name}' for name in (
        'action_lifecycle_node', 'world_model_bridge', 'ledger', 'agent', 'language_model',
        'composed', 'sim_cell', 'sim_estop', 'web', 'markers', 'vda5050',
        'scripted_robot')}
    text = (ROOT / 'action_lifecycle/executables.py').read_text('utf-8')
    modules = dict(re.findall(r"(\w+) = _executable\('([\w.]+)'\)", text))
    assert modules.keys() == scripts.keys()
    for module in ('action_lifecycle.cli.main', *modules.values()):
        spec = importlib.util.find_spec(module)
        assert spec and spec.origin, module
        assert 'def main(' in Path(spec.origin).read_text(encoding='utf-8')
