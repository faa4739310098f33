# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Starts the three nodes of one robot, in three processes or composed into one."""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

NODES = ('world_model_bridge', 'ledger', 'action_lifecycle_node')


def generate_launch_description() -> LaunchDescription:
    """Return the nodes with the arguments that nav2's bringup has too."""
    share = FindPackageShare('action_lifecycle')
    return LaunchDescription([
        DeclareLaunchArgument('namespace', default_value='', description='Of the robot.'),
        DeclareLaunchArgument('use_sim_time', default_value='false', choices=['true', 'false']),
        DeclareLaunchArgument('autostart', default_value='true', choices=['true', 'false'],
                              description='Configure and activate the nodes at start.'),
        DeclareLaunchArgument(
            'params_file',
            default_value=PathJoinSubstitution([share, 'config', 'action_lifecycle.yaml']),
            description='Parameters of all three nodes.'),
        DeclareLaunchArgument('facts_file', default_value='',
                              description='Facts and safety topics; empty: as params_file says.'),
        DeclareLaunchArgument('journal_path', default_value='',
                              description='The journal; empty: as params_file says.'),
        DeclareLaunchArgument('ledger_url', default_value='',
                              description='Redis of the fleet; empty: as params_file says.'),
        DeclareLaunchArgument('log_level', default_value='info'),
        DeclareLaunchArgument('compose', default_value='false', choices=['true', 'false'],
                              description='All three nodes in one process.'),
        OpaqueFunction(function=_nodes),
    ])


def _nodes(context: LaunchContext) -> list[Node]:
    given = {
        name: value for name in ('facts_file', 'journal_path', 'ledger_url')
        if (value := LaunchConfiguration(name).perform(context))}
    composed = LaunchConfiguration('compose').perform(context) == 'true'
    return [
        Node(
            package='action_lifecycle', executable=executable,
            namespace=LaunchConfiguration('namespace'), output='screen',
            parameters=[
                LaunchConfiguration('params_file'),
                {'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'),
                                                value_type=bool),
                 'autostart': ParameterValue(LaunchConfiguration('autostart'), value_type=bool),
                 **given}],
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')])
        for executable in (('composed',) if composed else NODES)]
