# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The environment that a command gets, and the sentences when it gets none."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
import subprocess

from private_jazzy import JAZZY, ROOT, SetupError, VENV
import pytest
import ros_env

PLAIN = {'PATH': '/usr/bin:/bin', 'HOME': '/home/someone'}


def test_only_a_sourced_ros_counts_as_sourced() -> None:
    assert not ros_env.is_sourced(PLAIN)
    assert not ros_env.is_sourced({**PLAIN, 'ROS_DISTRO': 'jazzy'})
    assert ros_env.is_sourced({**PLAIN, 'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': '/opt/ros'})


PACKAGE = """\
<package format="3"><name>one</name><version>0.0.0</version><description>x</description>
<maintainer email="a@b.c">a</maintainer><license>Apache-2.0</license>
<export><build_type>ament_python</build_type></export></package>
"""


@pytest.mark.skipif(ros_env.MARKER not in os.environ, reason='another ROS is sourced')
@pytest.mark.parametrize('shell', ['bash', 'sh'])
def test_a_workspace_built_on_the_private_jazzy_is_sourced_in_silence(
        shell: str, workspace: Path) -> None:
    done = subprocess.run(
        [shell, '-c', f'. {workspace}/install/setup.{shell} && echo $COLCON_PREFIX_PATH'],
        capture_output=True, text=True, env=PLAIN, cwd=workspace, check=True)
    assert done.stderr == ''
    assert str(workspace / 'install') in done.stdout


@pytest.fixture(scope='module')
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workspace of one empty package that was built with tools/ros-env."""
    folder = tmp_path_factory.mktemp('workspace')
    (folder / 'src').mkdir()
    (folder / 'src/package.xml').write_text(PACKAGE)
    (folder / 'src/setup.py').write_text(
        "from setuptools import setup\nsetup(name='one', version='0.0.0', packages=[])\n")
    subprocess.run([str(ROOT / 'tools/ros-env'), 'colcon', 'build', '--base-paths', 'src'],
                   cwd=folder, check=True, capture_output=True, timeout=240)
    return folder


def test_setup_files_are_there_for_each_shell_and_keep_what_they_hold(tmp_path: Path) -> None:
    (tmp_path / 'local_setup.sh').write_text('kept')
    ros_env.add_setup_files([tmp_path])
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        'local_setup.sh': 'kept', 'local_setup.bash': '', 'local_setup.zsh': '',
        'local_setup.ps1': ''}


@pytest.mark.parametrize('distro', ['jazzy', 'kilted', 'rolling'])
def test_jazzy_and_newer_are_used_as_they_are(
        distro: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: object())
    ros_env.check_sourced({'ROS_DISTRO': distro})


def test_an_older_ros_is_refused() -> None:
    with pytest.raises(SetupError, match='^ROS 2 Humble is sourced, and this needs Jazzy'):
        ros_env.check_sourced({'ROS_DISTRO': 'humble'})


def test_a_sourced_ros_without_rclpy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    with pytest.raises(SetupError, match='^ROS_DISTRO=jazzy is set, but .* cannot import rclpy'):
        ros_env.check_sourced({'ROS_DISTRO': 'jazzy'})


def test_what_a_sourced_ros_lacks_is_named_by_its_rosdep_key(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, 'find_spec',
                        lambda name: None if name in ('pydantic', 'yaml') else object())
    with pytest.raises(SetupError, match='lacks python3-pydantic, python3-yaml: run .rosdep'):
        ros_env.check_sourced({'ROS_DISTRO': 'jazzy'})


def test_the_private_ros_comes_first_and_stays_on_this_machine() -> None:
    environment = ros_env.private({**PLAIN, 'PYTHONPATH': '/mine', 'PYTHONHOME': '/usr'})
    assert environment['PATH'] == f'{VENV}/bin:/usr/bin:/bin'
    assert environment['PYTHONPATH'] == f'{JAZZY}/rclpy:/mine'
    assert environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    assert environment['ROS_LOG_DIR'].startswith(str(ROOT))
    assert 'PYTHONHOME' not in environment


def test_what_is_set_is_kept() -> None:
    mine = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET', 'ROS_LOG_DIR': '/logs',
            'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp', 'ROS_DOMAIN_ID': '7'}
    environment = ros_env.private({**PLAIN, **mine})
    assert {name: environment[name] for name in mine} == mine


def test_one_environment_inside_another_is_the_same() -> None:
    once = ros_env.overlaid(ros_env.private(PLAIN), ROOT)
    again = ros_env.overlaid(ros_env.private(ros_env.without_private(once)), ROOT)
    assert again == once
    outside = ros_env.without_private(once)
    assert not ros_env.is_sourced(outside)
    assert outside['PATH'] == PLAIN['PATH']


def test_built_packages_are_overlaid(tmp_path: Path) -> None:
    messages, package = (tmp_path / 'install' / name
                         for name in ('action_lifecycle_msgs', 'action_lifecycle'))
    (messages / 'lib/python3.12/site-packages').mkdir(parents=True)
    package.mkdir(parents=True)
    assert ros_env.overlaid(PLAIN, tmp_path / 'empty') == PLAIN
    environment = ros_env.overlaid(PLAIN, tmp_path)
    assert set(environment['AMENT_PREFIX_PATH'].split(os.pathsep)) == {str(messages), str(package)}
    assert environment['PYTHONPATH'] == str(messages / 'lib/python3.12/site-packages')
    assert environment['PATH'].startswith(f'{messages}/lib/action_lifecycle_msgs:')
    assert f'{package}/lib/action_lifecycle:' in environment['PATH']


def test_a_package_built_with_links_is_found_in_its_build_folder(tmp_path: Path) -> None:
    share = tmp_path / 'install/action_lifecycle/share/action_lifecycle'
    share.mkdir(parents=True)
    (share / 'package.dsv').write_text('source;share/action_lifecycle/hook/pythonpath_develop.dsv')
    environment = ros_env.overlaid(PLAIN, tmp_path)
    assert environment['PYTHONPATH'] == str(tmp_path / 'build/action_lifecycle')


def test_an_unknown_command_is_127_and_named(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ros_env.private_jazzy, 'ensure', lambda environment, parts: None)
    assert ros_env.main(['no-such-command']) == 127
    assert 'cannot run no-such-command: No such file' in capsys.readouterr().err


@pytest.mark.parametrize(('options', 'parts'), [
    (['--build'], {'venv', 'jazzy'}), ([], {'venv', 'jazzy', 'demo'}),
    (['--dev'], {'venv', 'jazzy', 'demo', 'dev'})])
def test_no_more_is_set_up_than_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, options: list[str], parts: set[str]
) -> None:
    asked: list[set[str]] = []
    monkeypatch.setattr(ros_env, 'is_sourced', lambda environment: False)
    monkeypatch.setattr(ros_env.private_jazzy, 'ensure',
                        lambda environment, parts: asked.append(set(parts)))
    assert ros_env.main([*options, 'no-such-command']) == 127
    assert asked == [parts]


def test_verbs_that_the_private_ros_has_not_say_what_serves_instead(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ros_env, 'is_sourced', lambda environment: False)
    monkeypatch.setattr(ros_env.private_jazzy, 'ensure', lambda environment, parts: None)
    assert ros_env.main(['ros2', 'launch', 'action_lifecycle', 'demo.launch.py']) == 2
    assert 'tools/launch PACKAGE FILE' in capsys.readouterr().err
    assert ros_env.main(['ros2', 'interface', 'show', 'sensor_msgs/msg/JointState']) == 2
    assert '.ros/jazzy/share/PACKAGE, and install/PACKAGE/share' in capsys.readouterr().err
