# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the pages link to is there, their examples are sound, and they make a site."""

from __future__ import annotations

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path
import re
import subprocess
import sys
from typing import Any

from action_lifecycle.documents.models import validate
from action_lifecycle.documents.yaml_document import parse_document
from action_lifecycle.engine import load_graph
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.flow.files.loader import parse_flow
from action_lifecycle.testing.script import CasesSpec
from action_lifecycle.world import parse_facts
from docs_tables import with_tables
import pytest
import yaml

from .pages import anchors, Example, examples, links, PAGES, prose, ROOT

LANGUAGES = {'bash', 'console', 'mermaid', 'python', 'terminal', 'text', 'yaml', 'yaml fragment',
             'json', 'xml'}


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    for target in links(page):
        path, _, anchor = target.partition('#')
        if '://' in path:
            continue
        found = (page.parent / path) if path else page
        assert found.exists(), f'{page.name}: {target}'
        assert not anchor or anchor in anchors(found), f'{page.name}: {target}'


def test_index_and_site_have_each_page_once() -> None:
    folder = ROOT / 'docs'
    names = {str(page.relative_to(folder)) for page in folder.rglob('*.md')} - {'index.md'}
    site = yaml.safe_load((ROOT / 'mkdocs.yml').read_text(encoding='utf-8'))
    listed = [target for target in links(ROOT / 'docs/index.md') if not target.startswith('..')]
    assert sorted(listed) == sorted(names)
    assert site['nav'] == ['index.md', *listed]


def make_site(target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip('mkdocstrings')
    return subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'mkdocs', 'build', '--strict',
         '--site-dir', str(target), *options],
        cwd=ROOT, capture_output=True, text=True, timeout=100)


def test_the_pages_make_a_site_without_a_warning(tmp_path: Path) -> None:
    done = make_site(tmp_path)
    assert done.returncode == 0, done.stderr
    assert not [page for page in tmp_path.rglob('*.html') if '```' in page.read_text('utf-8')]
    assert len(list(tmp_path.rglob('index.html'))) == len(list((ROOT / 'docs').rglob('*.md')))
    for name in public_names():
        module = importlib.import_module(f'action_lifecycle.{name}')
        text = (tmp_path / 'api' / name / 'index.html').read_text('utf-8')
        for public in module.__all__:
            assert f'id="{module.__name__}.{public}"' in text, f'{name}.{public}'


def test_a_name_that_is_not_there_stops_the_site(tmp_path: Path) -> None:
    (tmp_path / 'docs').mkdir()
    (tmp_path / 'docs/index.md').write_text('::: action_lifecycle.engine.no_such_name\n')
    (tmp_path / 'mkdocs.yml').write_text(
        f'INHERIT: {ROOT}/mkdocs.yml\nhooks: []\nnav: [index.md]\ndocs_dir: docs\n'
        f'plugins: {{mkdocstrings: {{handlers: {{python: {{paths: [{ROOT}]}}}}}}}}\n')
    done = make_site(tmp_path / 'site', '--config-file', str(tmp_path / 'mkdocs.yml'))
    assert done.returncode == 1 and 'action_lifecycle.engine.no_such_name' in done.stderr


def test_each_block_says_what_it_is() -> None:
    assert [str(example) for example in examples('')] == []
    for page in PAGES:
        assert set(re.findall(r'^```(\S.*)$', page.read_text('utf-8'), re.M)) <= LANGUAGES


@pytest.mark.parametrize('example', examples('yaml'), ids=str)
def test_a_yaml_example_is_what_it_looks_like(example: Example, tmp_path: Path) -> None:
    data: Any = parse_document(example.text, str(example)).data
    if isinstance(data, list):
        parse_edit(example.text, str(example))
    elif 'cases' in data:
        validate(parse_document(example.text, str(example)), CasesSpec)
    elif 'flow' in data:
        parse_flow(example.text, str(example))
    elif 'facts' in data or 'estop' in data:
        parse_facts(example.text, str(example))
    elif any(isinstance(value, dict) and 'ros__parameters' in value for value in data.values()):
        known = yaml.safe_load((ROOT / 'config/action_lifecycle.yaml').read_text('utf-8'))
        for node, entry in data.items():
            ours = known.get(node) or known['/**']
            assert node == 'lifecycle_manager' or (
                set(entry['ros__parameters']) <= set(ours['ros__parameters']))
    else:
        graph = tmp_path / 'graph.yaml'
        graph.write_text(example.text, encoding='utf-8')
        load_graph(graph)


@pytest.mark.parametrize('example', examples('yaml fragment'), ids=str)
def test_a_fragment_is_yaml(example: Example) -> None:
    parse_document(example.text, str(example))


@pytest.mark.parametrize('example', examples('python'), ids=str)
def test_a_python_example_imports_what_there_is(example: Example) -> None:
    for node in ast.walk(ast.parse(example.text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith('action_lifecycle.'):
            if not find_spec('rclpy') and str(node.module).split('.')[1] in ('ros', 'nodes'):
                continue
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                assert hasattr(module, alias.name), f'{example}: {alias.name}'


def test_tables_are_those_of_the_registries() -> None:
    for page in PAGES:
        text = page.read_text(encoding='utf-8')
        assert text == with_tables(text), f'{page.name}: run tools/docs_tables.py'


def public_names() -> dict[str, list[str]]:
    """Return the names to build on, by module."""
    page = (ROOT / 'docs/architecture.md').read_text(encoding='utf-8')
    rows = re.findall(r'^\| `action_lifecycle\.(\w+)` \| (.*) \|$', page, re.MULTILINE)
    return {module: re.findall(r'`(\w+)`', names) for module, names in rows}


def test_names_to_build_on_are_public() -> None:
    rows = public_names()
    assert len(rows) == 11
    for module_name, names in rows.items():
        module = importlib.import_module(f'action_lifecycle.{module_name}')
        for name in names:
            assert name in module.__all__ and hasattr(module, name), f'{module_name}.{name}'


def test_files_that_pages_name_are_there() -> None:
    for page in PAGES:
        for name in re.findall(
                r'`((?:action_lifecycle|bench|config|docs|launch|test|tools)/[\w./-]+\.\w+)`',
                prose(page)):
            assert (ROOT / name).exists(), f'{page.name}: {name}'


def test_the_way_of_an_action_is_in_files_that_exist() -> None:
    text = (ROOT / 'docs/architecture.md').read_text(encoding='utf-8')
    section = text.partition('## The way of an action')[2].partition('\n## ')[0]
    files = re.findall(r'`([a-z_/]+\.py)` \|$', section, re.M)
    assert 10 < len(files) == len(set(files)) <= 22
    assert [file for file in files if not (ROOT / 'action_lifecycle' / file).exists()] == []
