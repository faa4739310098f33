# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The Dockerfile names files and packages that are there; no image is built here."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

ROOT = Path(__file__).parents[3]


def instructions() -> list[tuple[str, str]]:
    """Return the instructions with their arguments; continued lines are joined."""
    text = re.sub(r'^#.*\n', '', (ROOT / 'Dockerfile').read_text('utf-8'), flags=re.M)
    lines = re.sub(r'\\\n\s*', '', text).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(' ') for line in lines if line)]


def ignored(path: str) -> bool:
    patterns = [line for line in (ROOT / '.dockerignore').read_text('utf-8').splitlines()
                if line and not line.startswith('#')]
    parts = path.rstrip('/').split('/')
    return any(fnmatch.fnmatch('/'.join(parts[:depth + 1]), pattern)
               for depth in range(len(parts)) for pattern in patterns)


def copies() -> dict[str, str]:
    """Return each source of COPY with its target below the workspace."""
    return {source: target for name, rest in instructions() if name == 'COPY'
            for source, target in [rest.split()]}


def test_what_it_copies_is_there_and_not_ignored() -> None:
    for source in copies():
        assert (ROOT / source).exists(), source
        assert source == '.' or not ignored(source), source
    for kept in ('setup.py', 'config/facts/cell.yaml', 'action_lifecycle_msgs/package.xml'):
        assert not ignored(kept)
    for left in ('.ros/venv/bin', '.git/HEAD', 'build/x', 'install/x', 'log/x'):
        assert ignored(left), left


def test_the_folders_of_packages_are_those_of_the_copies() -> None:
    (install,) = (rest for name, rest in instructions() if 'rosdep install' in rest)
    words = shlex.split(install)
    start = words.index('--from-paths') + 1
    named = set(words[start:words.index('--ignore-src')])
    found = {target.rstrip('/') for source, target in copies().items()
             if source.endswith('package.xml')}
    assert named == found
    (build,) = (rest for name, rest in instructions() if 'colcon build' in rest)
    assert '--base-paths src src/action_lifecycle/action_lifecycle_msgs' in build
    for source in copies():
        if source.endswith('package.xml'):
            package = ElementTree.parse(ROOT / source).getroot()
            assert package.findtext('name') == copies()[source].rstrip('/').rpartition('/')[2]


def test_what_it_runs_is_there() -> None:
    (command,) = (rest for name, rest in instructions() if name == 'CMD')
    program, verb, package, file = re.findall(r'"([^"]+)"', command)
    assert (program, verb, package) == ('ros2', 'launch', 'action_lifecycle')
    assert (ROOT / 'launch' / file).is_file()
    entry = ROOT / 'docker/entrypoint.sh'
    assert os.access(entry, os.X_OK)
    assert copies()['docker/entrypoint.sh'] == '/entrypoint.sh'
    subprocess.run(['bash', '-n', entry], check=True)
    distro = dict(instructions())['FROM'].partition(':')[2]
    assert f'/opt/ros/{distro}/setup.bash' in entry.read_text('utf-8')


@pytest.mark.skipif(not shutil.which('hadolint'), reason='there is no hadolint here')
def test_hadolint_finds_nothing() -> None:
    subprocess.run(['hadolint', ROOT / 'Dockerfile'], check=True)
