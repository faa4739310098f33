# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Starts the simulated cell and its e-stop; the cell publishes simulated time on /clock."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

ARGUMENTS = {
    'seed': (int, '1', 'Seed of all random values.'),
    'slippery': (str, 'part_b', 'The part that is slippery and heavier; empty: none.'),
    'real_time_factor': (float, '1.0', 'Speed of the simulation; 0: as fast as possible.'),
    'publish_clock': (bool, 'true', 'Publish simulated time on /clock.'),
    'camera_rate': (float, '0.0', 'Pictures of the cell on camera/image/compressed, in Hz.'),
    'picture_path': (str, '', 'Where pictures are saved; empty: cell.png.'),
}


def generate_launch_description() -> LaunchDescription:
    """Return the cell, with the parameters used most as arguments."""
    return LaunchDescription([
        DeclareLaunchArgument('namespace', default_value='', description='Robot namespace.'),
        DeclareLaunchArgument('log_level', default_value='info', description='Log level.'),
        *(
            DeclareLaunchArgument(name, default_value=default, description=description)
            for name, (_, default, description) in ARGUMENTS.items()
        ),
        Node(
            package='action_lifecycle', executable='sim_cell', name='cell',
            namespace=LaunchConfiguration('namespace'), output='screen',
            remappings=[('/tf', 'tf')],  # relative to the namespace
            parameters=[{
                name: ParameterValue(LaunchConfiguration(name), value_type=kind)
                for name, (kind, _, _) in ARGUMENTS.items()}],
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')]),
        Node(
            package='action_lifecycle', executable='sim_estop', name='estop',
            namespace=LaunchConfiguration('namespace'), output='screen',
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')]),
    ])
