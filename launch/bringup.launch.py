# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Starts the three nodes of one robot and, if asked for, a model, agent, markers, and viewer."""

from collections.abc import Mapping
import os
from pathlib import Path
import tempfile
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, NotEqualsSubstitution, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import ExecutableInPackage, FindPackageShare
from launch_ros.utilities import make_namespace_absolute, prefix_namespace
import yaml

# The launch arguments that set parameters of each node; empty: the value of params_file. Nodes in
# one process have different values for parameters of the same name.
PATHS = ('trace_file', 'black_box_folder')
NODES = {
    'world_model_bridge': ('facts_file', 'stop_file', *PATHS),
    'ledger': ('journal_path', 'ledger_url'),
    'action_lifecycle': ('journal_path', 'new_journal', *PATHS),
    'agent': ('agent_journal',),
    'markers': ('facts_file', 'fixed_frame'),
    'vda5050': ('order_file',),
    'web': ('journal_path', 'trace_file', 'ledger_url', 'web_host', 'web_port', 'web_token_file'),
}
COMPOSED = ('world_model_bridge', 'ledger', 'action_lifecycle')
# Files that are beside the journal unless they are given, and their suffixes.
BESIDE = {'stop_file': '.stop', 'trace_file': '.traces', 'black_box_folder': '.boxes'}
# Files that are beside the journal if that is given, else where params_file says.
BESIDE_GIVEN = {'agent_journal': '.agent.journal', 'order_file': '.vda5050.json'}
# The parameters of arguments that have other names.
PARAMETERS = {'black_box_folder': 'black_box.folder', 'agent_journal': 'journal_path',
              'web_host': 'host', 'web_port': 'port', 'web_token_file': 'token_file'}
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
        value = '' if name in BESIDE_GIVEN else str(LaunchConfiguration(name).perform(context))
        if not value and (name in BESIDE or name in BESIDE_GIVEN and given('journal_path')):
            return _beside_the_journal(context, {**BESIDE, **BESIDE_GIVEN}[name])
        return value

    def value(name: str) -> str | int | bool:
        text = given(name)
        if name in SWITCHES:
            return text == 'true'
        if name not in NUMBERS:
            return text
        if not text.isdecimal():
            raise ValueError(f"{name}: expected a number, got '{text}'")
        return int(text)

    agent, composed = given('agent') == 'true', given('compose') == 'true'
    executables = ['composed'] if composed else [
        'action_lifecycle_node' if name == 'action_lifecycle' else name for name in COMPOSED]
    if agent and not composed:
        executables.append('agent')
    executables += [name for name in ('language_model', 'markers', 'vda5050', 'web')
                    if given(name) == 'true']
    parameters = {
        name: {PARAMETERS.get(argument, argument): value(argument)
               for argument in arguments if given(argument)}
        for name, arguments in NODES.items()}
    if given('language_model') == 'true':
        parameters['action_lifecycle']['planner'] = PLANNER
    file = _parameter_file(_namespace(context), parameters)
    return [
        Node(
            package='action_lifecycle', executable=executable, namespace=given('namespace'),
            output='screen', remappings=REMAPPINGS,
            respawn=given('use_respawn') == 'true', respawn_delay=RESPAWN_DELAY,
            parameters=[given('params_file'), {
                'use_sim_time': given('use_sim_time') == 'true',
                'autostart': given('autostart') == 'true'}, file],
            arguments=[*(['--agent'] if agent and executable == 'composed' else []),
                       '--ros-args', '--log-level', given('log_level')])
        for executable in executables]


def _parameter_file(namespace: str, parameters: Mapping[str, Mapping[str, Any]]) -> str:
    """Write a file with the parameters of each node, as launch_ros does for those of one."""
    with tempfile.NamedTemporaryFile(
            'w', prefix='launch_params_', suffix='.yaml', delete=False) as file:
        yaml.safe_dump({f'{namespace}/{node}': {'ros__parameters': dict(values)}
                        for node, values in parameters.items() if values}, file)
    return file.name


def _namespace(context: LaunchContext) -> str:
    """Return the namespace of the nodes with a leading slash; '' for the root."""
    namespace = make_namespace_absolute(prefix_namespace(
        context.launch_configurations.get('ros_namespace'),
        LaunchConfiguration('namespace').perform(context))) or ''
    return namespace.rstrip('/')


def _beside_the_journal(context: LaunchContext, suffix: str) -> str:
    """Return the path of a file beside the given journal or the nodes' default one."""
    journal = str(LaunchConfiguration('journal_path').perform(context))
    if journal:
        path = Path(journal).expanduser()
        return str(path.with_name(path.stem + suffix).absolute())
    robot = _namespace(context).strip('/').replace('/', '.') or 'robot'
    home = Path(os.environ.get('ROS_HOME', '~/.ros')).expanduser()
    return str(home / 'action_lifecycle' / f'{robot}{suffix}')
