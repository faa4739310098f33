# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What holds for each verb of the console command: its help, its example, its completion."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import metadata
import os
from pathlib import Path
import re
import shlex
import subprocess
import sys

from action_lifecycle.cli import main
from action_lifecycle.cli.main import build_parser
import pytest


def _verbs(parser: argparse.ArgumentParser, name: str = '') -> Iterator[
        tuple[str, argparse.ArgumentParser]]:
    """Yield each verb that can be given, with its parser."""
    parts = [action for action in parser._actions
             if isinstance(action, argparse._SubParsersAction)]
    for part in parts:
        for verb, below in part.choices.items():
            yield from _verbs(below, f'{name} {verb}'.strip())
    if not parts or parser.get_default('function'):
        yield name, parser


VERBS = dict(_verbs(build_parser()))


def test_the_verbs_are_those_that_people_look_for() -> None:
    assert set(VERBS) == {
        'run', 'watch', 'status', 'cancel', 'edit', 'pause', 'resume', 'skip', 'retry',
        'breakpoint', 'operator', 'respond', 'safety', 'clear-stop', 'reload', 'jobs',
        'operations', 'list', 'history', 'dialogue', 'fleet', 'fleet letters', 'fleet resend',
        'journal verify',
        'journal export', 'ledger rebuild', 'session list', 'session show', 'session send',
        'session run', 'validate', 'graph', 'schema', 'black-box', 'fit', 'report', 'replay',
        'test', 'view', 'new'}


@pytest.mark.parametrize('verb', VERBS)
def test_each_verb_shows_an_example_that_it_takes(verb: str) -> None:
    _, found, examples = VERBS[verb].format_help().partition('example:\n')
    assert found
    for line in examples.strip().splitlines():
        words = shlex.split(re.sub(r' [<>] .*', '', line))
        assert words[0] == 'action_lifecycle' and ' '.join(words[1:]).startswith(verb)
        build_parser().parse_args(words[1:])


@pytest.mark.parametrize('verb', VERBS)
def test_each_argument_has_help(verb: str) -> None:
    assert [action.dest for action in VERBS[verb]._actions if not action.help] == []


@pytest.mark.parametrize('verb', ['list', 'history', 'jobs', 'operations', 'status', 'safety',
                                  'respond', 'dialogue', 'session list', 'session show',
                                  'session send', 'session run', 'fleet', 'fleet letters'])
def test_each_verb_that_prints_a_table_can_print_json(verb: str) -> None:
    assert '--json' in VERBS[verb]._option_string_actions


def test_the_same_argument_means_the_same_in_each_verb() -> None:
    said: dict[str, set[tuple[str | None, object]]] = {}
    for verb, parser in VERBS.items():
        for option in ('--namespace', '--wait', '--actor', '--journal'):
            action = parser._option_string_actions.get(option)
            if action is not None and (verb, option) != ('replay', '--journal'):  # asks no nodes
                said.setdefault(option, set()).add((action.help, action.default))
    assert {option: len(meanings) for option, meanings in said.items()} == dict.fromkeys(said, 1)


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    package = (Path(__file__).parents[3] / 'package.xml').read_text(encoding='utf-8')
    found = re.search('<version>(.*)</version>', package)
    with pytest.raises(SystemExit) as ended:
        main(['--version'])
    assert ended.value.code == 0 and found is not None
    try:
        metadata.version('action_lifecycle')
    except metadata.PackageNotFoundError:
        pytest.skip('the package is not installed here')
    assert capsys.readouterr().out == f'action_lifecycle {found[1]}\n'


@pytest.mark.parametrize('wait', ['-1', 'nan', 'inf', 'long'])
def test_a_time_that_nobody_can_wait_is_bad_input(
    wait: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(['status', '--wait', wait])
    assert ended.value.code == 2
    assert f"--wait: '{wait}': expected seconds" in capsys.readouterr().err


@pytest.mark.parametrize(('line', 'expected'), [
    ('action_lifecycle cl', ['clear-stop ']), ('action_lifecycle journal v', ['verify ']),
    ('action_lifecycle list --state exec', ['executing_motion '])])
def test_the_shell_completes_verbs_and_values(
    line: str, expected: list[str], tmp_path: Path
) -> None:
    pytest.importorskip('argcomplete')
    told = tmp_path / 'told'
    environment = {
        **os.environ, '_ARGCOMPLETE': '1', '_ARGCOMPLETE_IFS': '\n', 'COMP_LINE': line,
        'COMP_POINT': str(len(line)), '_ARGCOMPLETE_STDOUT_FILENAME': str(told)}
    subprocess.run([sys.executable, '-c', 'from action_lifecycle.cli import main; main()'],
                   env=environment, timeout=60.0, check=True)
    assert told.read_text().split('\n') == expected
