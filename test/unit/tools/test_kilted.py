# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What tools/kilted does before it runs tests on Kilted, and what it says if it cannot."""

from __future__ import annotations

import os
from pathlib import Path
import re
import runpy
import shutil
import subprocess
import sys
from typing import Any

from private_jazzy import JAZZY, ROOT
import pytest
from ros_env import MARKER
import wheel_exports

TOOL = ROOT / 'tools/kilted'
REQUIREMENTS = ROOT / 'tools/requirements-kilted.txt'
PRIVATE = pytest.mark.skipif(MARKER not in os.environ, reason='another ROS is sourced')


def tool() -> dict[str, Any]:
    return runpy.run_path(str(TOOL))


def pins(name: str) -> dict[str, str]:
    text = (ROOT / f'tools/requirements-{name}.txt').read_text(encoding='utf-8')
    return dict(re.findall(r'^([a-z0-9-]+)==(\S+)$', text, re.MULTILINE))


def test_requirements_are_pinned_to_one_version_and_sorted() -> None:
    for block in REQUIREMENTS.read_text(encoding='utf-8').split('\n\n'):
        lines = [line for line in block.splitlines() if line and not line.startswith('#')]
        assert all(re.fullmatch(r'[a-z0-9-]+==[0-9][0-9a-z.]*', line) for line in lines), lines
        names = [line.partition('==')[0] for line in lines]
        assert names == sorted(set(names))


def test_what_is_not_of_ros_has_the_version_that_the_private_jazzy_has() -> None:
    jazzy = {**pins('dev'), **pins('demo'), **pins('ros')}
    assert {name: version for name, version in pins('kilted').items()
            if not name.startswith('ros-') and jazzy.get(name) != version} == {}


def test_the_tests_that_it_runs_are_there() -> None:
    assert [test for test in tool()['TESTS'] if not (ROOT / test).is_file()] == []


@pytest.mark.parametrize('option', ['-h', '--help'])
def test_it_says_how_to_call_it(option: str) -> None:
    done = subprocess.run([sys.executable, TOOL, option], text=True, capture_output=True,
                          timeout=60)
    assert done.returncode == 0 and 'usage: tools/kilted [PYTEST ARGUMENT…]' in done.stdout


def test_if_ros_is_sourced_it_builds_nothing() -> None:
    environment = {name: value for name, value in os.environ.items() if name != MARKER}
    done = subprocess.run(
        [sys.executable, TOOL], text=True, capture_output=True, timeout=60,
        env={**environment, 'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': '/opt/ros/jazzy'})
    assert (done.returncode, done.stdout, done.stderr) == (
        0, '', '== ROS is sourced: its own version is the one to test with\n')


@PRIVATE
def test_it_says_what_cannot_be_installed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / 'tools', tmp_path / 'tools',
                    ignore=shutil.ignore_patterns('__pycache__'))
    done = subprocess.run(
        [sys.executable, tmp_path / 'tools/kilted'], text=True, capture_output=True, timeout=100,
        env={**os.environ, 'PIP_CONFIG_FILE': os.devnull, 'PIP_NO_INDEX': '1',
             'PIP_FIND_LINKS': str(tmp_path)})
    assert done.returncode == 1
    first, failed, said = done.stderr.splitlines()
    assert first == '== install ROS 2 Kilted in .ros/kilted …' and 'FAILED after' in failed
    log = tmp_path / '.ros/log/kilted.log'
    assert said.startswith('tools/kilted: an installation step failed: No matching distribution')
    assert said.endswith(f'(all that it printed: {log})') and log.is_file()


@PRIVATE
def test_nothing_of_the_private_jazzy_is_on_the_paths_of_kilted() -> None:
    environment: dict[str, str] = tool()['kilted'](os.environ)
    paths = [entry for name in ('PATH', 'LD_LIBRARY_PATH', 'PYTHONPATH', 'AMENT_PREFIX_PATH',
                                'CMAKE_PREFIX_PATH')
             for entry in environment.get(name, '').split(os.pathsep)]
    ours = {entry for entry in paths if entry.startswith(str(ROOT))}
    kilted = str(ROOT / '.ros/kilted')
    assert {entry for entry in ours if not entry.startswith(kilted)} == set()
    assert f'{kilted}/bin' == environment['PATH'].split(os.pathsep)[0]
    assert environment['ROS_DISTRO'] == 'kilted' and MARKER not in environment


@PRIVATE
def test_missing_interfaces_are_defined_as_in_the_private_jazzy() -> None:
    from interface_sources import Checkouts
    from interface_table import definition
    from kilted_interfaces import all_types, defined, PACKAGES
    checkouts = Checkouts(JAZZY / 'share')
    table = defined(checkouts)
    assert tuple(table) == PACKAGES
    assert {f'{name}/{key}' for name, package in table.items() for key in package.types} \
        == all_types(checkouts.packages).keys()
    assert definition(table['tf2_msgs'].types['msg/TFMessage']) \
        == 'geometry_msgs/TransformStamped[] transforms\n'
    for name, package in table.items():
        text = (JAZZY / 'share' / name / 'package.xml').read_text(encoding='utf-8')
        assert f'<version>{package.commit}</version>' in text


def test_cmake_files_of_wheels_are_pointed_at_the_python_that_has_them(tmp_path: Path) -> None:
    (tmp_path / 'bin').mkdir()
    python = tmp_path / 'bin/python'
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    exports = tmp_path / 'share/some_msgs/cmake/export.cmake'
    exports.parent.mkdir(parents=True)
    place = '/opt/python/cp312-cp312'
    exports.write_text(
        f'set(includes "{place}/include/python3.12;{place}/lib/python3.12/site-packages/numpy/'
        '_core/include;${prefix}/include")')
    wheel_exports.point_at_python(tmp_path)
    found = exports.read_text()
    assert '/opt/python' not in found and found.endswith(';${prefix}/include")')
    headers, numpy, _ = found.partition('"')[2].split(';')
    assert (Path(headers) / 'Python.h').is_file()
    assert (Path(numpy) / 'numpy/arrayobject.h').is_file()
