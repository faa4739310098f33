# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Starts the simulated cell and the three nodes, runs the demo flow, and ends with it."""

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    IncludeLaunchDescription,
    RegisterEventHandler,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution, PythonExpression
from launch_ros.substitutions import ExecutableInPackage, FindPackageShare


def generate_launch_description() -> LaunchDescription:
    """Return the cell, the nodes and, unless `flow` is empty, the command that runs it."""
    share = FindPackageShare('action_lifecycle')
    flow = LaunchConfiguration('flow')
    run = ExecuteProcess(
        cmd=[ExecutableInPackage('action_lifecycle', 'action_lifecycle'), 'run', flow,
             '--plain', '--wait', '30', '--namespace', LaunchConfiguration('namespace')],
        name='run', output='screen', sigterm_timeout='15', sigkill_timeout='15',
        condition=IfCondition(PythonExpression(["'", flow, "' != ''"])))
    return LaunchDescription([
        DeclareLaunchArgument(
            'flow',
            default_value=PathJoinSubstitution([share, 'config', 'flows', 'pick_and_place.yaml']),
            description='The flow that is run; empty: none.'),
        DeclareLaunchArgument('namespace', default_value=''),
        DeclareLaunchArgument('seed', default_value='1', description='Of the cell.'),
        DeclareLaunchArgument('real_time_factor', default_value='1.0',
                              description='Speed of the simulation.'),
        DeclareLaunchArgument('picture_path', default_value='',
                              description='Where the cell saves pictures.'),
        DeclareLaunchArgument('journal_path', default_value='/tmp/action_lifecycle_demo.journal'),
        DeclareLaunchArgument('compose', default_value='false'),
        DeclareLaunchArgument('log_level', default_value='info'),
        IncludeLaunchDescription(
            PathJoinSubstitution([share, 'launch', 'sim.launch.py']),
            launch_arguments={
                name: LaunchConfiguration(name)
                for name in ('namespace', 'seed', 'real_time_factor', 'picture_path')}.items()),
        IncludeLaunchDescription(
            PathJoinSubstitution([share, 'launch', 'bringup.launch.py']),
            launch_arguments={
                'use_sim_time': 'true',
                'facts_file': PathJoinSubstitution([share, 'config', 'facts', 'cell.yaml']),
                **{name: LaunchConfiguration(name)
                   for name in ('namespace', 'journal_path', 'compose', 'log_level')},
            }.items()),
        run,
        RegisterEventHandler(OnProcessExit(
            target_action=run, on_exit=[EmitEvent(event=Shutdown(reason='the flow has ended'))])),
    ])
