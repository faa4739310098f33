# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The launch files: their arguments, which processes they make of them, and other front ends."""

from __future__ import annotations

from pathlib import Path
import re
from typing import Any

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import ExecuteProcess, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch_ros.actions import Node
import pytest
import yaml

PAGE = Path(__file__).parents[2] / 'docs' / 'launch.md'
LAUNCH = Path(get_package_share_directory('action_lifecycle')) / 'launch'
COMMON = {'namespace', 'autostart', 'params_file', 'journal_path', 'ledger_url', 'use_respawn',
          'log_level', 'compose', 'flow'}
OWN = {'bringup': {'use_sim_time', 'facts_file', 'stop_file', 'trace_file', 'black_box_folder',
                   'language_model', 'agent', 'markers', 'fixed_frame', 'vda5050'},
       'gazebo': {'headless'},
       'demo': {'seed', 'real_time_factor', 'picture_path', 'camera_rate', 'markers'}}


def described(name: str) -> LaunchDescription:
    return AnyLaunchDescriptionSource(str(LAUNCH / name)).get_launch_description(LaunchContext())


def processes(**arguments: str) -> list[Any]:
    """Return the nodes that bringup makes of these arguments."""
    context = LaunchContext()
    found = []
    for entity in described('bringup.launch.py').entities:
        if hasattr(entity, 'default_value'):
            context.launch_configurations[entity.name] = arguments.get(
                entity.name, ''.join(part.perform(context) for part in entity.default_value or ()))
        elif isinstance(entity, OpaqueFunction):
            found += entity.execute(context)
        elif isinstance(entity, ExecuteProcess) and entity.condition.evaluate(context):
            found.append(entity)
    return found


def values(node: Any, name: str = '') -> dict[str, Any]:
    """Return the parameters of a node in bringup's file; by default, of the executable's name."""
    *_, file = node._Node__parameters
    found = yaml.safe_load(Path(file.evaluate(LaunchContext())).read_text(encoding='utf-8'))
    return {node.rpartition('/')[2]: given['ros__parameters']
            for node, given in found.items()}[name or node.node_executable]


@pytest.mark.parametrize('name', OWN)
def test_each_takes_the_arguments_of_navs_bringup_and_describes_them(name: str) -> None:
    arguments = {argument.name: argument for argument in
                 described(f'{name}.launch.py').get_launch_arguments()}
    assert set(arguments) >= COMMON | OWN[name]
    assert all(argument.description for argument in arguments.values())


def test_the_page_has_a_row_for_each_argument_of_the_bringup() -> None:
    rows = re.findall(r'^\| `(\w+)` \|', PAGE.read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(
        argument.name for argument in described('bringup.launch.py').get_launch_arguments())


def test_bringup_makes_three_processes_or_one() -> None:
    assert [node.node_executable for node in processes(compose='false')] == [
        'world_model_bridge', 'ledger', 'action_lifecycle_node']
    assert [node.node_executable for node in processes()] == ['composed']
    assert all(isinstance(node, Node) for node in processes())


def test_bringup_starts_a_language_model_beside_them_when_told_to() -> None:
    assert [node.node_executable for node in processes(language_model='true', compose='true')] == [
        'composed', 'language_model']
    assert [node.node_executable for node in processes(language_model='true')][-1] == (
        'language_model')


def test_bringup_starts_the_agent_beside_them_or_with_them() -> None:
    assert [node.node_executable for node in processes(
        agent='true', compose='false')][-1] == 'agent'
    composed, = processes(agent='true', compose='true')
    arguments = [''.join(part.perform(LaunchContext()) for part in argument)
                 for argument in composed.cmd[1:2]]
    assert composed.node_executable == 'composed' and arguments == ['--agent']


def test_bringup_starts_the_markers_when_told_to() -> None:
    *_, node = processes(markers='true', facts_file='/facts.yaml', fixed_frame='base_link')
    assert node.node_executable == 'markers'
    assert values(node) == {'facts_file': '/facts.yaml', 'fixed_frame': 'base_link'}


def test_bringup_starts_the_node_for_a_fleet_manager_when_told_to() -> None:
    assert [node.node_executable for node in processes(vda5050='true')][-1] == 'vda5050'


@pytest.mark.parametrize('given', [
    {}, {'trace_file': '/other.traces', 'black_box_folder': '/other.boxes'}])
@pytest.mark.parametrize('compose', ['true', 'false'])
def test_the_action_node_knows_the_traces_and_boxes_of_the_bridge(
    compose: str, given: dict[str, str]
) -> None:
    for node in processes(compose=compose, journal_path='/one.journal', **given):
        for name in ('world_model_bridge', 'action_lifecycle'):
            found = values(node, name)
            assert found['trace_file'] == given.get('trace_file', '/one.traces')
            assert found['black_box.folder'] == given.get('black_box_folder', '/one.boxes')


@pytest.mark.parametrize('compose', ['true', 'false'])
def test_each_node_that_writes_has_a_file_of_its_own_named_by_the_journal(compose: str) -> None:
    node, *_ = processes(
        compose=compose, agent='true', vda5050='true', journal_path='/one.journal')
    assert values(node, 'action_lifecycle')['journal_path'] == '/one.journal'
    assert values(node, 'ledger') == {'journal_path': '/one.journal'}  # it reads
    assert values(node, 'agent') == {'journal_path': '/one.agent.journal'}
    assert values(node, 'vda5050') == {'order_file': '/one.vda5050.json'}


def test_without_a_journal_the_files_of_params_file_or_of_the_namespace_are_used() -> None:
    node, *_ = processes(agent='true', vda5050='true', namespace='robot7')
    found = yaml.safe_load(Path(node._Node__parameters[-1].evaluate(LaunchContext())).read_text())
    assert not {'/robot7/agent', '/robot7/vda5050', '/robot7/ledger'} & set(found)
    assert 'journal_path' not in found['/robot7/action_lifecycle']['ros__parameters']


@pytest.mark.parametrize('name', ['demo', 'gazebo'])
@pytest.mark.parametrize(('namespace', 'end'), [('', ''), ('robot7', '_robot7')])
def test_cells_of_other_namespaces_have_other_journals(
    name: str, namespace: str, end: str
) -> None:
    context = LaunchContext()
    context.launch_configurations['namespace'] = namespace
    default, = (argument.default_value for argument in described(
        f'{name}.launch.py').get_launch_arguments() if argument.name == 'journal_path')
    assert ''.join(part.perform(context) for part in default) == (
        f'/tmp/action_lifecycle_{name}{end}.journal')


@pytest.mark.parametrize(('given', 'expected'), [
    ({'journal_path': '/data/one.journal'}, '/data/one.stop'),
    ({'namespace': 'robot7'}, '/home/.ros/action_lifecycle/robot7.stop'),
    ({}, '/home/.ros/action_lifecycle/robot.stop'),
    ({'journal_path': '/data/one.journal', 'stop_file': '/other.stop'}, '/other.stop')])
@pytest.mark.parametrize('compose', ['true', 'false'])
def test_the_bridge_keeps_a_stop_beside_the_journal(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: str, compose: str
) -> None:
    monkeypatch.setenv('ROS_HOME', '/home/.ros')
    bridge = processes(compose=compose, **given)[0]
    assert values(bridge, 'world_model_bridge')['stop_file'] == expected


def test_a_flow_is_run_when_one_is_named() -> None:
    assert isinstance(processes(flow='pick_and_place')[-1], ExecuteProcess)
    assert len(processes(flow='pick_and_place')) == 2


@pytest.mark.parametrize('end', ['xml', 'yaml'])
def test_other_front_ends_include_the_bringup(end: str) -> None:
    included = [entity for entity in described(f'bringup.launch.{end}').entities
                if isinstance(entity, IncludeLaunchDescription)]
    assert len(included) == 1
    inner = included[0].launch_description_source.get_launch_description(LaunchContext())
    assert {argument.name for argument in inner.get_launch_arguments()} >= COMMON
