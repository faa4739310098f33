# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Starts the three nodes of one robot and, if asked for, a model, agent, markers, and viewer."""

import os
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, NotEqualsSubstitution, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import ExecutableInPackage, FindPackageShare
from launch_ros.utilities import make_namespace_absolute, prefix_namespace

# The launch arguments that set parameters of each node; empty: the value of params_file.
NODES = {
    'world_model_bridge': ('facts_file', 'stop_file', 'trace_file', 'black_box_folder'),
    'ledger': ('journal_path', 'ledger_url'),
    'action_lifecycle_node': ('journal_path', 'new_journal', 'trace_file', 'black_box_folder'),
}
MARKERS = ('facts_file', 'fixed_frame')
WEB = ('journal_path', 'trace_file', 'ledger_url', 'web_host', 'web_port', 'web_token_file')
# Files that are beside the journal unless they are given, and their suffixes.
BESIDE = {'stop_file': '.stop', 'trace_file': '.traces', 'black_box_folder': '.boxes'}
# The parameters of arguments that have other names.
PARAMETERS = {'black_box_folder': 'black_box.folder', 'web_host': 'host', 'web_port': 'port',
              'web_token_file': 'token_file'}
NUMBERS = ('web_port',)
SWITCHES = ('new_journal',)
# Each robot has its own tf topics, so the transforms of several robots do not mix.
REMAPPINGS = [('/tf', 'tf'), ('/tf_static', 'tf_static')]
RESPAWN_DELAY = 2.0  # s
PLANNER = 'language_model/plan'


def generate_launch_description() -> LaunchDescription:
    """Return the nodes; the names of the arguments are those of nav2's bringup."""
    share = FindPackageShare('action_lifecycle')
    flow = LaunchConfiguration('flow')
    return LaunchDescription([
        DeclareLaunchArgument('namespace', default_value='', description='Robot namespace.'),
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
                              description='Facts and safety topics; empty: from params_file.'),
        DeclareLaunchArgument('journal_path', default_value='',
                              description='File of the journal; empty: from params_file.'),
        DeclareLaunchArgument('new_journal', default_value='', choices=['true', 'false', ''],
                              description='true: an empty journal may take the place of one that '
                              'is missing; empty: from params_file.'),
        DeclareLaunchArgument('stop_file', default_value='',
                              description='File that keeps a latched stop over a restart; empty: '
                              'beside the journal.'),
        DeclareLaunchArgument('trace_file', default_value='',
                              description='File of the evidence traces; empty: beside the '
                              'journal.'),
        DeclareLaunchArgument('black_box_folder', default_value='',
                              description='Folder of the black boxes; empty: beside the journal.'),
        DeclareLaunchArgument('ledger_url', default_value='',
                              description='URL of the fleet Redis without a password; empty: from '
                              'params_file.'),
        DeclareLaunchArgument('use_respawn', default_value='false', choices=['true', 'false'],
                              description='Restart a node after it has ended.'),
        DeclareLaunchArgument('log_level', default_value='info',
                              choices=['debug', 'info', 'warn', 'error', 'fatal'],
                              description='Log level of the nodes.'),
        DeclareLaunchArgument('compose', default_value='true', choices=['true', 'false'],
                              description='Run all three nodes in one process; false: in three.'),
        DeclareLaunchArgument('language_model', default_value='false', choices=['true', 'false'],
                              description='Start the language_model node, as the planner.'),
        DeclareLaunchArgument('agent', default_value='false', choices=['true', 'false'],
                              description='Start the agent node, which hosts sessions of graphs; '
                              'with compose, in the same process.'),
        DeclareLaunchArgument('web', default_value='false', choices=['true', 'false'],
                              description='Start the web node, which shows flows in a browser.'),
        DeclareLaunchArgument('web_host', default_value='',
                              description='Address of the viewer; empty: from params_file.'),
        DeclareLaunchArgument('web_port', default_value='',
                              description='Port of the viewer; empty: from params_file.'),
        DeclareLaunchArgument('web_token_file', default_value='',
                              description='File with the token with which people sign in to the '
                              'viewer; empty: from params_file.'),
        DeclareLaunchArgument('markers', default_value='false', choices=['true', 'false'],
                              description='Start the markers node, which shows actions in RViz '
                              'and Foxglove.'),
        DeclareLaunchArgument('fixed_frame', default_value='',
                              description='Frame of markers of actions for which no other is '
                              'found; empty: from params_file.'),
        DeclareLaunchArgument('vda5050', default_value='false', choices=['true', 'false'],
                              description='Start the vda5050 node, which runs the orders of a '
                              'fleet manager.'),
        DeclareLaunchArgument('flow', default_value='',
                              description='Flow to run when the nodes are active; empty: none.'),
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
        return value or (_beside_the_journal(context, BESIDE[name]) if name in BESIDE else '')

    composed = given('compose') == 'true'
    processes = {'composed': tuple(dict.fromkeys(sum(NODES.values(), ())))} if composed else NODES
    more: dict[str, dict[str, str]] = {}
    if given('language_model') == 'true':
        more = {'composed' if composed else 'action_lifecycle_node': {'planner': PLANNER}}
        processes = {**processes, 'language_model': ()}
    agent = given('agent') == 'true'
    if agent and not composed:
        processes = {**processes, 'agent': ()}
    if given('markers') == 'true':
        processes = {**processes, 'markers': MARKERS}
    if given('vda5050') == 'true':
        processes = {**processes, 'vda5050': ()}
    if given('web') == 'true':
        processes = {**processes, 'web': WEB}

    def value(name: str) -> str | int | bool:
        text = given(name)
        if name in SWITCHES:
            return text == 'true'
        if name not in NUMBERS:
            return text
        if not text.isdecimal():
            raise ValueError(f"{name}: expected a number, got '{text}'")
        return int(text)

    return [
        Node(
            package='action_lifecycle', executable=executable, namespace=given('namespace'),
            output='screen', remappings=REMAPPINGS,
            respawn=given('use_respawn') == 'true', respawn_delay=RESPAWN_DELAY,
            parameters=[given('params_file'), {
                'use_sim_time': given('use_sim_time') == 'true',
                'autostart': given('autostart') == 'true',
                **{PARAMETERS.get(name, name): value(name) for name in arguments if given(name)},
                **more.get(executable, {})}],
            arguments=[*(['--agent'] if agent and executable == 'composed' else []),
                       '--ros-args', '--log-level', given('log_level')])
        for executable, arguments in processes.items()]


def _beside_the_journal(context: LaunchContext, suffix: str) -> str:
    """Return the path of a file beside the given journal or the nodes' default one."""
    journal = str(LaunchConfiguration('journal_path').perform(context))
    if journal:
        path = Path(journal).expanduser()
        return str(path.with_name(path.stem + suffix).absolute())
    namespace = make_namespace_absolute(prefix_namespace(
        context.launch_configurations.get('ros_namespace'),
        LaunchConfiguration('namespace').perform(context))) or ''
    robot = namespace.strip('/').replace('/', '.') or 'robot'
    home = Path(os.environ.get('ROS_HOME', '~/.ros')).expanduser()
    return str(home / 'action_lifecycle' / f'{robot}{suffix}')
