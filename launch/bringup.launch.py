# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Starts the three nodes of one robot, in three processes or in one, and a language model's."""

import os
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, NotEqualsSubstitution, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import ExecutableInPackage, FindPackageShare
from launch_ros.utilities import make_namespace_absolute, prefix_namespace

# Which of the launch arguments are parameters of which node; empty ones stay as params_file says.
NODES = {
    'world_model_bridge': ('facts_file', 'stop_file'),
    'ledger': ('journal_path', 'ledger_url'),
    'action_lifecycle_node': ('journal_path',),
}
# Transforms of several robots do not mix when each has its own topics.
REMAPPINGS = [('/tf', 'tf'), ('/tf_static', 'tf_static')]
RESPAWN_DELAY = 2.0  # s
PLANNER = 'language_model/plan'


def generate_launch_description() -> LaunchDescription:
    """Return the nodes with the arguments that nav2's bringup has too."""
    share = FindPackageShare('action_lifecycle')
    flow = LaunchConfiguration('flow')
    return LaunchDescription([
        DeclareLaunchArgument('namespace', default_value='', description='Of the robot.'),
        DeclareLaunchArgument('use_sim_time', default_value='false', choices=['true', 'false'],
                              description='Take the time from /clock.'),
        DeclareLaunchArgument('autostart', default_value='true', choices=['true', 'false'],
                              description='Configure and activate the nodes at start; false: a '
                              'lifecycle manager does.'),
        DeclareLaunchArgument(
            'params_file',
            default_value=PathJoinSubstitution([share, 'config', 'action_lifecycle.yaml']),
            description='Parameters of all three nodes.'),
        DeclareLaunchArgument('facts_file', default_value='',
                              description='Facts and safety topics; empty: as params_file says.'),
        DeclareLaunchArgument('journal_path', default_value='',
                              description='The journal; empty: as params_file says.'),
        DeclareLaunchArgument('stop_file', default_value='',
                              description='Keeps a latched stop over a restart; empty: beside the '
                              'journal.'),
        DeclareLaunchArgument('ledger_url', default_value='',
                              description='Redis of the fleet, without a password; empty: as '
                              'params_file says.'),
        DeclareLaunchArgument('use_respawn', default_value='false', choices=['true', 'false'],
                              description='Start a node again that has ended.'),
        DeclareLaunchArgument('log_level', default_value='info',
                              choices=['debug', 'info', 'warn', 'error', 'fatal'],
                              description='Of the nodes.'),
        DeclareLaunchArgument('compose', default_value='false', choices=['true', 'false'],
                              description='All three nodes in one process.'),
        DeclareLaunchArgument('language_model', default_value='false', choices=['true', 'false'],
                              description='Start that node too, as the planner.'),
        DeclareLaunchArgument('flow', default_value='',
                              description='A flow to run once the nodes are active; empty: none.'),
        OpaqueFunction(function=_nodes),
        ExecuteProcess(
            cmd=[ExecutableInPackage('action_lifecycle', 'action_lifecycle'), 'run', flow,
                 '--plain', '--wait', '30', '--namespace', LaunchConfiguration('namespace')],
            name='run', output='screen', sigterm_timeout='15', sigkill_timeout='15',
            condition=IfCondition(NotEqualsSubstitution(LaunchConfiguration('flow'), ''))),
    ])


def _nodes(context: LaunchContext) -> list[Node]:
    def given(name: str) -> str:
        value = str(LaunchConfiguration(name).perform(context))
        return value or (_stop_file(context) if name == 'stop_file' else '')

    composed = given('compose') == 'true'
    processes = {'composed': tuple(dict.fromkeys(sum(NODES.values(), ())))} if composed else NODES
    more: dict[str, dict[str, str]] = {}
    if given('language_model') == 'true':
        more = {'composed' if composed else 'action_lifecycle_node': {'planner': PLANNER}}
        processes = {**processes, 'language_model': ()}
    return [
        Node(
            package='action_lifecycle', executable=executable, namespace=given('namespace'),
            output='screen', remappings=REMAPPINGS,
            respawn=given('use_respawn') == 'true', respawn_delay=RESPAWN_DELAY,
            parameters=[given('params_file'), {
                'use_sim_time': given('use_sim_time') == 'true',
                'autostart': given('autostart') == 'true',
                **{name: given(name) for name in arguments if given(name)},
                **more.get(executable, {})}],
            arguments=['--ros-args', '--log-level', given('log_level')])
        for executable, arguments in processes.items()]


def _stop_file(context: LaunchContext) -> str:
    """Return the file beside the journal: the one that is given, or the nodes' default."""
    journal = str(LaunchConfiguration('journal_path').perform(context))
    if journal:
        path = Path(journal).expanduser()
        return str(path.with_name(f'{path.stem}.stop').absolute())
    namespace = make_namespace_absolute(prefix_namespace(
        context.launch_configurations.get('ros_namespace'),
        LaunchConfiguration('namespace').perform(context))) or ''
    robot = namespace.strip('/').replace('/', '.') or 'robot'
    home = Path(os.environ.get('ROS_HOME', '~/.ros')).expanduser()
    return str(home / 'action_lifecycle' / f'{robot}.stop')
