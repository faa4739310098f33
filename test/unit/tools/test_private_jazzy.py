# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The private Jazzy is built whole or not at all, and says in one sentence why not."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
import shutil
import subprocess
import sys

import private_jazzy
from private_jazzy import SetupError
import pytest
from python_search import find_python

TOOLS = Path(private_jazzy.__file__).parent
COMPILERS = ('cmake', 'cc', 'gcc', 'c++', 'g++')


class Checkout:
    """A checkout with nothing but the tools, and a PATH with nothing but what it is given."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ros = root / '.ros'
        self.bin = root / 'bin'
        self.bin.mkdir()
        shutil.copytree(TOOLS, root / 'tools', ignore=shutil.ignore_patterns('__pycache__'))
        for command in ('sh', 'dirname'):
            self.link(command)
        (self.bin / 'python3').symlink_to(Path(sys.base_prefix) / 'bin/python3')
        # an index where nobody listens, and no settings of the machine
        self.environment = {
            'PATH': str(self.bin), 'HOME': str(root), 'PIP_CONFIG_FILE': os.devnull,
            'PIP_INDEX_URL': 'http://127.0.0.1:9/simple', 'PIP_RETRIES': '1'}

    def link(self, *commands: str) -> None:
        for command in commands:
            (self.bin / command).symlink_to(shutil.which(command) or f'/usr/bin/{command}')

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen([self.root / 'tools/ros-env', 'true'], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def refusal(self) -> str:
        """Run it, to be refused; returns the one sentence."""
        process = self.start()
        _, printed = process.communicate(timeout=100)
        assert process.returncode == 1, printed
        sentences = [line for line in printed.splitlines() if not line.startswith('== ')]
        assert len(sentences) == 1, printed
        return sentences[0].removeprefix('tools/ros-env: ')


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_without_a_compiler_it_says_what_to_install(checkout: Checkout) -> None:
    checkout.link('cmake', 'cc')
    assert checkout.refusal().startswith('no C++ compiler: building the interfaces needs cmake')


def test_without_python_3_12_it_names_the_three_ways(checkout: Checkout) -> None:
    checkout.link(*COMPILERS)
    (checkout.bin / 'python3').unlink()
    older = checkout.bin / 'python3'
    older.write_text(f'#!/bin/sh\n[ "$2" = "${{2#*ensurepip}}" ] || exit 1\n'
                     f'exec {sys.base_prefix}/bin/python3 "$@"\n')
    older.chmod(0o755)
    sentence = checkout.refusal()
    assert sentence.startswith('no Python 3.12 with its headers')
    assert all(way in sentence for way in ('PATH', 'pyenv', 'uv'))


@pytest.mark.skipif(sys.version_info[:2] != (3, 12), reason='looks for the Python that runs it')
@pytest.mark.parametrize('way', ['PATH', 'pyenv', 'uv'])
def test_python_3_12_is_found_each_way(tmp_path: Path, way: str) -> None:
    python = Path(sys.base_prefix) / 'bin/python3'
    if way == 'PATH':
        found = tmp_path / 'python3.12'
    else:
        found = tmp_path / 'versions/3.12.9/bin/python'
        found.parent.mkdir(parents=True)
    found.symlink_to(python)
    if way == 'uv':
        uv = tmp_path / 'uv'
        uv.write_text(f'#!/bin/sh\n[ "$*" = "python install 3.12" ] || echo {found}\n')
        uv.chmod(0o755)
    environment = {'PYENV_ROOT': str(tmp_path if way == 'pyenv' else tmp_path / 'none')}
    assert find_python('3.12', str(tmp_path), environment, headers=True) == str(found)


@pytest.mark.skipif(sys.version_info[:2] != (3, 12), reason='makes a venv of Python 3.12')
def test_without_a_network_it_says_so_and_leaves_nothing_that_counts(checkout: Checkout) -> None:
    checkout.link(*COMPILERS)
    assert checkout.refusal().startswith('no network: pip cannot reach its package index')
    assert not (checkout.ros / 'stamps').exists()
    assert not (checkout.ros / 'tmp').exists()


def test_with_too_little_space_it_starts_nothing(
        checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout.link(*COMPILERS)
    tool = checkout.root / 'tools/private_jazzy.py'
    tool.write_text(tool.read_text().replace("{'venv': 300,", "{'venv': 300_000_000,"))
    sentence = checkout.refusal()
    assert sentence.startswith(f'the disk is full: the private Jazzy in {checkout.ros} needs 3000')
    assert not (checkout.ros / 'venv').exists()


def test_a_second_run_waits_for_the_first(checkout: Checkout) -> None:
    checkout.ros.mkdir()
    with (checkout.ros / 'lock').open('w') as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = checkout.start()
        assert second.stderr
        assert 'another run is setting up .ros' in second.stderr.readline()
        assert second.poll() is None
    second.communicate(timeout=60)
    assert second.returncode == 1  # its turn, and no compiler


def test_a_part_without_its_stamp_or_with_an_old_one_is_built_anew(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_jazzy, 'ROS', tmp_path)
    monkeypatch.setattr(private_jazzy, 'VENV', tmp_path / 'venv')
    monkeypatch.setattr(private_jazzy, 'JAZZY', tmp_path / 'jazzy')
    (tmp_path / 'venv/bin').mkdir(parents=True)
    (tmp_path / 'venv/bin/python').touch()
    (tmp_path / 'jazzy/rclpy/rclpy').mkdir(parents=True)
    assert private_jazzy._missing(['venv', 'jazzy']) == ['venv', 'jazzy']
    private_jazzy._stamp('venv')
    private_jazzy._stamp('jazzy')
    assert private_jazzy._missing(['venv', 'jazzy']) == []
    (tmp_path / 'venv/bin/python').unlink()
    assert private_jazzy._missing(['venv', 'jazzy']) == ['venv']
    (tmp_path / 'stamps/jazzy').write_text('of other pins')
    assert private_jazzy._missing(['venv', 'jazzy']) == ['venv', 'jazzy']


@pytest.mark.parametrize(('machine', 'named'), [
    (('Darwin', 'arm64', ('', '')), 'Darwin arm64'),
    (('Linux', 'aarch64', ('glibc', '2.39')), 'Linux aarch64 glibc 2.39'),
    (('Linux', 'x86_64', ('glibc', '2.31')), 'Linux x86_64 glibc 2.31'),
])
def test_a_machine_without_wheels_is_refused(
        machine: tuple[str, str, tuple[str, str]], named: str) -> None:
    with pytest.raises(SetupError, match=f'and this is {named}: install ROS 2 Jazzy'):
        private_jazzy.check_machine(*machine)


def test_a_machine_with_wheels_is_taken() -> None:
    private_jazzy.check_machine('Linux', 'x86_64', ('glibc', '2.36'))


@pytest.mark.parametrize(('printed', 'sentence'), [
    ('OSError: [Errno 28] No space left on device', 'the disk is full'),
    ("WARNING: Retrying after connection broken by 'NewConnectionError(...)'\n"
     'ERROR: No matching distribution found for lark', 'no network'),
    ('WARNING: a\nERROR: No matching distribution found for lark==9\nb',
     'an installation step failed: No matching distribution found for lark==9 (all'),
    ('Error: it broke', 'an installation step failed: it broke (all'),
    ('', 'an installation step failed: it said nothing (all'),
])
def test_what_pip_prints_becomes_one_sentence(printed: str, sentence: str) -> None:
    assert private_jazzy.explain(printed, Path('setup.log')).startswith(sentence)
