# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The SROS 2 policy: of the right form, complete, and no wider than what live nodes open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
from typing import Any, NamedTuple
from xml.etree import ElementTree

from ament_index_python.packages import get_package_share_directory
import pytest
import yaml

from .system import System
from .test_flow_on_cell import flow_file

PAGE = Path(__file__).parents[2] / 'docs' / 'nodes.md'
SHARE = Path(get_package_share_directory('action_lifecycle'))
POLICY = SHARE / 'config' / 'security' / 'policy.xml'
ENCLAVES = {'/action_lifecycle': {'action_lifecycle'}, '/ledger': {'ledger'},
            '/world_model_bridge': {'world_model_bridge', '_world_model_bridge_capped'}}
ENCLAVES_IN_ORDER = ('/action_lifecycle', '/world_model_bridge', '/ledger', '/language_model',
                     '/agent', '/markers', '/vda5050', '/web')
MODELS = ('language_model', 'agent')  # by themselves: they are off by default
WEB = {'web', '_web_capped'}
MARKERS = {'markers'}
VDA5050 = {'vda5050'}
FORM = {  # element: its children, its attributes
    'policy': ({'enclaves'}, {'version'}), 'enclaves': ({'enclave'}, set()),
    'enclave': ({'profiles'}, {'path'}), 'profiles': ({'profile'}, set()),
    'profile': ({'topics', 'services', 'actions'}, {'ns', 'node'}),
    'topics': ({'topic'}, {'publish', 'subscribe'}),
    'services': ({'service'}, {'reply', 'request'}),
    'actions': ({'action'}, {'execute', 'call'}),
    'topic': (set(), set()), 'service': (set(), set()), 'action': (set(), set())}


class Right(NamedTuple):
    """Something that a node may do."""

    node: str
    verb: str
    name: str


def allowed() -> set[Right]:
    """Return what the policy allows, by full names."""
    rights = set()
    for profile in ElementTree.parse(POLICY).iter('profile'):
        node, root = profile.get('node', ''), profile.get('ns', '')
        for group in profile:
            for verb, word in group.attrib.items():
                assert word == 'ALLOW'
                for entry in group:
                    name = str(entry.text).replace('~', f'/{node}')
                    rights.add(Right(node, verb, name if name[0] == '/' else root + name))
    return rights


def opened(system: System, node: str) -> Iterator[Right]:
    """Yield what a live node has opened; an action instead of its topics and services."""
    asked = system.node
    for verb, names in (
        ('publish', asked.get_publisher_names_and_types_by_node(node, '/')),
        ('subscribe', asked.get_subscriber_names_and_types_by_node(node, '/')),
        ('reply', asked.get_service_names_and_types_by_node(node, '/')),
        ('request', asked.get_client_names_and_types_by_node(node, '/')),
    ):
        for name, _ in names:
            action, _, part = name.partition('/_action/')
            if not part:
                yield Right(node, verb, name)
            elif part == 'send_goal':  # what every server and every client of an action has
                yield Right(node, 'execute' if verb == 'reply' else 'call', action)


def test_the_policy_has_the_form_that_sros2_reads() -> None:
    root = ElementTree.parse(POLICY).getroot()
    assert (root.tag, root.get('version')) == ('policy', '0.2.0')
    for element in root.iter():
        children, attributes = FORM[element.tag]
        assert {child.tag for child in element} <= children, element.tag
        assert set(element.attrib) <= attributes, element.tag
        if not children:
            assert element.text and element.text.strip() == element.text
    enclaves = {enclave.get('path'): {profile.get('node') for profile in enclave.iter('profile')}
                for enclave in root.iter('enclave')}
    assert enclaves == {**ENCLAVES, '/web': WEB, '/markers': MARKERS, '/vda5050': VDA5050,
                        **{f'/{node}': {node} for node in MODELS}}


def test_sros2_makes_keys_for_each_enclave() -> None:
    """It takes each child of <enclaves> for an enclave, comments as well (generate_artifacts)."""
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    enclaves = ElementTree.parse(POLICY, parser).getroot().find('enclaves')
    assert enclaves is not None
    assert [child.get('path') for child in enclaves] == [*ENCLAVES_IN_ORDER]


def test_the_page_names_each_interface_that_the_policy_has() -> None:
    managed = {str(entry.text) for group in ElementTree.parse(POLICY).iter('services')
               for entry in group if group[0].text == '~/change_state'}
    for node in (*ENCLAVES, *(f'/{node}' for node in (*MODELS, 'markers', 'vda5050', 'web'))):
        section = PAGE.read_text().partition(f'\n## {node[1:]}\n')[2].partition('\n## ')[0]
        (profile,) = (profile for profile in ElementTree.parse(POLICY).iter('profile')
                      if profile.get('node') == node[1:])
        own = {str(entry.text) for group in profile for entry in group}
        assert set(re.findall(r'`(~/\w+)`', section)) == {
            name for name in own - managed - {'~/transition_event'} if name.startswith('~')}, node


def test_the_policy_allows_what_live_nodes_open_and_nothing_else(
    system: System, tmp_path: Path
) -> None:
    system.start_all(boxes=True)
    run = system.run(flow_file(tmp_path, seconds=3))
    nodes = set.union(*ENCLAVES.values())
    rights = {right for right in allowed() if right.node in nodes}

    def live() -> set[Right]:
        names = system.node.get_node_names()
        assert len(names) == len(set(names)), names
        return {right for node in nodes & set(names) for right in opened(system, node)}

    of_robot = _of_robot()
    system.until(lambda: rights - of_robot <= live() or run.poll() is not None, 40,
                 'everything is open')
    seen = live()

    def silent() -> set[str]:
        visible = [name for name in system.node.get_node_names() if not name.startswith('_')]
        services = dict(system.node.get_service_names_and_types())
        return {name for name in visible if f'/{name}/list_parameters' not in services}

    system.until(lambda: not silent(), 20, 'none for which `ros2 param list` waits')
    run.communicate(timeout=40)
    seen |= live()
    assert {right.node for right in seen} == nodes
    assert seen - rights == set(), 'opened, but not allowed'
    assert rights - seen - of_robot == set(), 'allowed, but not needed'
    assert of_robot <= rights


@pytest.mark.parametrize('model', MODELS)
def test_the_policy_of_a_language_model_is_what_the_node_opens(
    system: System, model: str, tmp_path: Path
) -> None:
    pytest.importorskip('openai')
    journal = {'journal_path': tmp_path / 'agent.journal'} if model == 'agent' else {}
    system.start(model, base_url='http://localhost:9/v1', model='none', **journal)
    rights = {right for right in allowed() if right.node == model}
    system.until(lambda: model in system.node.get_node_names() and rights <= set(
        opened(system, model)), 20, 'everything is open')
    assert set(opened(system, model)) == rights


def test_the_policy_of_the_node_for_a_fleet_manager_is_what_it_opens(
    system: System, tmp_path: Path
) -> None:
    pytest.importorskip('paho.mqtt.client')
    system.start('vda5050', broker_url='mqtt://127.0.0.1:9', order_file=tmp_path / 'order',
                 mapping_file=SHARE / 'config' / 'vda5050' / 'nav2.yaml')
    rights = {right for right in allowed() if right.node == 'vda5050'}
    system.until(lambda: 'vda5050' in system.node.get_node_names() and rights <= set(
        opened(system, 'vda5050')), 20, 'everything is open')
    assert set(opened(system, 'vda5050')) == rights


def _of_robot() -> set[Right]:
    """Return what the bridge needs for the facts and the flow of the demo."""
    facts = yaml.safe_load((SHARE / 'config' / 'facts' / 'cell.yaml').read_text())
    flow = yaml.safe_load((SHARE / 'config' / 'flows' / 'pick_and_place.yaml').read_text())
    topics = {fact['topic'] for fact in facts['facts'].values() if 'topic' in fact}
    servers = set(_servers(flow))
    return {Right('world_model_bridge', 'subscribe', f'/{name}')
            for name in topics | {facts['estop']['topic']}} | {
        Right('world_model_bridge', 'call', f'/{name}') for name in servers}


def _servers(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        if isinstance(data.get('server'), str):
            yield data['server']
        for value in data.values():
            yield from _servers(value)
    elif isinstance(data, list):
        for value in data:
            yield from _servers(value)
