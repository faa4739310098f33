# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The files of config/stacks: their cases pass, and their goals fit the message types."""

from __future__ import annotations

from pathlib import Path
import re

from action_lifecycle.cli import main
from action_lifecycle.testing import Cases
from action_lifecycle.testing.case_report import failure_text
import pytest

ROOT = Path(__file__).parents[3]
STACKS = ROOT / 'config' / 'stacks'
FILES = sorted(STACKS.rglob('*.cases.yaml'))
ALL = [(path, name) for path in FILES for name in Cases(path).names]
PAGE = (ROOT / 'docs' / 'stacks.md').read_text(encoding='utf-8')


@pytest.mark.parametrize(('path', 'name'), ALL, ids=[
    f'{path.parent.name}/{path.name.partition(".")[0]}: {name}' for path, name in ALL])
def test_each_case_ends_as_it_says(path: Path, name: str) -> None:
    result = Cases(path).run(name)
    assert not result.faults, failure_text(path, result)


def test_each_flow_has_cases_and_each_stack_its_page() -> None:
    flows = {path for path in STACKS.rglob('*.yaml')
             if path.name != 'facts.yaml' and not path.name.endswith('.cases.yaml')}
    assert {Cases(path).flow_path for path in FILES} == flows
    assert set(re.findall(r'config/stacks/(\w+)/README.md', PAGE)) == {
        path.parent.name for path in flows}


@pytest.mark.parametrize('stack', ['nav2', 'ros2_control'])
def test_goals_and_facts_fit_the_message_types(
    stack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip('nav2_msgs')
    files = list((STACKS / stack).glob('*.yaml'))
    assert main(['validate', '--facts', str(STACKS / stack / 'facts.yaml'),
                 *map(str, files)]) == 0, capsys.readouterr().err
