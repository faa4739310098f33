# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The layout for Foxglove and the page on RViz, Foxglove and rqt name what running nodes have."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import re
import subprocess
from typing import Any

from action_lifecycle.bags import BagWriter, read_bag
from action_lifecycle.ros.interfaces.definitions import message_definition
from action_lifecycle.ros.interfaces.message_fields import fill
from action_lifecycle.ros.interfaces.qos import state_qos
from action_lifecycle.ros.interfaces.types import message_class, service_class
from action_lifecycle_msgs.action import ConfirmOutcome, ExecuteFlow
from action_lifecycle_msgs.srv import ControlFlow
from diagnostic_msgs.msg import DiagnosticArray
import pytest
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from rosidl_parser.definition import AbstractNestedType, AbstractString, BasicType
from std_msgs.msg import Float64
import yaml

from .message_paths import MessagePath, parse
from .process_rig import ProcessRig

ROOT = Path(__file__).parents[2]
LAYOUT = ROOT / 'config' / 'foxglove' / 'action_lifecycle.json'
PAGE = ROOT / 'docs' / 'rviz_foxglove.md'
DATA: dict[str, Any] = json.loads(LAYOUT.read_text(encoding='utf-8'))
PANELS: dict[str, dict[str, Any]] = DATA['configById']
VARIABLES = {'action': 'pick', 'fact': 'level'}  # the values of the test; names as in the layout
FACTS = """\
estop: none
facts:
  level: {topic: level, type: std_msgs/msg/Float64, field: data, max_age: 2.0, unit: m}
"""
FLOW = 'flow: f\nactions: {pick: {confirm: {condition: level > 10.0, within: 0.3}}}\n'
NODES = {'action_lifecycle', 'world_model_bridge', 'ledger', 'markers'}
EMPTY = {'/action_lifecycle/operator_requests', '/markers/actions'}
"""Topics with no message, or none of a running action, when the flow has ended."""


def message_paths() -> Iterator[tuple[str, MessagePath]]:
    """Yield the paths of the panels, with the kind of panel."""
    for name, config in PANELS.items():
        texts = [entry['value'] for entry in config.get('paths', ())]
        texts += [config[key] for key in ('topicPath', 'topicToRender') if key in config]
        texts += config.get('topics', {})
        for text in texts:
            yield name.partition('!')[0], parse(text, VARIABLES)


PATHS = list(message_paths())
PLOTTED = re.findall(r'`((?:/\w+)+(?:\[\d\](?:/\w+)*)*)`', next(
    line for line in PAGE.read_text('utf-8').splitlines() if line.startswith('| rqt_plot |')))


class Robot(ProcessRig):
    """The nodes in the root namespace, and a bag of one flow whose outcome is refuted."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, redis=False)
        self.facts.write_text(FACTS)
        publisher = self.node.create_publisher(Float64, '/level', 10)
        self.node.create_timer(0.05, lambda: publisher.publish(Float64(data=1.0)))
        self.processes = [
            self.spawn('composed', {
                'autostart': True, 'facts_file': self.facts, 'facts_rate': 20.0,
                'journal_path': folder / 'robot.journal'}, log='composed'),
            self.spawn('markers', {'autostart': True, 'facts_file': self.facts}, log='markers')]
        self.bag = folder / 'robot.mcap'
        self.record()

    def types(self) -> dict[str, str]:
        """Return the topics by name."""
        return {name: types[0] for name, types in self.node.get_topic_names_and_types()}

    def services(self) -> dict[str, str]:
        return {name: types[0] for name, types in self.node.get_service_names_and_types()}

    def record(self) -> None:
        wanted = {path.topic for _, path in PATHS} | {'/diagnostics'}
        self.until(lambda: wanted <= self.types().keys(), 40.0,
                   f'{wanted - self.types().keys()} exist')
        self.told: dict[str, list[bytes]] = {topic: [] for topic in wanted}
        for topic in wanted:
            latched = any(publisher.qos_profile.durability == state_qos().durability
                          for publisher in self.node.get_publishers_info_by_topic(topic))
            self.node.create_subscription(
                message_class(self.types()[topic]), topic, self.told[topic].append,
                state_qos() if latched else QoSProfile(depth=1000), raw=True)
        client = ActionClient(self.node, ExecuteFlow, '/action_lifecycle/execute_flow')
        self.until(client.server_is_ready, 40.0, 'the action node')
        sent = client.send_goal_async(ExecuteFlow.Goal(flow=FLOW, source='test', flow_id='f'))
        self.until(sent.done, 20.0, 'an answer')
        ended = sent.result().get_result_async()
        self.until(ended.done, 20.0, 'the end of the flow')
        assert ended.result().result.state == 'FAIL'
        self.until(lambda: all(self.told[topic] for topic in wanted - EMPTY), 20.0, 'messages')
        self.until(lambda: all(any(node.encode() in bytes(data) for data in self.told[
            '/diagnostics']) for node in NODES), 20.0, 'diagnostics of all nodes')
        types = self.types()
        with BagWriter(self.bag) as bag:
            for topic, messages in self.told.items():
                bag.add_topic(topic, types[topic], message_definition(types[topic]))
                for number, data in enumerate(messages):
                    bag.write(topic, bytes(data), 1.0 + number)


@pytest.fixture(scope='module')
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Robot]:
    robot = Robot(tmp_path_factory.mktemp('foxglove'))
    yield robot
    robot.end(robot.processes)


def placed(layout: Any) -> Iterator[str]:
    """Yield the panels in a part of the layout."""
    if isinstance(layout, str):
        yield layout
        for tab in PANELS[layout].get('tabs', ()):
            yield from placed(tab['layout'])
        return
    assert layout['direction'] in ('row', 'column') and 0 < layout['splitPercentage'] < 100
    yield from placed(layout['first'])
    yield from placed(layout['second'])


def test_each_panel_has_one_place() -> None:
    assert sorted(placed(DATA['layout'])) == sorted(PANELS)
    assert {name.partition('!')[0] for name in PANELS} == {
        '3D', 'CallService', 'DiagnosticSummary', 'Plot', 'RawMessages', 'StateTransitions', 'Tab',
        'Table'}


def test_each_variable_is_defined_and_used() -> None:
    assert set(re.findall(r'==\$(\w+)', LAYOUT.read_text('utf-8'))) == set(
        DATA['globalVariables']) == set(VARIABLES)


def test_each_path_is_in_the_messages_of_a_live_topic(robot: Robot) -> None:
    types = robot.types()
    for panel, path in PATHS:
        kind = path.kind_in(message_class(types[path.topic]))
        if panel == 'Plot':
            assert isinstance(kind, BasicType), path
        elif panel == 'StateTransitions':
            assert isinstance(kind, (BasicType, AbstractString)), path
        elif panel == 'Table':
            assert isinstance(kind, AbstractNestedType), path
        elif panel == 'DiagnosticSummary':
            assert kind is DiagnosticArray
        elif panel == '3D':
            assert kind.__name__ == 'MarkerArray'


def test_each_path_selects_something_in_a_bag(robot: Robot) -> None:
    found: dict[MessagePath, list[Any]] = {path: [] for _, path in PATHS}
    with read_bag(robot.bag) as bag:
        assert set(bag.topics) == set(robot.told)
        for message in bag.messages():
            for path, selected in found.items():
                if path.topic == message.topic:
                    selected += path.select(message.message)
    assert [path for path, selected in found.items()
            if not selected and path.topic not in EMPTY] == []
    by_text = {path.topic + ''.join(step.name for step in path.steps): selected
               for path, selected in found.items()}
    states = by_text['/action_lifecycle/state_changesaction_idto_state']
    assert states == ['in_progress', 'status_verification_requested', 'error', 'terminated']
    assert set(by_text['/world_model_bridge/factsfacts:namenumbers:']) == {1.0}
    evidence, = by_text['/world_model_bridge/confirmationsverdictevidence:verdict']
    assert evidence.expression == 'level > 10.0'


def test_refuted_is_the_number_in_the_layout() -> None:
    assert '{verdict==2}' in PANELS['RawMessages!refuted']['topicPath']
    assert ConfirmOutcome.Result.REFUTED == 2


def test_each_request_fits_a_live_service(robot: Robot) -> None:
    services = robot.services()
    for name, config in PANELS.items():
        if name.startswith('CallService!'):
            cls = service_class(services[config['serviceName']])
            payload = json.loads(config['requestPayload'])
            assert [*fill(cls.Request(), payload, 'request')] == [], name
            assert 'actor' in payload, name
            if 'verb' in payload:
                assert payload['verb'] in (
                    ControlFlow.Request.PAUSE, ControlFlow.Request.RESUME,
                    ControlFlow.Request.CANCEL)


def test_the_command_of_the_page_puts_the_layout_into_a_namespace(tmp_path: Path) -> None:
    (tmp_path / 'config').symlink_to(ROOT / 'config')
    command = re.findall(r'^(sed .*)$', PAGE.read_text('utf-8'), re.MULTILINE)
    assert len(command) == 1
    subprocess.run(command[0], shell=True, check=True, cwd=tmp_path, timeout=20)  # noqa: S602
    text = (tmp_path / 'robot1.json').read_text('utf-8')
    moved = json.loads(text)
    assert text.replace('/robot1/', '/') == LAYOUT.read_text('utf-8')
    names = set(re.findall(r'"(/[\w/]+)', json.dumps(moved)))
    assert {name for name in names if not name.startswith('/robot1/')} == {'/diagnostics'}


def test_what_the_page_plots_in_rqt_is_one_number(robot: Robot) -> None:
    types = robot.types()
    assert len(PLOTTED) == 5
    for text in PLOTTED:
        topic = max((name for name in types if text.startswith(f'{name}/')), key=len)
        path = parse(topic + text[len(topic):].replace('/', '.'), {})
        assert isinstance(path.kind_in(message_class(types[topic])), BasicType), text


def test_the_analyzer_of_the_page_takes_all_diagnostics(robot: Robot) -> None:
    fragment = re.findall(r'```yaml fragment\n(.*?)```', PAGE.read_text('utf-8'), re.DOTALL)[-1]
    words = yaml.safe_load(fragment)['analyzers']['ros__parameters']['action_lifecycle'][
        'contains']
    with read_bag(robot.bag) as bag:
        names = {status.name for message in bag.messages(['/diagnostics'])
                 for status in message.message.status}
    assert {name.partition(':')[0] for name in names} == NODES
    assert [name for name in names if not any(word in name for word in words)] == []
