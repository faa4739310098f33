# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parameters: described, limited, judged before they are set, all in the sample file."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import re
import signal
import subprocess
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow.planning.planners import PLANNERS
from action_lifecycle.nodes.action.node import ActionLifecycleNode
from action_lifecycle.nodes.agent.agent_node import AgentNode
from action_lifecycle.nodes.agent.node import LanguageModelNode
from action_lifecycle.nodes.bridge.node import WorldModelBridge
from action_lifecycle.nodes.ledger.node import LedgerNode
from action_lifecycle.nodes.markers.node import MarkersNode
from action_lifecycle.nodes.vda5050.node import Vda5050Node
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from isolation import domain_id
import pytest
import rclpy
from rclpy.context import Context
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
import yaml

from .ending import destroy

SHARE = Path(get_package_share_directory('action_lifecycle'))
PAGE = Path(__file__).parents[2] / 'docs' / 'nodes.md'
SAMPLE = SHARE / 'config' / 'action_lifecycle.yaml'
COMPOSED = Path(get_package_prefix('action_lifecycle')) / 'lib' / 'action_lifecycle' / 'composed'
NODES = (ActionLifecycleNode, WorldModelBridge, LedgerNode, LanguageModelNode, AgentNode,
         MarkersNode, Vda5050Node)
OF_RCLPY = {'use_sim_time', 'start_type_description_service'}
OF_RCL = {'/rosout', '/parameter_events'}  # for all nodes
SECRET = re.compile('passw|secret|token|api_key|credential')


@pytest.fixture(scope='module')
def context() -> Iterator[Context]:
    context = Context()
    rclpy.init(context=context, domain_id=domain_id())
    yield context
    context.try_shutdown()


@pytest.fixture
def make(context: Context) -> Iterator[Any]:
    nodes: list[Any] = []

    def make(kind: Any, **parameters: Any) -> Any:
        nodes.append(kind(context=context, parameter_overrides=[
            Parameter(name, value=value) for name, value in parameters.items()]))
        return nodes[-1]

    yield make
    destroy(*nodes)


@pytest.mark.parametrize('kind', NODES)
def test_each_parameter_is_described_and_in_the_sample_file_with_its_default(
    make: Any, kind: Any
) -> None:
    node = make(kind)
    given = yaml.safe_load(SAMPLE.read_text())['/**'][node.get_name()]['ros__parameters']
    commented = set(re.findall(r'# (\w+):', SAMPLE.read_text()))
    declared = {name: node.get_parameter(name).value for name in node._parameters
                if name not in OF_RCLPY}
    assert set(given) <= set(declared)
    assert {name: declared[name] for name in given} == given
    assert set(declared) - set(given) <= commented
    for name in declared:
        assert node.describe_parameter(name).description, name
        assert not SECRET.search(name), f'{name}: a secret is no parameter'


@pytest.mark.parametrize('kind', NODES)
def test_each_number_has_a_range(make: Any, kind: Any) -> None:
    node = make(kind)
    for name, parameter in node._parameters.items():
        if type(parameter.value) in (int, float):
            described = node.describe_parameter(name)
            assert described.floating_point_range or described.integer_range, name


@pytest.mark.parametrize('kind', NODES)
def test_each_topic_takes_its_qos_from_parameters(make: Any, kind: Any, tmp_path: Path) -> None:
    if kind is LanguageModelNode:
        pytest.importorskip('openai')
    given = {
        ActionLifecycleNode: {'journal_path': str(tmp_path / 'journal'), 'planner': 'planner'},
        WorldModelBridge: {'facts_file': str(SHARE / 'config' / 'facts' / 'cell.yaml')},
        LedgerNode: {'journal_path': str(tmp_path / 'journal')},
        AgentNode: {'journal_path': str(tmp_path / 'journal')},
        LanguageModelNode: {'base_url': 'http://localhost:9/v1', 'model': 'none'},
        MarkersNode: {},
        Vda5050Node: {'broker_url': 'mqtt://localhost:9',
                      'mapping_file': str(SHARE / 'config' / 'vda5050' / 'nav2.yaml'),
                      'order_file': str(tmp_path / 'order')}}
    node = make(kind, **given[kind])
    assert node.trigger_configure() == TransitionCallbackReturn.SUCCESS
    of_facts_file = {'/estop'} if kind is WorldModelBridge else set()
    for word, entities in (('publisher', node.publishers), ('subscription', node.subscriptions)):
        topics = {entity.topic_name for entity in entities} - OF_RCL - of_facts_file
        assert [topic for topic in topics if '/_action/' not in topic
                and not node.has_parameter(f'qos_overrides.{topic}.{word}.depth')] == []
    assert node.trigger_cleanup() == TransitionCallbackReturn.SUCCESS


@pytest.mark.parametrize(('kind', 'name', 'value', 'expected'), [
    (ActionLifecycleNode, 'executor', 'event', "did you mean 'events'"),
    (ActionLifecycleNode, 'bridge_timeout', -1.0, 'range'),
    (ActionLifecycleNode, 'bridge_timeout', 'long', 'is of type string; expected double'),
    (ActionLifecycleNode, 'bridge', 'a b', 'Invalid topic name'),
    (ActionLifecycleNode, 'bridge', 'x' * 300, '300 characters'),
    (WorldModelBridge, 'facts_rate', 0.0, 'range'),
    (ActionLifecycleNode, 'planner', 'python:', 'expected python:NAME'),
    (LedgerNode, 'ledger_url', 'redis://:secret@host:6379', 'ledger_url'),
    (LedgerNode, 'journal_path', 'x' * 5000, '5000 characters'),
])
def test_a_parameter_that_is_not_usable_is_refused_at_start_with_its_name(
    make: Any, kind: Any, name: str, value: Any, expected: str
) -> None:
    with pytest.raises(LifecycleError) as raised:
        make(kind, **{name: value})
    message = str(raised.value)
    assert name in message and expected in message, message
    assert 'secret' not in message


def test_a_whole_number_does_for_a_double(make: Any) -> None:
    assert make(ActionLifecycleNode, bridge_timeout=3).parameter('bridge_timeout') == 3.0


def test_dynamic_parameters_change_at_run_time_others_do_not(make: Any) -> None:
    node = make(WorldModelBridge)
    done, refused, fixed = node.set_parameters([
        Parameter('slow_callback', value=0.5), Parameter('facts_rate', value=1e6),
        Parameter('facts_file', value='other.yaml')])
    assert done.successful and node.watchdog.limit == 0.5
    assert not refused.successful and 'range' in refused.reason
    assert not fixed.successful and 'read-only' in fixed.reason


def test_the_page_names_what_can_be_set_at_any_time(make: Any) -> None:
    text = PAGE.read_text().partition('| at any time |')[2].partition('\n\n')[0]
    told = {of: set(re.findall(r'`(\w+)`', names))
            for of, names in re.findall(r'^\| `?(\w+)`? \| (.*) \|$', text, re.MULTILINE)}
    for kind in NODES:
        node = make(kind)
        dynamic = {name for name in node._parameters
                   if name not in OF_RCLPY and not node.describe_parameter(name).read_only}
        assert dynamic == told['all'] | told.get(node.get_name(), set()), node.get_name()


def test_unknown_parameters_in_a_file_are_named_and_bad_ones_end_the_process(
    tmp_path: Path
) -> None:
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain_id()),
                   'ROS_LOG_DIR': str(tmp_path)}

    def output(text: str, until: str | None = None) -> tuple[int, str]:
        path = tmp_path / 'parameters.yaml'
        path.write_text(text)
        process = subprocess.Popen(
            [str(COMPOSED), '--ros-args', '--params-file', str(path)], env=environment,
            stderr=subprocess.PIPE, text=True)
        lines = []
        for line in process.stderr:
            lines.append(line)
            if until is not None and until in line:
                process.send_signal(signal.SIGINT)
        return process.wait(20), ''.join(lines)

    code, told = output(
        '/**:\n  world_model_bridge:\n    ros__parameters: {facts_fiel: x.yaml}\n'
        '  ros__parameters: {facts_rate: 1.0, journal_path: /tmp/j}\n', 'facts_fiel')
    assert "'facts_fiel' is not known and changes nothing; did you mean 'facts_file'" in told
    assert code == 0
    assert told.count('is not known') == 1  # what one of the nodes has is meant for that one
    code, told = output('/**:\n  ros__parameters: {facts_rate: fast}\n')
    assert code == 2 and "parameter 'facts_rate': 'fast' is of type string" in told
    assert 'Traceback' not in told


def test_an_unknown_planner_in_python_is_refused_with_the_known_ones(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PLANNERS, '_things', {'second_grasp': lambda request: None})
    node = make(ActionLifecycleNode, journal_path=str(tmp_path / 'journal'),
                planner='python:second_grip')
    said: list[str] = []
    monkeypatch.setattr(node.get_logger(), 'error', said.append)
    assert node.trigger_configure() == TransitionCallbackReturn.FAILURE
    assert "there is no planner 'second_grip'; did you mean 'second_grasp'" in '\n'.join(said)
    assert 'known: second_grasp' in '\n'.join(said)
