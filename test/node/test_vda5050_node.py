# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Orders of a fleet manager over a real broker, run by real nodes on scripted hardware."""

from __future__ import annotations

from collections.abc import Iterator
import json
from typing import Any

from action_lifecycle_msgs.srv import ClearStop
import pytest
from unit.vda5050.orders import action, HEADER, line, node, SERIAL

from .vda5050_rig import Vda5050Rig


@pytest.fixture(scope='module')
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vda5050Rig]:
    rig = Vda5050Rig(tmp_path_factory.mktemp('vda5050'))
    rig.add(SERIAL, drives=9, slow={7: 20.0, 8: 20.0})  # those that are paused and canceled
    rig.until_ready(SERIAL)
    yield rig
    rig.close()


def test_an_order_of_two_nodes_and_an_action(rig: Vda5050Rig) -> None:
    fleet = rig.fleet
    lift = action('lift', height=0.2)
    fleet.send(SERIAL, 'order', line(0, 1, order='o1', actions={1: [lift]}))
    rig.until_done(SERIAL, 'o1')
    state = fleet.last(SERIAL)
    assert (state['lastNodeId'], state['lastNodeSequenceId'], state['errors']) == ('n1', 2, [])
    assert fleet.status(SERIAL, lift['actionId']) == 'FINISHED'
    seen = [one['actionStatus'] for message in fleet.messages[SERIAL]['state']
            for one in message['actionStates']]
    assert seen.index('WAITING') < seen.index('RUNNING') < seen.index('FINISHED')
    assert any(message['driving'] for message in fleet.messages[SERIAL]['state'])
    assert [row.to_state for row in rig.rows(SERIAL, kind='flow') if row.final] == ['FINISH']
    assert rig.fleet.faults == []


def test_an_order_that_it_can_not_do_is_refused_as_a_whole(rig: Vda5050Rig) -> None:
    fleet, before = rig.fleet, len(rig.goals(SERIAL))
    fleet.send(SERIAL, 'order', line(1, 2, order='o2', actions={2: [action('lft', height=0.2)]}))
    rig.until(lambda: fleet.errors(SERIAL) == ['orderError'], 20.0, 'the refusal')
    found, = fleet.last(SERIAL)['errors']
    references = {one['referenceKey']: one['referenceValue'] for one in found['errorReferences']}
    assert references['orderId'] == 'o2' and references['actionType'] == 'lft'
    assert "did you mean 'lift'?" in found['errorDescription']
    fleet.send(SERIAL, 'order', '{')
    rig.until(lambda: 'validationError' in fleet.errors(SERIAL), 20.0, 'the refusal')
    fleet.send(SERIAL, 'order', line(4, 5, order='o3'))
    rig.until(lambda: 'noRouteError' in fleet.errors(SERIAL), 20.0, 'the refusal')
    fleet.send(SERIAL, 'order', line(1, 2, order='o9', actions={2: [action('measure')]}))
    rig.until(lambda: any('no_such_fact' in one['errorDescription']
                          for one in fleet.last(SERIAL)['errors']), 20.0, 'the bridge refuses it')
    fleet.send(SERIAL, 'order', line(1, 2, order='o1', update=1, actions={2: [action('measure')]}))
    update = {'referenceKey': 'orderUpdateId', 'referenceValue': '1'}
    rig.until(lambda: any(
        'no_such_fact' in one['errorDescription'] and update in one['errorReferences']
        for one in fleet.last(SERIAL)['errors']), 20.0, 'the same')
    state = fleet.last(SERIAL)
    assert (state['orderId'], state['orderUpdateId'], state['lastNodeId']) == ('o1', 0, 'n1')
    assert len(rig.goals(SERIAL)) == before


@pytest.mark.parametrize(('order', 'kind', 'words'), [
    ({**line(1, 2), 'serialNumber': '0002'}, 'validationError', "serialNumber '0002', this robot"),
    ({**line(1, 2), 'manufacturer': 'other'}, 'validationError', "manufacturer 'other', this"),
    ({**line(1, 1, order='o12'), 'nodes': [node(1, mapId='cellar')]}, 'orderError',
     "map 'cellar', this robot"),
    ({**line(0, 1, order='o1')}, 'orderUpdateError', 'with other contents'),
    (json.dumps(line(1, 2)).replace('"x": 2.0', '"x": 9.0, "x": 2.0'), 'validationError',
     "duplicate key 'x'"),
])
def test_an_order_that_is_not_for_this_robot_is_refused(
    rig: Vda5050Rig, order: Any, kind: str, words: str
) -> None:
    fleet, before = rig.fleet, len(rig.goals(SERIAL))
    text = order if isinstance(order, str) else json.dumps({'headerId': 1, **order})
    fleet.send(SERIAL, 'order', text)
    rig.until(lambda: any(one['errorType'] == kind and words in one['errorDescription']
                          for one in fleet.last(SERIAL)['errors']), 20.0, 'the refusal')
    state = fleet.last(SERIAL)
    assert (state['orderId'], state['orderUpdateId'], state['lastNodeId']) == ('o1', 0, 'n1')
    assert len(rig.goals(SERIAL)) == before


def test_instant_actions_for_another_robot_are_refused(rig: Vda5050Rig) -> None:
    fleet, lift = rig.fleet, action('lift', 'NONE', height=0.1)
    fleet.send(SERIAL, 'instantActions', json.dumps(
        {**HEADER, 'serialNumber': '0002', 'actions': [lift]}))
    rig.until(lambda: any("serialNumber '0002'" in one['errorDescription'] and
                          {'referenceKey': 'topic', 'referenceValue': 'instantActions'}
                          in one['errorReferences']
                          for one in fleet.last(SERIAL)['errors']), 20.0, 'the refusal')
    assert fleet.status(SERIAL, lift['actionId']) == ''


def test_an_update_extends_the_base_while_the_robot_drives(rig: Vda5050Rig) -> None:
    fleet = rig.fleet
    fleet.send(SERIAL, 'order', line(1, 2, 3, order='o4'))
    rig.until(lambda: fleet.last(SERIAL)['driving'], 20.0, 'it drives')
    state = fleet.last(SERIAL)
    assert state['errors'] == []  # of the refused orders, until a new one is taken over
    assert [(one['nodeId'], one['released']) for one in state['nodeStates']] == [
        ('n2', True), ('n3', False)]
    assert state['newBaseRequest']
    fleet.send(SERIAL, 'order', line(2, 3, order='o4', update=1))
    rig.until_done(SERIAL, 'o4', 1)
    fleet.send(SERIAL, 'order', line(2, 3, order='o4', update=1))  # once more: ignored
    fleet.send(SERIAL, 'order', line(2, 3, order='o4', update=0))
    rig.until(lambda: fleet.errors(SERIAL) == ['orderUpdateError'], 20.0, 'the refusal')
    assert fleet.last(SERIAL)['lastNodeId'] == 'n3'
    assert len(rig.goals(SERIAL)) == 3


def test_a_node_that_was_killed_finds_its_order_again(rig: Vda5050Rig) -> None:
    fleet = rig.fleet
    beep = action('beep', 'NONE')
    order = line(3, 4, order='o5', actions={4: [beep]})
    fleet.send(SERIAL, 'order', order)
    rig.until(lambda: fleet.last(SERIAL)['driving'], 20.0, 'it drives')
    rig.kill(SERIAL, 'vda5050')
    rig.until(lambda: fleet.last(SERIAL, 'connection')['connectionState'] == 'CONNECTIONBROKEN',
              40.0, 'the last will')
    fleet.send(SERIAL, 'order', line(4, 5, order='old'), retain=True)
    fleet.send(SERIAL, 'instantActions', {'actions': [action('cancelOrder', 'NONE', 'late')]},
               retain=True)
    rig.start_node(SERIAL)
    rig.until(lambda: fleet.last(SERIAL, 'connection')['connectionState'] == 'ONLINE', 40.0,
              'the robot is back')
    rig.until(lambda: {'orderError', 'instantActionError'} <= {*fleet.errors(SERIAL)}, 20.0,
              'what the broker has kept is refused')
    for topic in ('order', 'instantActions'):
        fleet.send(SERIAL, topic, '', retain=True)  # the broker forgets it
    assert all('retained' in one['errorDescription'] for one in fleet.last(SERIAL)['errors']
               if one['errorType'] in ('orderError', 'instantActionError'))
    fleet.send(SERIAL, 'order', order)  # as a fleet manager does that is not sure
    rig.until_done(SERIAL, 'o5')
    assert fleet.status(SERIAL, beep['actionId']) == 'FINISHED'
    assert fleet.status(SERIAL, 'late') == ''
    assert len(rig.goals(SERIAL)) == 4


def test_a_restart_of_the_broker_loses_nothing(rig: Vda5050Rig) -> None:
    fleet = rig.fleet
    fleet.send(SERIAL, 'order', line(4, 5, 6, order='o6'))
    rig.until(lambda: fleet.last(SERIAL)['driving'], 20.0, 'it drives')
    before, online = fleet.connections, len(fleet.messages[SERIAL]['connection'])
    rig.broker.restart()
    rig.until(lambda: fleet.connections > before and len(
        fleet.messages[SERIAL]['connection']) > online, 40.0, 'both are back')
    fleet.instant(SERIAL, action('stateRequest', 'NONE'))  # what it has sent before may be lost
    rig.until(lambda: fleet.last(SERIAL)['lastNodeId'] == 'n5', 40.0, 'the base is done')
    fleet.send(SERIAL, 'order', line(5, 6, order='o6', update=1))
    rig.until_done(SERIAL, 'o6', 1)
    assert len(rig.goals(SERIAL)) == 6


def test_a_pause_stops_the_drive_and_a_cancel_ends_the_order(rig: Vda5050Rig) -> None:
    fleet = rig.fleet
    pause, resume, cancel = (action(kind, 'NONE') for kind in (
        'startPause', 'stopPause', 'cancelOrder'))
    fleet.send(SERIAL, 'order', line(6, 8, order='o7'))
    rig.until(lambda: fleet.last(SERIAL)['driving'], 20.0, 'it drives')
    fleet.instant(SERIAL, pause)
    rig.until(lambda: fleet.status(SERIAL, pause['actionId']) == 'FINISHED', 30.0, 'the pause')
    assert fleet.last(SERIAL)['paused'] and not fleet.last(SERIAL)['driving']
    fleet.instant(SERIAL, resume)
    rig.until(lambda: fleet.status(SERIAL, resume['actionId']) == 'FINISHED', 30.0, 'the resume')
    assert not fleet.last(SERIAL)['paused']
    fleet.instant(SERIAL, cancel)
    rig.until(lambda: fleet.status(SERIAL, cancel['actionId']) == 'FINISHED', 30.0, 'the cancel')
    state = fleet.last(SERIAL)
    assert (state['orderId'], state['nodeStates'], state['driving']) == ('o7', [], False)
    assert 'driveError' not in [
        one['errorType'] for message in fleet.messages[SERIAL]['state']
        if message['orderId'] == 'o7' for one in message['errors']]
    again = action('cancelOrder', 'NONE')
    fleet.instant(SERIAL, again)
    rig.until(lambda: fleet.status(SERIAL, again['actionId']) == 'FAILED', 20.0, 'the refusal')
    assert 'noOrderToCancel' in fleet.errors(SERIAL)


def test_instant_actions_of_the_mapping_file_and_requests(rig: Vda5050Rig) -> None:
    fleet = rig.fleet
    lift, bad = action('lift', 'NONE', height=0.1), action('beep', 'NONE')
    sheets = len(fleet.messages[SERIAL]['factsheet'])
    fleet.instant(SERIAL, lift, bad, action('factsheetRequest', 'NONE'))
    rig.until(lambda: fleet.status(SERIAL, lift['actionId']) == 'FINISHED', 30.0, 'it is lifted')
    assert fleet.status(SERIAL, bad['actionId']) == 'FAILED'
    rig.until(lambda: len(fleet.messages[SERIAL]['factsheet']) > sheets, 20.0, 'the factsheet')
    kinds = [one['actionType'] for one in fleet.last(
        SERIAL, 'factsheet')['protocolFeatures']['agvActions']]
    assert 'lift' in kinds and 'cancelOrder' in kinds
    assert fleet.last(SERIAL, 'visualization')['agvPosition']['mapId'] == 'hall'


def at_rest(rig: Vda5050Rig, order: str, *actions: dict[str, Any]) -> dict[str, Any]:
    """Return an order of one node, where the robot stands."""
    made = line(6, 6, order=order, actions={6: [*actions]})
    made['nodes'][0]['nodePosition']['x'] = round(rig.fleet.last(SERIAL)['agvPosition']['x'], 1)
    return made


def test_a_pause_while_an_order_is_taken_over_stops_it(rig: Vda5050Rig) -> None:
    fleet, lifts = rig.fleet, len(rig.goals(SERIAL, 'lift'))
    pause, resume = action('startPause', 'NONE'), action('stopPause', 'NONE')
    lift = action('lift', height=0.3)
    fleet.send(SERIAL, 'order', at_rest(rig, 'o10', lift))
    fleet.instant(SERIAL, pause)
    rig.until(lambda: fleet.status(SERIAL, pause['actionId']) in ('FINISHED', 'FAILED'), 30.0,
              'the pause')
    state = fleet.last(SERIAL)
    assert fleet.status(SERIAL, pause['actionId']) == 'FINISHED' and state['paused']
    assert 'instantActionError' not in fleet.errors(SERIAL)
    assert len(rig.goals(SERIAL, 'lift')) == lifts \
        or fleet.status(SERIAL, lift['actionId']) == 'PAUSED'
    fleet.instant(SERIAL, resume)
    rig.until_done(SERIAL, 'o10')
    assert fleet.status(SERIAL, lift['actionId']) == 'FINISHED'


def test_a_pause_that_is_overtaken_ends_as_well(rig: Vda5050Rig) -> None:
    fleet = rig.fleet
    lift, beep = action('lift', height=0.0), action('beep', 'NONE')
    pairs = [(action('startPause', 'NONE'), action('stopPause', 'NONE')) for _ in range(3)]

    def until_ended(*actions: dict[str, Any]) -> None:
        rig.until(lambda: all(fleet.status(SERIAL, one['actionId']) in ('FINISHED', 'FAILED')
                              for one in actions), 20.0, 'all have ended')
    fleet.instant(SERIAL, *pairs[0])  # without an order
    until_ended(*pairs[0])
    fleet.send(SERIAL, 'order', at_rest(rig, 'o11', lift, beep))
    fleet.instant(SERIAL, *pairs[1])  # while its flow begins
    fleet.instant(SERIAL, *pairs[2])
    rig.until_done(SERIAL, 'o11')
    until_ended(*pairs[1], *pairs[2])
    assert fleet.status(SERIAL, pairs[2][1]['actionId']) == 'FINISHED'
    assert fleet.status(SERIAL, lift['actionId']) == 'FINISHED'
    assert (fleet.last(SERIAL)['paused'], fleet.errors(SERIAL)) == (False, [])


def test_an_order_id_with_other_contents_is_refused(rig: Vda5050Rig) -> None:
    fleet, flows = rig.fleet, len(rig.rows(SERIAL, kind='flow'))
    fleet.send(SERIAL, 'order', at_rest(rig, 'o1', action('lift', height=0.1)))
    rig.until(lambda: fleet.errors(SERIAL) == ['orderError'], 20.0, 'the refusal')
    found, = fleet.last(SERIAL)['errors']
    assert "order 'o1', update 0 was already run with other nodes" in found['errorDescription']
    assert fleet.last(SERIAL)['orderId'] == 'o11'
    assert len(rig.rows(SERIAL, kind='flow')) == flows


def test_an_order_during_a_pause_is_taken_over_at_its_end(rig: Vda5050Rig) -> None:
    fleet = rig.fleet
    pause, resume = action('startPause', 'NONE'), action('stopPause', 'NONE')
    beep = action('beep', 'NONE', 'beep-o8')
    fleet.instant(SERIAL, pause)
    rig.until(lambda: fleet.status(SERIAL, pause['actionId']) == 'FINISHED', 30.0, 'the pause')
    fleet.send(SERIAL, 'order', at_rest(rig, 'o8', beep))
    fleet.instant(SERIAL, resume)
    rig.until_done(SERIAL, 'o8')
    assert fleet.status(SERIAL, beep['actionId']) == 'FINISHED'
    assert not fleet.last(SERIAL)['paused']


def test_an_order_that_is_sent_again_after_the_order_file_is_lost_is_not_run_again(
    rig: Vda5050Rig
) -> None:
    fleet, flows = rig.fleet, len(rig.rows(SERIAL, kind='flow'))
    rig.kill(SERIAL, 'vda5050')
    (rig.folder / f'{SERIAL}.order').unlink()
    states = len(fleet.messages[SERIAL]['state'])
    rig.start_node(SERIAL)
    rig.until(lambda: len(fleet.messages[SERIAL]['state']) > states
              and fleet.last(SERIAL)['orderId'] == '' and fleet.last(SERIAL)['errors'] == [],
              40.0, 'it knows of no order')
    beep = action('beep', 'NONE', 'beep-o8')
    fleet.send(SERIAL, 'order', at_rest(rig, 'o8', beep))
    rig.until_done(SERIAL, 'o8')
    assert fleet.status(SERIAL, beep['actionId']) == 'FINISHED'
    assert len(rig.rows(SERIAL, kind='flow')) == flows


def test_a_latched_stop_says_what_to_do_until_a_person_clears_it(rig: Vda5050Rig) -> None:
    fleet, robot = rig.fleet, rig.robots[SERIAL]

    def stop() -> dict[str, Any]:
        return next((one for one in fleet.last(SERIAL)['errors']
                     if one['errorType'] == 'safetyStop'), {})
    robot.estop = True
    rig.until(lambda: 'can not be cleared now' in stop().get('errorDescription', ''), 20.0,
              'the stop')
    assert stop()['errorLevel'] == 'FATAL'
    assert 'says stop; latched: look at the robot' in stop()['errorDescription']
    assert {one['referenceKey']: one['referenceValue'] for one in stop()['errorReferences']} == {
        'topic': f'/r{SERIAL}/estop'}
    assert fleet.last(SERIAL)['safetyState']['eStop'] == 'MANUAL'
    robot.estop = False
    rig.until(lambda: stop() and 'now:' not in stop()['errorDescription'], 20.0, 'its cause ends')
    assert stop()['errorDescription'].endswith(
        'then clear the stop: action_lifecycle clear-stop, or the viewer')
    assert fleet.last(SERIAL)['safetyState']['eStop'] == 'MANUAL'
    client = rig.node.create_client(ClearStop, f'/r{SERIAL}/action_lifecycle/clear_stop')
    rig.until(client.service_is_ready, 20.0, 'the service')
    cleared = client.call_async(ClearStop.Request(actor='anna', reason='looked at it'))
    rig.until(cleared.done, 20.0, 'the answer')
    assert cleared.result().accepted
    rig.until(lambda: fleet.last(SERIAL)['safetyState']['eStop'] == 'NONE' and not stop(), 20.0,
              'the stop is cleared')


def test_all_messages_are_as_the_specification_wants_them(rig: Vda5050Rig) -> None:
    heads = [message['headerId'] for message in rig.fleet.messages[SERIAL]['state']]
    assert heads and rig.fleet.faults == []
    restarts = [after for before, after in zip(heads, heads[1:]) if after <= before]
    assert len(restarts) <= 2  # of the node that was killed
