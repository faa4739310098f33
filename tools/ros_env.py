# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Run a command in a ROS 2 environment with this workspace overlaid.

usage: tools/ros-env [--build | --dev] [CMD…]

With ROS 2 Jazzy or newer sourced, CMD runs in that and nothing is downloaded. Without, a private
Jazzy is built into .ros/ of this checkout first (some 2 minutes, once), and CMD runs in that, with
ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST and ROS_LOG_DIR=.ros/log unless they are set. What
`colcon build` left in install/ is overlaid in both cases. Without CMD the environment is only
set up. --build sets up no more of the private Jazzy than `colcon build` needs; --dev adds what
checks, tests and benches import. Fast DDS is the default middleware;
RMW_IMPLEMENTATION=rmw_cyclonedds_cpp works too.
"""

from __future__ import annotations

from collections.abc import Iterable
import importlib.util
import os
from pathlib import Path
import sys

import private_jazzy
from private_jazzy import JAZZY, ROOT, ROS, SetupError, VENV
from steps import say

PACKAGES = ('action_lifecycle', 'action_lifecycle_msgs')
MARKER = 'ACTION_LIFECYCLE_PRIVATE_ROS'
SHELLS = ('sh', 'bash', 'zsh', 'ps1')
PATHS = ('PATH', 'LD_LIBRARY_PATH', 'PYTHONPATH', 'AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH')
# rosdep keys by import name, for dependencies that a ROS installation may lack
ROSDEP_KEYS = {'pydantic': 'python3-pydantic', 'yaml': 'python3-yaml', 'numpy': 'python3-numpy',
               'redis': 'python3-redis', 'jinja2': 'python3-jinja2', 'rich': 'python3-rich',
               'jsonschema': 'python3-jsonschema', 'dateutil': 'python3-dateutil'}

OLD_ROS = (
    'ROS 2 {} is sourced, and this needs Jazzy or newer: use a shell where a newer one is '
    'sourced, or none, and a private Jazzy is built')
NO_RCLPY = (
    'ROS_DISTRO={} is set, but {} cannot import rclpy: source the setup.bash of its ROS 2 '
    'with that python3 first on PATH, or unset ROS_DISTRO to have a private Jazzy')
OPTIONS = {'--build': private_jazzy.BUILD, '--dev': tuple(private_jazzy.PARTS)}
INSTEAD = {
    'launch': 'tools/launch PACKAGE FILE [NAME:=VALUE…]',
    'action': 'action_lifecycle run FLOW for a goal; `ros2 node info NODE` for the names; '
              '`ros2 topic echo NAME/_action/status`',
    'lifecycle': 'ros2 service call NODE/get_state lifecycle_msgs/srv/GetState',
    'interface': 'the .msg, .srv and .action files below .ros/jazzy/share/PACKAGE, and '
                 'install/PACKAGE/share/PACKAGE of this workspace',
    'security': 'ROS 2 itself: keys are not made here',
}
"""Verbs of `ros2` that the private Jazzy lacks, with replacements."""
MISSING = ('the ROS 2 {} that is sourced lacks {}: '
           'run `rosdep install --from-paths . --ignore-src` here')


def main(arguments: list[str]) -> int:
    """Set up ROS 2, then replace this process by the command; returns the exit code if not."""
    if arguments[:1] in (['-h'], ['--help']):
        print(__doc__)
        return 0
    parts = OPTIONS.get(arguments[0]) if arguments else None
    arguments = arguments[parts is not None:]
    environment = without_private(os.environ)
    try:
        if is_sourced(environment):
            check_sourced(environment)
        else:
            private_jazzy.ensure(environment, parts or private_jazzy.RUN)
            add_setup_files((VENV, JAZZY))
            environment = private(environment)
    except SetupError as error:
        print(f'tools/ros-env: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('tools/ros-env: interrupted; run it again and what is missing is built',
              file=sys.stderr)
        return 130
    environment = overlaid(environment, ROOT)
    if arguments[:1] == ['ros2'] and MARKER in environment and arguments[1:2]:
        instead = INSTEAD.get(arguments[1])
        if instead:
            print(f'tools/ros-env: the private Jazzy has no `ros2 {arguments[1]}`; instead: '
                  f'{instead}', file=sys.stderr)
            return 2
    if not arguments:
        if parts is None:
            say('ROS 2 {ROS_DISTRO} is ready; tools/ros-env CMD… runs CMD in it'.format(
                **environment))
        return 0
    try:
        os.execvpe(arguments[0], arguments, environment)
    except OSError as error:
        print(f'tools/ros-env: cannot run {arguments[0]}: {error.strerror}', file=sys.stderr)
        return 127


def is_sourced(environment: dict[str, str]) -> bool:
    """Return whether a ROS installation of the machine is sourced."""
    return bool(environment.get('ROS_DISTRO') and environment.get('AMENT_PREFIX_PATH'))


def check_sourced(environment: dict[str, str]) -> None:
    """Raise SetupError if the sourced ROS is too old or lacks a package that is imported."""
    distro = environment['ROS_DISTRO']
    if distro < 'jazzy':  # distributions are named in alphabetical order
        raise SetupError(OLD_ROS.format(distro.capitalize()))
    if not importlib.util.find_spec('rclpy'):
        raise SetupError(NO_RCLPY.format(distro, sys.executable))
    missing = [key for name, key in ROSDEP_KEYS.items() if not importlib.util.find_spec(name)]
    if missing:
        raise SetupError(MISSING.format(distro.capitalize(), ', '.join(missing)))


def without_private(environment: os._Environ[str] | dict[str, str]) -> dict[str, str]:
    """Return the environment without the changes of an enclosing tools/ros-env."""
    result = dict(environment)
    outer = result.pop(MARKER, '')
    if outer:
        for name in PATHS:
            kept = [entry for entry in result.get(name, '').split(os.pathsep)
                    if entry and not entry.startswith(outer + os.sep)]
            result.pop(name, None)
            if kept:
                result[name] = os.pathsep.join(kept)
        for name in ('ROS_DISTRO', 'ROS_VERSION', 'ROS_PYTHON_VERSION', 'VIRTUAL_ENV'):
            result.pop(name, None)
    return result


def add_setup_files(prefixes: Iterable[Path]) -> None:
    """
    Create empty setup files for all shells in each prefix; `private` sets the variables instead.

    The setup files of a workspace that is built on these prefixes source them.
    """
    for prefix in prefixes:
        for shell in SHELLS:
            file = prefix / f'local_setup.{shell}'
            if not file.exists():
                file.touch()


def private(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment with the private Jazzy in front."""
    result = dict(environment)
    result.pop('PYTHONHOME', None)
    result.update({MARKER: str(ROOT), 'VIRTUAL_ENV': str(VENV), 'ROS_DISTRO': 'jazzy',
                   'ROS_VERSION': '2', 'ROS_PYTHON_VERSION': '3'})
    result.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    result.setdefault('CMAKE_GENERATOR', 'Ninja')  # comes with the venv; make may be missing
    result.setdefault('ROS_LOG_DIR', str(ROS / 'log'))
    prepend(result, 'PATH', VENV / 'bin')
    prepend(result, 'LD_LIBRARY_PATH', JAZZY / 'lib')
    prepend(result, 'PYTHONPATH', JAZZY / 'rclpy')
    prepend(result, 'AMENT_PREFIX_PATH', VENV)  # the headers and generators, to build with
    prepend(result, 'AMENT_PREFIX_PATH', JAZZY)
    prepend(result, 'CMAKE_PREFIX_PATH', VENV)
    return result


def overlaid(environment: dict[str, str], root: Path) -> dict[str, str]:
    """Return the environment with the packages that are built in the workspace in front."""
    result = dict(environment)
    for package in PACKAGES:
        prefix = root / 'install' / package
        if not prefix.is_dir():
            continue
        prepend(result, 'AMENT_PREFIX_PATH', prefix)
        prepend(result, 'CMAKE_PREFIX_PATH', prefix)
        prepend(result, 'PATH', prefix / 'lib' / package)
        prepend(result, 'LD_LIBRARY_PATH', prefix / 'lib')
        for folder in sorted(prefix.glob('lib/python3*/site-packages')):
            prepend(result, 'PYTHONPATH', folder)
        description = prefix / 'share' / package / 'package.dsv'
        if description.exists() and 'pythonpath_develop' in description.read_text():
            prepend(result, 'PYTHONPATH', root / 'build' / package)  # --symlink-install
    return result


def prepend(environment: dict[str, str], name: str, path: Path) -> None:
    """Put a path first in a variable that lists paths."""
    entries = [entry for entry in environment.get(name, '').split(os.pathsep)
               if entry and entry != str(path)]
    environment[name] = os.pathsep.join([str(path), *entries])


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
