# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The stacks fit the message types of upstream, which are built from test/interfaces."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[2]
STACKS = ROOT / 'config' / 'stacks'
NAMES = sorted(path.name for path in STACKS.iterdir())
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group('stack_types'),  # the workspace is built once
    pytest.mark.skipif(not shutil.which('colcon'), reason='there is no colcon here'),
]

HAZARDS = """
from action_lifecycle.world import load_facts, WorldModel
from irobot_create_msgs.msg import HazardDetection, HazardDetectionVector
model = WorldModel(load_facts('config/stacks/turtlebot4/facts.yaml'))
for kinds in [], [HazardDetection.BUMP], [HazardDetection.CLIFF, HazardDetection.WHEEL_DROP], \\
        [HazardDetection.STALL]:
    detections = [HazardDetection(type=kind) for kind in kinds]
    model.ingest('hazard_detection', HazardDetectionVector(detections=detections), 1.0)
    print(kinds, *(bool(model.value(name, 1.1).value) for name in ('dropped', 'stuck')))
"""


@pytest.fixture(scope='module')
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workspace where the types of the table are built."""
    folder = tmp_path_factory.mktemp('interfaces')
    done = subprocess.run([sys.executable, ROOT / 'tools' / 'stack_interfaces', 'build', folder],
                          env=outside_pytest(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=800)
    assert done.returncode == 0, done.stdout
    return folder


def outside_pytest() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith('PYTEST')}


def overlaid(workspace: Path, *command: object) -> tuple[int, str]:
    """Run a command in the shell where the workspace is overlaid."""
    done = subprocess.run(
        ['sh', '-c', '. "$0"/install/local_setup.sh && exec "$@"', workspace, *map(str, command)],
        cwd=ROOT, env=outside_pytest(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=60)
    return done.returncode, done.stdout


def validate(workspace: Path, stack: Path) -> tuple[int, str]:
    return overlaid(workspace, 'action_lifecycle', 'validate', *sorted(stack.glob('*.yaml')),
                    '--facts', stack / 'facts.yaml')


@pytest.mark.parametrize('stack', NAMES)
def test_goals_requests_and_facts_fit_the_types_of_upstream(workspace: Path, stack: str) -> None:
    code, output = validate(workspace, STACKS / stack)
    assert code == 0, output


@pytest.mark.parametrize(('file', 'old', 'new', 'expected'), [
    ('franka/facts.yaml', 'field: robot_mode', 'field: mode', "no field 'mode'"),
    ('franka/facts.yaml', 'ROBOT_MODE_MOVE', 'MOVE', "never 'MOVE'"),
    ('franka/grasp.yaml', '{inner:', '{inside:', "unknown field 'inside'"),
    ('turtlebot4/facts.yaml', 'detections[*].type', 'detections[*].kind', "no field 'kind'"),
    ('turtlebot4/dock.yaml', 'action/Dock,', 'action/DockServo,', 'is not installed'),
    ('ur/vacuum.yaml', '{fun: 1', '{function: 1', "unknown field 'function'"),
    ('moveit/move_to_joints.yaml', 'weight: 1.0', 'importance: 1.0', "unknown field 'importance'"),
])
def test_what_does_not_fit_is_found(
    workspace: Path, tmp_path: Path, file: str, old: str, new: str, expected: str
) -> None:
    path = tmp_path / file
    shutil.copytree(STACKS / path.parent.name, path.parent)
    text = path.read_text(encoding='utf-8')
    assert old in text
    path.write_text(text.replace(old, new), encoding='utf-8')
    code, output = validate(workspace, path.parent)
    assert code != 0
    assert f'{path}:' in output and expected in output


def test_hazards_are_read_from_messages_of_the_type(workspace: Path) -> None:
    assert overlaid(workspace, sys.executable, '-c', HAZARDS) == (
        0, '[] False False\n[1] False False\n[2, 4] True False\n[3] False True\n')
