# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The launches that the pages and the arguments' own help name: each comes up, and ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import signal
from typing import Any, NamedTuple

from launch import LaunchContext
from launch.launch_description_sources import AnyLaunchDescriptionSource
from lifecycle_msgs.msg import State
from node.launched import NODES, Robot
from node.system import SHARE
import pytest
from unit.docs.pages import PAGES, ROOT

FILE = re.compile(r'\b(\w+\.launch\.(?:py|xml|yaml))((?:\s+\w+:=[^\s`]*)*)')
ONE = re.compile(r'`(\w+):=(\w+)`')
OPTIONAL = ('agent', 'language_model', 'markers', 'vda5050', 'web')
NOT_RUN = ('gazebo.launch.py', 'gz_sim.launch.py')  # docs/gazebo.md
PARAMETERS = f"""\
/**/vda5050:
  ros__parameters:
    broker_url: mqtt://127.0.0.1:9
    mapping_file: {SHARE / 'config' / 'vda5050' / 'nav2.yaml'}
"""


class Case(NamedTuple):
    """A launch file and its arguments."""

    file: str
    arguments: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ' '.join([self.file, *(f'{name}:={value}' for name, value in self.arguments)])


def case(file: str, **arguments: str) -> Case:
    return Case(file, tuple(arguments.items()))


def arguments_of(file: str) -> dict[str, Any]:
    described = AnyLaunchDescriptionSource(
        str(SHARE / 'launch' / file)).get_launch_description(LaunchContext())
    return {argument.name: argument for argument in described.get_launch_arguments()}


def of_pages() -> Iterator[Case]:
    """Yield what the pages name: commands, and single arguments."""
    known = arguments_of('bringup.launch.py')
    for page in [*PAGES, *ROOT.glob('config/stacks/*/README.md')]:
        text = page.read_text(encoding='utf-8').replace('\\\n', ' ')
        for file, values in FILE.findall(text):
            if file not in NOT_RUN:
                given = dict(value.split(':=', 1) for value in values.split())
                given.pop('facts_file', None)  # every launch has one
                if 'journal_path' in given:
                    given['journal_path'] = Path(given['journal_path']).name
                yield case(file, **given)
        for name, value in ONE.findall(text):
            if name in known:
                yield case('bringup.launch.py', **{name: value})


def of_help() -> Iterator[Case]:
    """Yield each choice that is no default, and each optional node in both forms."""
    for name, argument in arguments_of('bringup.launch.py').items():
        default = ''.join(part.perform(LaunchContext()) for part in argument.default_value) \
            if argument.choices else ''
        for choice in argument.choices or ():
            if choice not in (default, 'false' if default == '' else ''):
                yield case('bringup.launch.py', **{name: choice}, journal_path='one.journal')
    for name in OPTIONAL:
        yield case('bringup.launch.py', **{name: 'true'}, compose='false',
                   journal_path='one.journal')


def everything(compose: str) -> Case:
    return case(
        'bringup.launch.py', compose=compose, namespace='robot7', journal_path='one.journal',
        stop_file='other.stop', trace_file='other.traces', black_box_folder='boxes',
        use_respawn='true', web_host='127.0.0.1', web_token_file='token',
        fixed_frame='base_link', ledger_url='redis://127.0.0.1:9/0',
        **dict.fromkeys(OPTIONAL, 'true'))


EVERYTHING = [everything('true'), everything('false')]
CASES = [one for one in dict.fromkeys([*EVERYTHING[1:], *of_help(), *of_pages()])
         if one not in EVERYTHING[:1]]


@pytest.fixture(scope='module')
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Robot]:
    folder = tmp_path_factory.mktemp('documented')
    robot = Robot(folder)
    robot.environment.update(
        HOME=str(folder), ROS_HOME=str(folder / '.ros'), OPENAI_MODEL='none',
        OPENAI_BASE_URL='http://127.0.0.1:9/v1')
    (folder / 'token').write_text('0123456789abcdef0123456789abcdef', encoding='utf-8')
    (folder / 'token').chmod(0o600)
    (folder / 'parameters.yaml').write_text(PARAMETERS, encoding='utf-8')
    try:
        yield robot
    finally:
        robot.close()


def come_up_and_end(robot: Robot, one: Case) -> None:
    """Launch it, ask each node for its state, and end it as Ctrl-C does."""
    folder = robot.folder / f'launch{len(robot.launches)}'
    folder.mkdir()
    given = dict(one.arguments)
    arguments = {'params_file': str(robot.folder / 'parameters.yaml'),
                 'web_port': '0',  # others on this machine may have the default
                 **given, 'journal_path': str(folder / given['journal_path'])
                 if 'journal_path' in given else ''}
    if one.file == 'demo.launch.py' and not arguments['journal_path']:
        arguments['journal_path'] = str(folder / 'demo.journal')  # not in /tmp
    launch = robot.launch(one.file, **arguments)
    space = '/' + arguments.get('namespace', '').strip('/')
    if one.file in ('sim.launch.py', 'demo.launch.py'):
        robot.until(lambda: {('cell', space), ('estop', space)} <= set(
            robot.node.get_node_names_and_namespaces()), 60.0, 'the cell')
    if one.file != 'sim.launch.py':
        state = State.PRIMARY_STATE_ACTIVE if arguments.get('autostart') != 'false' \
            else State.PRIMARY_STATE_UNCONFIGURED
        for name in (*NODES, *(name for name in OPTIONAL if arguments.get(name) == 'true')):
            robot.until_state_of(f'{space.rstrip("/")}/{name}', state)
    assert launch.end() == 128 + signal.SIGINT, launch.text
    died = re.findall(r'\[(\w+)-\d+\]: process has died', launch.text)
    assert set(died) <= {'run'}, launch.text  # the flow was canceled
    assert launch.started()
    for pid in launch.started():
        assert not Path(f'/proc/{pid}').exists(), launch.text


def test_all_optional_nodes_and_files_at_once_in_one_process(robot: Robot) -> None:
    come_up_and_end(robot, EVERYTHING[0])
    files = {path.name for path in (robot.folder / 'launch0').iterdir()}
    assert {'one.journal', 'one.agent.journal'} <= files


def test_each_file_and_argument_of_the_page_of_launch_files_is_among_the_cases() -> None:
    page = (ROOT / 'docs' / 'launch.md').read_text(encoding='utf-8')
    assert {file for file, _ in FILE.findall(page)} - set(NOT_RUN) <= {one.file for one in CASES}
    assert case('bringup.launch.py', agent='true', journal_path='one.journal') in CASES
    named = {name for one in [*CASES, *EVERYTHING] for name, _ in one.arguments}
    given = {'params_file', 'facts_file', 'web_port'}  # by every case
    assert set(arguments_of('bringup.launch.py')) - given <= named


@pytest.mark.long
@pytest.mark.xdist_group('documented')
@pytest.mark.parametrize('one', CASES, ids=str)
def test_a_documented_launch_comes_up_and_ends(robot: Robot, one: Case) -> None:
    come_up_and_end(robot, one)
