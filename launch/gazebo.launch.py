# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Starts the cell in Gazebo and the three nodes; not run yet, see docs/gazebo.md."""

from pathlib import Path
import tempfile

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.substitutions import (
    IfElseSubstitution,
    LaunchConfiguration,
    NotEqualsSubstitution,
    PathJoinSubstitution,
)
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

BRINGUP = ('namespace', 'autostart', 'params_file', 'journal_path', 'ledger_url', 'use_respawn',
           'log_level', 'compose', 'flow')
CONTROLLERS = ('joint_state_broadcaster', 'arm_controller', 'gripper_controller')


def generate_launch_description() -> LaunchDescription:
    """Return Gazebo with the cell, its bridge, its controllers, and the nodes."""
    share = FindPackageShare('action_lifecycle')
    namespace = LaunchConfiguration('namespace')
    return LaunchDescription([
        DeclareLaunchArgument('namespace', default_value='', description='Robot namespace.'),
        DeclareLaunchArgument('headless', default_value='true', choices=['true', 'false'],
                              description='Run Gazebo without a window.'),
        DeclareLaunchArgument('flow', default_value='', description='Flow to run; empty: none.'),
        DeclareLaunchArgument(
            'params_file',
            default_value=PathJoinSubstitution([share, 'config', 'action_lifecycle.yaml']),
            description='Parameters of all three nodes.'),
        DeclareLaunchArgument(
            'journal_path',
            default_value=['/tmp/action_lifecycle_gazebo', IfElseSubstitution(
                NotEqualsSubstitution(namespace, ''), ['_', namespace]), '.journal'],
            description='File of the journal.'),
        DeclareLaunchArgument('ledger_url', default_value='', description='URL of fleet Redis.'),
        DeclareLaunchArgument('autostart', default_value='true', choices=['true', 'false'],
                              description='Configure and activate the nodes at start.'),
        DeclareLaunchArgument('use_respawn', default_value='false', choices=['true', 'false'],
                              description='Restart a node after it has ended.'),
        DeclareLaunchArgument('compose', default_value='true', choices=['true', 'false'],
                              description='Run all three nodes in one process; false: in three.'),
        DeclareLaunchArgument('log_level', default_value='info', description='Log level.'),
        OpaqueFunction(function=_gazebo),
        IncludeLaunchDescription(
            PathJoinSubstitution([share, 'launch', 'bringup.launch.py']),
            launch_arguments={
                'use_sim_time': 'true',
                'facts_file': PathJoinSubstitution([share, 'config', 'facts', 'cell.yaml']),
                **{name: LaunchConfiguration(name) for name in BRINGUP}}.items()),
    ])


def _gazebo(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    namespace = LaunchConfiguration('namespace').perform(context)
    root = f'/{namespace}'.rstrip('/')  # empty without a namespace
    headless = LaunchConfiguration('headless').perform(context) == 'true'
    folder = Path(get_package_share_directory('action_lifecycle')) / 'config' / 'gazebo'
    world = Path(tempfile.mkdtemp(prefix='action_lifecycle_')) / 'cell.sdf'
    world.write_text((folder / 'cell.sdf').read_text()
                     .replace('$(controllers)', str(folder / 'controllers.yaml'))
                     .replace('$(namespace)', root))
    tf = [('/tf', 'tf'), ('/tf_static', 'tf_static')]
    return [
        IncludeLaunchDescription(
            PathJoinSubstitution([FindPackageShare('ros_gz_sim'), 'launch', 'gz_sim.launch.py']),
            launch_arguments={'gz_args': f"-r {'-s ' if headless else ''}{world}",
                              'on_exit_shutdown': 'true'}.items()),
        Node(package='robot_state_publisher', executable='robot_state_publisher',
             namespace=namespace, remappings=tf, parameters=[{
                 'use_sim_time': True,
                 'robot_description': (folder / 'gantry.urdf').read_text()}]),
        Node(package='ros_gz_bridge', executable='parameter_bridge', name='gz_bridge',
             namespace=namespace, parameters=[{
                 'use_sim_time': True, 'config_file': str(folder / 'bridge.yaml')}]),
        Node(package='controller_manager', executable='spawner', namespace=namespace,
             arguments=[*CONTROLLERS, '--controller-manager', f'{root}/controller_manager']),
        # Gazebo has no e-stop, so the e-stop of the simulated cell is used.
        Node(package='action_lifecycle', executable='sim_estop', name='estop',
             namespace=namespace),
    ]
