# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""`ros2 flow` of the installed ros2cli has the verbs of `action_lifecycle`, and runs them."""

from __future__ import annotations

import argparse
from importlib import metadata
import os
from pathlib import Path
import shutil
import subprocess
import sys

from action_lifecycle.cli.parser import add_verbs, build_parser
import pytest

ROOT = Path(__file__).parents[3]

if not shutil.which('ros2'):
    pytest.skip('there is no ros2 here', allow_module_level=True)
if 'flow' not in {point.name for point in metadata.entry_points(group='ros2cli.command')}:
    pytest.skip('the package is not installed here', allow_module_level=True)


def ros2(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(['ros2', *arguments], cwd=ROOT, timeout=60, text=True,
                          env={**os.environ, **environment}, capture_output=True)


def verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (action,) = (action for action in parser._actions
                 if isinstance(action, argparse._SubParsersAction))
    return dict(action.choices)


def test_ros2_lists_the_command() -> None:
    (line,) = (line for line in ros2('--help').stdout.splitlines() if line.startswith('  flow '))
    assert line.split(maxsplit=1)[1] == (
        'Verified, journaled robot actions: run flows, check them, show what happened')


def test_its_help_is_that_of_the_command_under_another_name() -> None:
    parser = argparse.ArgumentParser(
        prog='ros2 flow', formatter_class=argparse.RawDescriptionHelpFormatter)
    add_verbs(parser)
    assert verbs(parser).keys() == verbs(build_parser()).keys()
    listed = ros2('flow', '--help', COLUMNS='100')
    assert listed.returncode == 0
    assert '`ros2 flow COMMAND --help` shows' in ' '.join(listed.stdout.split())
    shown = ros2('flow', 'pause', '--help', COLUMNS='100').stdout
    assert '  ros2 flow pause pick-1f2e3d4c --hold\n' in shown
    assert shown.replace('ros2 flow', 'action_lifecycle').split() == (
        verbs(build_parser())['pause'].format_help().split())
    for verb in verbs(build_parser()):
        assert f'\n    {verb}' in listed.stdout


def test_it_ends_with_the_exit_codes_of_the_command(tmp_path: Path) -> None:
    good = ros2('flow', 'validate', 'config/flows/pick_and_place.yaml')
    assert (good.returncode, good.stderr) == (0, '') and ': ok (flow' in good.stdout
    bad = tmp_path / 'bad.yaml'
    bad.write_text('flow: bad\nactions:\n  close: {motoin: {}}\n')
    done = ros2('flow', 'validate', str(bad))
    assert done.returncode == 2 and f'{bad}:3' in done.stderr and 'motoin' in done.stderr
    missing = ros2('flow', 'journal', 'verify', str(tmp_path / 'none'))
    ours = subprocess.run(
        [sys.executable, '-c', 'import sys; from action_lifecycle.cli import main; '
         'sys.exit(main())', 'journal', 'verify', str(tmp_path / 'none')],
        cwd=ROOT, timeout=60, text=True, capture_output=True)
    assert (missing.returncode, missing.stderr) == (ours.returncode, ours.stderr)
    assert ros2('flow', 'no-such-verb').returncode == 2


@pytest.mark.parametrize(('line', 'expected'), [
    ('ros2 fl', ['flow ']), ('ros2 flow cl', ['clear-stop ']),
    ('ros2 flow journal v', ['verify ']), ('ros2 flow list --state exec', ['executing_motion '])])
def test_the_shell_completes_verbs_and_values(
    line: str, expected: list[str], tmp_path: Path
) -> None:
    pytest.importorskip('argcomplete')
    told = tmp_path / 'told'
    done = ros2(_ARGCOMPLETE='1', _ARGCOMPLETE_IFS='\n', COMP_LINE=line,
                COMP_POINT=str(len(line)), _ARGCOMPLETE_STDOUT_FILENAME=str(told))
    assert done.returncode == 0, done.stderr
    assert told.read_text().split('\n') == expected


def test_the_command_needs_no_ros2cli() -> None:
    code = ("import sys; sys.modules['ros2cli'] = None\n"
            'from action_lifecycle.cli import main; sys.exit(main())')
    done = subprocess.run(
        [sys.executable, '-c', code, 'validate', 'config/flows/pick_and_place.yaml'],
        cwd=ROOT, timeout=60, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
