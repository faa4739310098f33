# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Starts the simulated cell and the three nodes, runs the demo flow, and ends after it."""

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    RegisterEventHandler,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import (
    IfElseSubstitution,
    LaunchConfiguration,
    NotEqualsSubstitution,
    PathJoinSubstitution,
)
from launch_ros.actions import SetRemap
from launch_ros.substitutions import ExecutableInPackage, FindPackageShare

SIM = ('namespace', 'log_level', 'seed', 'real_time_factor', 'camera_rate',
       'picture_path')
BRINGUP = ('namespace', 'autostart', 'params_file', 'journal_path', 'ledger_url', 'use_respawn',
           'log_level', 'compose', 'markers', 'web', 'web_host', 'web_port', 'web_token_file')


def generate_launch_description() -> LaunchDescription:
    """Return the cell, the nodes and, unless `flow` is empty, the command that runs it."""
    share = FindPackageShare('action_lifecycle')
    namespace = LaunchConfiguration('namespace')
    run = ExecuteProcess(
        cmd=[ExecutableInPackage('action_lifecycle', 'action_lifecycle'), 'run',
             LaunchConfiguration('flow'), '--plain', '--wait', '30',
             '--namespace', namespace],
        name='run', output='screen', sigterm_timeout='15', sigkill_timeout='15',
        condition=IfCondition(NotEqualsSubstitution(LaunchConfiguration('flow'), '')))
    return LaunchDescription([
        DeclareLaunchArgument(
            'flow',
            default_value=PathJoinSubstitution([share, 'config', 'flows', 'pick_and_place.yaml']),
            description='Flow to run; empty: none.'),
        DeclareLaunchArgument('namespace', default_value='',
                              description='Namespace of the robot, also for its clock and tf.'),
        DeclareLaunchArgument('seed', default_value='1', description='Seed of the cell.'),
        DeclareLaunchArgument('real_time_factor', default_value='1.0',
                              description='Speed of the simulation.'),
        DeclareLaunchArgument('camera_rate', default_value='1.0', description=(
            'Pictures of the cell on camera/image/compressed, in Hz, while it is subscribed.')),
        DeclareLaunchArgument('picture_path', default_value='',
                              description='Where the cell saves pictures.'),
        DeclareLaunchArgument(
            'journal_path',
            default_value=['/tmp/action_lifecycle_demo', IfElseSubstitution(
                NotEqualsSubstitution(namespace, ''), ['_', namespace]), '.journal'],
            description='File of the journal.'),
        DeclareLaunchArgument('ledger_url', default_value='', description='URL of fleet Redis.'),
        DeclareLaunchArgument(
            'params_file',
            default_value=PathJoinSubstitution([share, 'config', 'action_lifecycle.yaml']),
            description='Parameters of all three nodes.'),
        DeclareLaunchArgument('autostart', default_value='true', choices=['true', 'false'],
                              description='Configure and activate the nodes at start.'),
        DeclareLaunchArgument('use_respawn', default_value='false', choices=['true', 'false'],
                              description='Restart a node after it has ended.'),
        DeclareLaunchArgument('compose', default_value='true', choices=['true', 'false'],
                              description='Run all three nodes in one process; false: in three.'),
        DeclareLaunchArgument('markers', default_value='false', choices=['true', 'false'],
                              description='Start the markers node, for RViz and Foxglove.'),
        DeclareLaunchArgument('web', default_value='false', choices=['true', 'false'],
                              description='Start the web node, which shows flows in a browser.'),
        DeclareLaunchArgument('web_host', default_value='', description='Address of the viewer.'),
        DeclareLaunchArgument('web_port', default_value='', description='Port of the viewer.'),
        DeclareLaunchArgument('web_token_file', default_value='',
                              description='File with the token to sign in to the viewer.'),
        DeclareLaunchArgument('log_level', default_value='info', description='Log level.'),
        GroupAction([
            SetRemap('/clock', 'clock'),  # each cell has its own time
            IncludeLaunchDescription(
                PathJoinSubstitution([share, 'launch', 'sim.launch.py']),
                launch_arguments={name: LaunchConfiguration(name) for name in SIM}.items()),
            IncludeLaunchDescription(
                PathJoinSubstitution([share, 'launch', 'bringup.launch.py']),
                launch_arguments={
                    'use_sim_time': 'true', 'flow': '', 'fixed_frame': 'world',
                    'facts_file': PathJoinSubstitution([share, 'config', 'facts', 'cell.yaml']),
                    **{name: LaunchConfiguration(name) for name in BRINGUP}}.items()),
        ]),
        run,
        RegisterEventHandler(OnProcessExit(
            target_action=run, on_exit=[EmitEvent(event=Shutdown(reason='the flow has ended'))])),
    ])
