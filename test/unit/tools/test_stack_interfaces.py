# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The table of upstream's interfaces: it is complete, and differences from checkouts are named."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess
import sys

from action_lifecycle.documents.errors import DocumentError
from interface_table import definition, read_table, TABLE, used_types
from interface_workspace import write
import pytest

sources = pytest.importorskip('interface_sources')  # where the parser of ROS is

TOOL = Path(__file__).parents[3] / 'tools' / 'stack_interfaces'


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    """Return a folder that has all types of the table, as upstream's files would have them."""
    write(read_table(), tmp_path)
    return tmp_path / 'src'


def compare(checkouts: Path, *arguments: object) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, TOOL, *map(str, arguments[:2]), 'compare', checkouts,
                           *arguments[2:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60)
    return done.returncode, done.stdout.splitlines()


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding='utf-8')
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding='utf-8')


def test_the_table_has_every_type_that_the_stacks_use() -> None:
    assert not list(sources.unlisted(read_table(), used_types()))


def test_what_is_written_is_what_the_table_says(checkouts: Path) -> None:
    assert not list(sources.differences(read_table(), sources.Checkouts(checkouts)))


def test_a_type_that_is_used_or_contained_and_not_in_the_table_is_named(tmp_path: Path) -> None:
    stack = tmp_path / 'facts.yaml'
    stack.write_text('type: ur_msgs/msg/ToolDataMsg\n', encoding='utf-8')
    table = read_table()
    del table['franka_msgs'].types['msg/Errors']
    assert list(sources.unlisted(table, used_types(tmp_path))) == [
        f'ur_msgs/msg/ToolDataMsg: not in the table; {stack} uses it',
        *['franka_msgs/msg/Errors: not in the table; franka_msgs/msg/FrankaRobotState contains it']
        * 2]


def test_each_difference_is_named(checkouts: Path) -> None:
    change(checkouts / 'franka_msgs/action/Grasp.action', 'float64 force', 'float32 force')
    change(checkouts / 'franka_msgs/msg/GraspEpsilon.msg', 'inner 0.005', 'inner 0.01')
    change(checkouts / 'irobot_create_msgs/msg/HazardDetection.msg', 'STALL=3', 'STALL=13')
    change(checkouts / 'irobot_create_msgs/msg/DockStatus.msg',
           'bool dock_visible\nbool is_docked\n', 'bool is_docked\nbool dock_visible\n')
    change(checkouts / 'ur_msgs/srv/SetIO.srv', 'bool success', 'bool ok')
    (checkouts / 'irobot_create_msgs/action/Dock.action').unlink()
    shutil.rmtree(checkouts / 'octomap_msgs')
    code, lines = compare(checkouts)
    assert code == 1
    assert lines == [
        "franka_msgs/action/Grasp, part 1: 'force' is float64, upstream it is float32",
        "franka_msgs/msg/GraspEpsilon: 'inner' is float64 0.005, upstream it is float64 0.01",
        'irobot_create_msgs/action/Dock: upstream has no such file',
        'irobot_create_msgs/msg/DockStatus: the order is header, dock_visible, is_docked; '
        'upstream it is header, is_docked, dock_visible',
        "irobot_create_msgs/msg/HazardDetection: 'STALL' is uint8=3, upstream it is uint8=13",
        f'octomap_msgs: not below {checkouts}; expected a checkout of '
        'https://github.com/OctoMap/octomap_msgs, branch ros2',
        "ur_msgs/srv/SetIO, part 2: 'success' (bool) is not upstream",
        "ur_msgs/srv/SetIO, part 2: 'ok' (bool) is missing",
    ]


def test_the_table_is_updated(checkouts: Path, tmp_path: Path) -> None:
    table = tmp_path / 'upstream.yaml'
    shutil.copy(TABLE, table)
    change(checkouts / 'franka_msgs/action/Move.action', 'float64 speed', 'float32 speed')
    assert compare(checkouts, '--table', table, '--update') == (0, [f'{table}: written'])
    part = read_table(table)['franka_msgs'].types['action/Move'][0]
    assert part == {'width': 'float64', 'speed': 'float32'}
    assert compare(checkouts, '--table', table)[0] == 0
    assert table.read_text(encoding='utf-8').startswith('# The types of config/stacks')


def test_a_type_that_the_checkouts_lack_is_an_error(checkouts: Path, tmp_path: Path) -> None:
    table = tmp_path / 'upstream.yaml'
    shutil.copy(TABLE, table)
    (checkouts / 'ur_msgs/msg/Digital.msg').unlink()
    code, lines = compare(checkouts, '--table', table, '--update')
    assert (code, lines) == (2, [
        f'tools/stack_interfaces: {checkouts}: no ur_msgs/msg/Digital; check out '
        'https://github.com/ros-industrial/ur_msgs, branch foxy-devel'])
    assert table.read_bytes() == TABLE.read_bytes()


def test_a_broken_file_of_upstream_is_named(checkouts: Path) -> None:
    file = checkouts / 'ur_msgs/msg/Digital.msg'
    file.write_text('uint8 9pin\n', encoding='utf-8')
    code, lines = compare(checkouts)
    assert code == 2
    assert lines[0].startswith(f'tools/stack_interfaces: {file}: ')


@pytest.mark.parametrize(('key', 'parts', 'expected'), [
    ('action/Dock', '[{}, {}]', "type 'action/Dock': expected 3 parts, got 2"),
    ('Dock', '[{}]', "type 'Dock': expected msg/NAME, srv/NAME or action/NAME"),
    ('msg/Dock', '[{a: [1]}]', 'expected'),
])
def test_a_fault_of_the_table_has_its_place(
    tmp_path: Path, key: str, parts: str, expected: str
) -> None:
    table = tmp_path / 'upstream.yaml'
    table.write_text(f'a_msgs:\n  repository: r\n  branch: b\n  types:\n    {key}: {parts}\n',
                     encoding='utf-8')
    with pytest.raises(DocumentError, match=rf'upstream.yaml:5:\d+: .*{expected}'):
        read_table(table)


def test_the_definition_of_an_action() -> None:
    assert definition([{'A': 'uint8=1', 'name': 'string<=5 "x"'}, {}, {'q': 'float64[7]'}]) == (
        'uint8 A=1\nstring<=5 name "x"\n---\n---\nfloat64[7] q\n')
