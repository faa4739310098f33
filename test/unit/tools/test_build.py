# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""tools/build builds when something that matters has changed, and only then."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

TOOLS = Path(__file__).parents[3] / 'tools'


class Workspace:
    """A checkout with a colcon that only counts how often it is called, and may fail."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(TOOLS, root / 'tools', ignore=shutil.ignore_patterns('__pycache__'))
        for name in ('package.xml', 'action_lifecycle/a.py', 'action_lifecycle_msgs/msg/A.msg'):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        self.colcon = root / 'bin/colcon'
        self.colcon.parent.mkdir()
        self.succeed(True)

    def succeed(self, well: bool) -> None:
        self.colcon.write_text('#!/bin/sh\nmkdir -p install\necho x >> calls\n'
                               + ('exit 0\n' if well else 'exit 1\n'))
        self.colcon.chmod(0o755)

    def build(self) -> int:
        """Return how often colcon has been called in all."""
        environment = {**os.environ, 'PATH': f'{self.colcon.parent}:{os.environ["PATH"]}'}
        subprocess.run([sys.executable, self.root / 'tools/build'], env=environment, timeout=60)
        return len((self.root / 'calls').read_text().split())


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_nothing_is_built_twice(workspace: Workspace) -> None:
    assert workspace.build() == 1
    assert workspace.build() == 1


def test_an_edited_module_needs_no_build(workspace: Workspace) -> None:
    workspace.build()
    (workspace.root / 'action_lifecycle/a.py').write_text('x = 1\n')
    assert workspace.build() == 1


@pytest.mark.parametrize('name', ['action_lifecycle/b.py', 'launch/b.launch.py', 'config/b.yaml'])
def test_a_new_file_is_built(workspace: Workspace, name: str) -> None:
    workspace.build()
    (workspace.root / name).parent.mkdir(exist_ok=True)
    (workspace.root / name).touch()
    assert workspace.build() == 2


@pytest.mark.parametrize('name', ['action_lifecycle_msgs/msg/A.msg', 'package.xml'])
def test_an_edited_interface_or_description_is_built(workspace: Workspace, name: str) -> None:
    workspace.build()
    os.utime(workspace.root / name, (1, 1))
    assert workspace.build() == 2


def test_a_failed_build_is_tried_again(workspace: Workspace) -> None:
    workspace.succeed(False)
    workspace.build()
    workspace.succeed(True)
    assert workspace.build() == 2
    assert workspace.build() == 2
