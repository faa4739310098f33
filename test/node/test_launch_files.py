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


def values(node: Any) -> dict[str, Any]:
    """Return the texts and numbers that bringup gives a node as parameters."""
    context = LaunchContext()
    return {''.join(part.perform(context) for part in name):
            yaml.safe_load(''.join(part.perform(context) for part in value))
            for name, value in node._Node__parameters[-1].items() if isinstance(value, tuple)}


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
    nodes = {node.node_executable: values(node)
             for node in processes(compose=compose, journal_path='/one.journal', **given)}
    for name in ('composed',) if compose == 'true' else (
            'world_model_bridge', 'action_lifecycle_node'):
        assert nodes[name]['trace_file'] == given.get('trace_file', '/one.traces')
        assert nodes[name]['black_box.folder'] == given.get('black_box_folder', '/one.boxes')


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
    assert values(processes(compose=compose, **given)[0])['stop_file'] == expected


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
