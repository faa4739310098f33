# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""tools/with-ros2cli names what its sources lack, and runs the command with what it installed."""

from __future__ import annotations

from importlib import metadata
import os
from pathlib import Path
import shutil
import subprocess
import sys

from private_jazzy import ROOT
import pytest
from ros_env import MARKER

OF_ROS2CLI = ('ros2action', 'ros2interface', 'ros2lifecycle')
SETUP = """\
from setuptools import setup
setup(name={name!r}, version='1', py_modules=[{name!r}],
      data_files=[('share/ament_index/resource_index/packages', ['resource/{name}'])])
"""

if MARKER not in os.environ:
    pytest.skip('another ROS is sourced, which has these commands', allow_module_level=True)


class Checkout:
    """A copy of the tools, which installs in its own .ros, and a folder of sources."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sources = root / 'sources'
        self.sources.mkdir()
        shutil.copytree(ROOT / 'tools', root / 'tools',
                        ignore=shutil.ignore_patterns('__pycache__'))

    def add(self, folder: str, *, like: str, version: str = '') -> Path:
        """Add the sources of a package; doubles, since those of ros2cli are not here."""
        place = self.sources / folder
        (place / 'resource').mkdir(parents=True)
        (place / 'resource' / place.name).touch()
        (place / f'{place.name}.py').write_text('HERE = 1\n')
        (place / 'setup.py').write_text(SETUP.format(name=place.name))
        (place / 'package.xml').write_text(
            f'<package><name>{place.name}</name>'
            f'<version>{version or metadata.version(like)}</version></package>')
        return place

    def add_all(self) -> None:
        self.add('launch_ros/ros2launch', like='launch_ros')
        for name in OF_ROS2CLI:
            self.add(f'ros2cli/{name}', like='ros2cli')

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, self.root / 'tools/with-ros2cli', *arguments],
                              capture_output=True, text=True, timeout=100)

    def error(self) -> str:
        """Run a command that must not run, and return the error."""
        done = self.run(self.sources, 'echo', 'it runs')
        assert (done.returncode, done.stdout) == (1, '')
        (line,) = done.stderr.splitlines()
        return line.removeprefix('tools/with-ros2cli: ')


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_without_a_folder_and_a_command_it_says_how_to_call_it(checkout: Checkout) -> None:
    for arguments in ((), ('sources',), ('--unknown', 'ros2')):
        done = checkout.run(*arguments)
        assert done.returncode == 2 and 'usage: tools/with-ros2cli SOURCES CMD' in done.stderr
    done = checkout.run('--help')
    assert done.returncode == 0 and 'usage: tools/with-ros2cli SOURCES CMD' in done.stdout


def test_it_names_each_package_that_is_missing_and_its_repository(checkout: Checkout) -> None:
    checkout.add('ros2action', like='ros2cli')
    assert checkout.error() == (
        f'{checkout.sources} lacks ros2launch (of the repository ros2/launch_ros, branch jazzy), '
        'ros2interface (of the repository ros2/ros2cli, branch jazzy), '
        'ros2lifecycle (of the repository ros2/ros2cli, branch jazzy)')
    checkout.sources.rename(checkout.sources.with_name('away'))
    assert checkout.error().startswith(f'{checkout.sources}: expected a folder with the sources')


def test_it_refuses_the_sources_of_another_release(checkout: Checkout) -> None:
    place = checkout.add('ros2cli/ros2action', like='ros2cli', version='0.99.1')
    assert checkout.error() == (
        f'{place}/package.xml: version 0.99.1 does not fit ros2cli '
        f"{metadata.version('ros2cli')}: check out the branch jazzy of ros2/ros2cli")


def test_it_refuses_what_is_there_twice_or_cannot_be_read(checkout: Checkout) -> None:
    one = checkout.add('a/ros2action', like='ros2cli')
    two = checkout.add('b/ros2action', like='ros2cli')
    assert checkout.error() == f'{checkout.sources} has ros2action twice: {one} and {two}'
    (one / 'package.xml').write_text('<package>')
    assert checkout.error().startswith(f'{one}/package.xml: cannot be read: no element found')
    shutil.rmtree(one)
    (two / 'setup.py').unlink()
    assert checkout.error() == f'{two}: expected a setup.py beside package.xml'


def test_it_installs_once_and_runs_the_command_with_them(checkout: Checkout) -> None:
    checkout.add_all()
    before = sorted(checkout.sources.rglob('*'))
    code = ('import sys, ros2launch, ros2action, ros2interface, ros2lifecycle\n'
            'from ament_index_python import get_package_prefix\n'
            'print(get_package_prefix("ros2launch"), *sys.argv[1:]); sys.exit(7)')
    command = ('python3', '-c', code, '--help', 'name:=value')
    done = checkout.run(checkout.sources, *command)
    assert done.returncode == 7, done.stderr
    assert done.stdout == f'{checkout.root}/.ros/ros2cli --help name:=value\n'
    assert '== install ros2launch, ros2action, ros2interface, ros2lifecycle' in done.stderr
    assert sorted(checkout.sources.rglob('*')) == before  # nothing is built in the sources
    again = checkout.run(checkout.sources, *command)
    assert (again.returncode, again.stderr) == (7, '')
    absent = checkout.run(checkout.sources, 'no-such-command')
    assert (absent.returncode, absent.stderr) == (
        127, 'tools/with-ros2cli: cannot run no-such-command: No such file or directory\n')
    (checkout.sources / 'launch_ros/ros2launch/setup.py').write_text('raise SystemExit("no")')
    broken = checkout.run(checkout.sources, *command)
    assert broken.returncode == 1 and 'an installation step failed' in broken.stderr
    assert f'{checkout.root}/.ros/log/ros2cli.log' in broken.stderr
