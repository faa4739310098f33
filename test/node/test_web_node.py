# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The web node as a process: it serves pages, and its death changes nothing for the robots."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection
import math
from pathlib import Path
import re
import socket
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
import pytest

from .test_security import allowed, opened, Right, WEB
from .web_rig import ACTION_NODE, BRIDGE, Fleet, LEDGER

pytest.importorskip('nicegui')

WAITS = 'wait: {confirm: {condition: level > 10.0, within: 60.0}}'


@pytest.fixture(scope='module')
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path_factory.mktemp('web'), {'one': 1.0})
    fleet.start('one', BRIDGE, LEDGER, ACTION_NODE)
    yield fleet
    fleet.close()


def start(fleet: Fleet, name: str, **parameters: Any) -> Path:
    """Start a web node in a namespace of its own; returns its log."""
    fleet.processes[name, 'web'] = fleet.spawn(
        'web', {'autostart': True, 'port': 0, 'robots': "['/one']", **parameters},
        '-r', f'__ns:=/{name}', log=f'{name}_web')
    return fleet.folder / f'{name}_web.log'


def address(fleet: Fleet, log: Path, number: int = 1) -> tuple[str, int]:
    """Return host and port that the log names for the `number`th time."""
    def found() -> list[Any]:
        return re.findall(r'viewer: http://([\d.]+):(\d+)/', log.read_text())[number - 1:]
    host, port = fleet.until(found, 40.0, 'an address')[0]
    return host, int(port)


def page(where: tuple[str, int], path: str = '/') -> tuple[int, str]:
    connection = HTTPConnection(*where, timeout=20.0)
    try:
        connection.request('GET', path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def lifecycle_client(fleet: Fleet, name: str) -> Any:
    """Return a client of a viewer's lifecycle when the viewer has discovered it."""
    client = fleet.node.create_client(ChangeState, f'/{name}/web/change_state')
    asked: list[Any] = []
    last = -math.inf

    def answered() -> bool:
        """Ask for what is never possible: DDS loses answers to a client it does not know yet."""
        nonlocal last
        if client.service_is_ready() and time.monotonic() > last + 1.0:
            last = time.monotonic()
            asked.append(client.call_async(ChangeState.Request(
                transition=Transition(id=Transition.TRANSITION_CREATE))))
        return any(answer.done() for answer in asked)

    fleet.until(answered, 40.0, 'an answer')
    assert not next(answer for answer in asked if answer.done()).result().success
    return client


def test_a_killed_viewer_changes_nothing_for_the_robot(fleet: Fleet) -> None:
    log = start(fleet, 'viewer')
    host, port = address(fleet, log)
    assert host == '127.0.0.1'
    status, text = page((host, port))
    assert status == 200 and 'action_lifecycle' in text
    fleet.send('one', 'survives', WAITS)
    fleet.until_row('one', flow_id='survives', action_id='wait', event='start')
    fleet.kill('viewer', 'web')
    with pytest.raises(OSError):
        page((host, port))
    fleet.levels['one'] = 11.0
    fleet.until_row('one', flow_id='survives', kind='flow', to_state='FINISH')
    fleet.levels['one'] = 1.0
    assert not [row for row in fleet.rows('one') if 'web' in row.actor]
    where = address(fleet, start(fleet, 'viewer'), 2)
    assert page(where)[0] == 200
    fleet.processes['viewer', 'web'].terminate()
    fleet.processes.pop(('viewer', 'web')).wait(10.0)


def test_its_diagnostics_name_the_robots_that_it_sees(fleet: Fleet) -> None:
    told: dict[str, DiagnosticStatus] = {}
    fleet.node.create_subscription(
        DiagnosticArray, '/diagnostics', lambda message: told.update(
            {status.name: status for status in message.status}), 10)
    start(fleet, 'seen', robots="['/one', '/nobody']")
    fleet.until(lambda: 'seen/web: web' in told and '1 of 2 robots seen' in told[
        'seen/web: web'].message, 40.0, 'diagnostics')
    status = told['seen/web: web']
    values = {value.key: value.value for value in status.values}
    assert status.level == DiagnosticStatus.WARN and values['pages'] == '0'
    fleet.until(lambda: 'world_model_bridge active' in {
        value.key: value.value for value in told['seen/web: web'].values}['one'], 10.0, 'active')
    assert 'action_lifecycle never seen' in values['nobody']
    fleet.processes.pop(('seen', 'web')).kill()


def test_it_is_deactivated_and_configured_again(fleet: Fleet) -> None:
    where = address(fleet, start(fleet, 'again'))
    client = lifecycle_client(fleet, 'again')
    for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP,
                       Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        assert fleet.ask(client, ChangeState.Request(transition=Transition(id=transition))).success
        assert page(where)[0] == 200
    assert address(fleet, fleet.folder / 'again_web.log', 2) == where
    fleet.processes['again', 'web'].terminate()
    assert fleet.processes.pop(('again', 'web')).wait(10.0) == 0


def test_it_has_the_page_of_the_fleet_if_there_is_a_ledger(fleet: Fleet) -> None:
    where = address(fleet, start(fleet, 'with_fleet', ledger_url='memory://web'))
    status, text = page(where, '/fleet')
    assert status == 200 and '/fleet' in text and page(where, '/fleet?robot=one')[0] == 200
    fleet.processes.pop(('with_fleet', 'web')).kill()
    without = address(fleet, start(fleet, 'without_fleet'))
    status, text = page(without)
    assert status == 200 and '/fleet' not in text
    assert page(without, '/fleet')[0] == 404
    fleet.processes.pop(('without_fleet', 'web')).kill()


@pytest.mark.parametrize(('parameters', 'said'), [
    ({'port': 'taken'}, r"can't use port \d+"),
    ({'host': '0.0.0.0'}, 'a token is needed'),
    ({'robots': "['/a', '/b']", 'journal_path': '/tmp/x'}, 'journal_path: is for one robot'),
    ({'robots': "['/a', 'a']"}, "robots: 'a' is there twice"),
    ({'robots': "['a b']"}, 'robots: .*a b'),
    ({'token_file': '/nowhere/token'}, '/nowhere/token'),
    ({'certificate': '/x.pem'}, 'expected both')])
def test_a_bad_parameter_leaves_it_unconfigured(
    fleet: Fleet, parameters: dict[str, Any], said: str
) -> None:
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        given = {name: taken.getsockname()[1] if value == 'taken' else value
                 for name, value in parameters.items()}
        name = f'bad_{len(list(fleet.folder.glob("bad_*.log")))}'
        log = start(fleet, name, **given)
        fleet.until(lambda: re.search(f'configure: .*{said}', log.read_text()), 40.0, said)
        client = fleet.node.create_client(GetState, f'/{name}/web/get_state')
        state = fleet.ask(client, GetState.Request()).current_state
        assert state.id == State.PRIMARY_STATE_UNCONFIGURED
        assert 'Traceback' not in log.read_text()
        fleet.node.destroy_client(client)
        fleet.kill(name, 'web')


def test_the_policy_of_the_web_node_is_what_it_opens(fleet: Fleet) -> None:
    fleet.processes['', 'web'] = fleet.spawn(
        'web', {'autostart': True, 'port': 0, 'use_sim_time': True,
                'journal_path': fleet.folder / 'no.journal'}, log='policy_web')
    rights = {right for right in allowed() if right.node in WEB}
    shown = {Right('_web_capped', 'subscribe', name)
             for name in ('/tf', '/tf_static', '/world_model_bridge/all_facts')}

    def live() -> set[Right]:
        names = set(fleet.node.get_node_names_and_namespaces())
        found = {right for node in WEB if (node, '/') in names
                 for right in opened(fleet, node)}  # type: ignore[arg-type]
        feedback = {Right('web', 'subscribe', name) for name, _ in
                    fleet.node.get_subscriber_names_and_types_by_node('web', '/')
                    if name.endswith('/_action/feedback')} if ('web', '/') in names else set()
        return found | feedback

    fleet.until(lambda: rights - shown <= live(), 40.0, 'everything is open')
    assert live() == rights - shown
    assert shown <= rights
    fleet.kill('', 'web')
