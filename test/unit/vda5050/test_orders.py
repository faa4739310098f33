# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Orders and updates: what is refused, and what flow they become."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.edits.edit_validation import check_edit
from action_lifecycle.flow.files.edit import parse_edit
from action_lifecycle.vda5050.errors import OrderRefused
from action_lifecycle.vda5050.identity import Identity
from action_lifecycle.vda5050.judge import check_header, judge_order
from action_lifecycle.vda5050.mapping import read_mapping
from action_lifecycle.vda5050.order import Order, read_instant_actions, read_order
from action_lifecycle.vda5050.order_flow import (
    checked_text,
    content_digest,
    DIGEST,
    edit_text,
    flow_actions,
    flow_id,
    instant_flow,
)
from action_lifecycle.vda5050.progress import ActionNow, Progress
from action_lifecycle.vda5050.record import InstantAction, read_record, Record
from hypothesis import given
from hypothesis import strategies as some
import pytest

from .orders import action, edge, HEADER, line, MANUFACTURER, node, SERIAL

MAPPING = """\
vda5050: 1
drive: {resources: [base], confirm: 'dist(at, [x, y]) < max(deviation_xy, 0.2)'}
actions:
  work: {scopes: [NODE, EDGE, INSTANT], action: {confirm: done}}
  lift:
    blocking: [HARD]
    parameters: {height: {type: number, max: 0.5}, slow: false}
    action: {confirm: lifted > height}
state: {map: hall, battery: {charge: battery}}
factsheet:
  typeSpecification: {seriesName: test, agvKinematic: DIFF, agvClass: CARRIER, maxLoadMass: 1.0,
                      localizationTypes: [NATURAL], navigationTypes: [AUTONOMOUS]}
  physicalParameters: {speedMin: 0.0, speedMax: 1.0, accelerationMax: 1.0, decelerationMax: 1.0,
                       heightMax: 1.0, width: 1.0, length: 1.0}
""".replace('slow: false', 'slow: {default: false}')


@pytest.fixture(scope='module')
def mapped(tmp_path_factory):
    path = tmp_path_factory.mktemp('mapping') / 'mapping.yaml'
    path.write_text(MAPPING)
    return read_mapping(path)


def after(order, mapped):
    """Return what each action of the flow waits for."""
    return {one.name: one.after for one in flow_actions(read_order(order), mapped)}


def refusal(message, progress, mapped):
    with pytest.raises(OrderRefused) as refused:
        judge_order(message, progress, mapped)
    return refused.value


def succeeded(order, *names):
    return {name: ActionNow('terminated', 'succeeded') for name in names or [
        one.name for one in order.actions()] + [one.drive for one in order.base[1:]]}


# The flow


def test_a_line_of_nodes_is_one_drive_after_the_other(mapped):
    assert after(line(0, 2, 4), mapped) == {'drive_2': [], 'drive_4': ['drive_2']}
    text = checked_text(flow_actions(read_order(line(0, 2, 4)), mapped), 'order', mapped)
    flow = parse_flow(text, 'order')
    assert [*flow.actions] == ['drive_2', 'drive_4']
    assert flow.actions['drive_4'].parameters['x'] == 2.0


@pytest.mark.parametrize(('kinds', 'expected', 'leaves'), [
    (['NONE', 'NONE'], [['drive_2'], ['drive_2']], ['drive_2']),
    (['SOFT', 'NONE'], [['drive_2'], ['drive_2']], ['drive_2', 0]),
    (['HARD', 'NONE'], [['drive_2'], [0]], [0]),
    (['NONE', 'HARD'], [['drive_2'], ['drive_2', 0]], [1]),
    (['SOFT', 'SOFT', 'HARD', 'SOFT'], [['drive_2'], ['drive_2'], ['drive_2', 0, 1], [2]], [2, 3]),
])
def test_blocking_types_are_dependencies(mapped, kinds, expected, leaves):
    found = after(line(0, 2, actions={1: [action('work', kind) for kind in kinds]}), mapped)

    def named(entries):
        return [f'node_2_action_{one}' if isinstance(one, int) else one for one in entries]
    for index, waits in enumerate(expected):
        assert found[f'node_2_action_{index}'] == named(waits)
    assert found['drive_4'] == named(leaves)


def test_a_hard_action_waits_for_those_of_earlier_nodes_that_may_still_run(mapped):
    found = after(line(0, 2, actions={
        0: [action('work', 'NONE')], 2: [action('work', 'HARD')]}), mapped)
    assert found['node_4_action_0'] == ['drive_4', 'node_0_action_0']


def test_actions_of_an_edge_run_before_the_drive_or_with_it(mapped):
    found = after(line(0, 1, edge_actions={
        0: [action('work', 'NONE'), action('work', 'HARD')]}), mapped)
    assert found == {'edge_1_action_1': [], 'drive_2': ['edge_1_action_1'],
                     'edge_1_action_0': ['edge_1_action_1']}


def test_a_node_without_theta_has_the_direction_from_the_one_before_it(mapped):
    order = line(0, 1)
    order['nodes'][1]['nodePosition'].update(x=0.0, y=2.0)
    found, = flow_actions(read_order(order), mapped)
    assert found.fields['parameters']['theta'] == pytest.approx(1.5708, abs=1e-4)


def test_the_id_of_a_flow_depends_on_nothing_but_the_order():
    assert flow_id(read_order(line(0, 1, order='o-1'))) == 'order-o-1.0'
    strange = flow_id(read_order(line(0, 1, order='Auftrag Nr. 7/ä')))
    assert strange == flow_id(read_order(line(0, 3, order='Auftrag Nr. 7/ä')))
    assert len(strange) < 100 and '/' not in strange


def test_the_digest_tells_orders_with_other_nodes_or_actions_apart(mapped):
    lift = action('lift', height=0.1)

    def digest(*arguments, **more):
        return content_digest(read_order(line(*arguments, **more)))
    known = digest(0, 1, actions={1: [lift]})
    assert known == digest(0, 1, 3, actions={1: [lift]})  # the horizon is not run
    assert len({known, digest(0, 1), digest(0, 2, actions={1: [lift]}),
                digest(0, 1, actions={0: [action('work')], 1: [lift]}),
                digest(0, 1, actions={1: [{**lift, 'blockingType': 'SOFT'}]})}) == 5
    update = judge_order(
        line(1, 3, update=1), Progress(read_order(line(0, 1, 2)), {}), mapped)
    assert update.digest == judge_order(line(1, 3, update=1), Progress(None, {}), mapped).digest
    assert parse_flow(update.text, 'update').parameters == {DIGEST: update.digest}


def test_equal_numbers_are_the_same_order_however_they_are_written(mapped):
    lift = action('lift', height=0, slow=True)
    known = judge_order(line(0, 1, actions={1: [lift]}), Progress(None, {}), mapped)
    order = line(0, 1, actions={1: [copy.deepcopy(lift)]})
    order['orderUpdateId'] = 0.0
    for entry in (*order['nodes'], *order['edges']):
        entry['sequenceId'] = float(entry['sequenceId'])
    order['nodes'][1]['nodePosition'].update(x=1, y=-0.0)
    order['nodes'][1]['actions'][0]['actionParameters'][0]['value'] = 0.0
    again = judge_order(order, Progress(None, {}), mapped)
    assert (again.flow_id, again.digest, again.text) == (known.flow_id, known.digest, known.text)
    order['nodes'][1]['actions'][0]['actionParameters'][1]['value'] = 1  # which is not true
    refused = refusal(order, Progress(None, {}), mapped)
    assert "parameter 'slow': expected true or false, got 1" in str(refused)


def test_the_order_in_the_documentation_is_valid():
    page = (Path(__file__).parents[3] / 'docs/vda5050.md').read_text(encoding='utf-8')
    order = read_order(json.loads(page.partition('```json\n')[2].partition('```')[0]))
    assert [one.name for one in order.actions()] == ['node_2_action_0']


# Refusals


def twice(data):
    """Return an action with a parameter twice."""
    return {**data, 'actionParameters': [{'key': 'height', 'value': value} for value in (1, 2)]}


@pytest.mark.parametrize(('change', 'expected'), [
    (lambda order: order.update(nodes=[], edges=[]), 'at least one node'),
    (lambda order: order['edges'].pop(), '1 edges between 3 nodes: expected 2'),
    (lambda order: order['edges'][0].update(endNodeId='n9'), "goes from 'n0' to 'n9'"),
    (lambda order: order['nodes'][1].update(sequenceId=7), 'sequenceIds 0, 1, 7'),
    (lambda order: order['nodes'][2].update(released=False), 'must be released together'),
    (lambda order: [one.update(released=False) for one in (order['nodes'][1], order['edges'][0])],
     "node 'n2' is released after a node that is not"),
    (lambda order: order['nodes'][1].update(actions=[twice(action('work', action_id='a'))]),
     'actionParameters: a key is there twice'),
    (lambda order: order['nodes'][1]['nodePosition'].pop('mapId'), "'mapId' is a required"),
    (lambda order: order['nodes'][1]['nodePosition'].update(theta=None), 'None is not of type'),
    (lambda order: order['nodes'][1]['nodePosition'].update(allowedDeviationXY=-0.1),
     'less than the minimum'),
    (lambda order: order['nodes'][1]['nodePosition'].update(
        allowedDeviationTheta=float('nan')), 'not finite'),
    (lambda order: order['nodes'][1].update(sequenceId=0), 'sequenceIds 0, 1, 0'),
    (lambda order: order['edges'][1].update(sequenceId=1), 'sequenceIds 2, 1, 4'),
    (lambda order: order.update(orderUpdateId=True), "True is not of type 'integer'"),
    (lambda order: order['nodes'][0].pop('nodeId'), "'nodeId' is a required property"),
    (lambda order: order['nodes'][0]['nodePosition'].update(x='1'), "'1' is not of type 'number'"),
    (lambda order: order['nodes'][0]['nodePosition'].update(x=float('nan')), 'not finite'),
    (lambda order: order.update(orderUpdateId=-1), 'less than the minimum'),
    (lambda order: order['nodes'][0].update(actions=[action('work', 'SOMETIMES')]),
     "'SOMETIMES' is not one of"),
    (lambda order: [one.update(actions=[action('work', action_id='a')])
                    for one in order['nodes'][:2]], "two actions have the actionId 'a'"),
    (lambda order: order.update(version='3.0.0'), "version '3.0.0'"),
])
def test_a_malformed_order_is_a_validation_error(mapped, change, expected):
    order = copy.deepcopy(line(0, 2))
    change(order)
    refused = refusal(order, Progress(None, {}), mapped)
    assert refused.kind == 'validationError' and expected in str(refused)


@pytest.mark.parametrize(('wrong', 'expected', 'references'), [
    (action('lift', action_id='a'), "parameter 'height': must be given",
     {'actionParameter': 'height'}),
    (action('lift', action_id='a', height=0.9), "parameter 'height': expected at most 0.5",
     {'actionParameter': 'height'}),
    (action('lift', action_id='a', height=0.1, hight=1), "did you mean 'height'?",
     {'actionParameter': 'hight'}),
    (action('lift', 'NONE', action_id='a', height=0.1), 'expected the blockingType HARD',
     {'blockingType': 'NONE'}),
    (action('lft', action_id='a'), "unknown; did you mean 'lift'?", {'actionType': 'lft'}),
])
def test_what_the_robot_can_not_do_is_an_order_error(mapped, wrong, expected, references):
    for released in (2, 1):  # also in the horizon
        refused = refusal(line(0, released, 2, actions={2: [wrong]}), Progress(None, {}), mapped)
        assert refused.kind == 'orderError' and expected in str(refused)
        assert refused.references == {**refused.references, 'actionId': 'a', 'nodeId': 'n2',
                                      **references}


def test_a_node_without_a_position_is_refused_by_its_name(mapped):
    order = line(0, 1)
    del order['nodes'][1]['nodePosition']
    refused = refusal(order, Progress(None, {}), mapped)
    assert (refused.kind, refused.references['nodeId']) == ('orderError', 'n1')


@pytest.mark.parametrize('place', ['nodeId', 'parameter', 'orderId'])
def test_texts_of_an_order_are_never_templates(mapped, place):
    order = line(0, 1, actions={1: [action('lift', height=0.1)]})
    if place == 'nodeId':
        order['nodes'][1]['nodeId'] = order['edges'][0]['endNodeId'] = '{{ facts.at }}'
    elif place == 'orderId':
        order['orderId'] = '{% if 1 %}'
    else:
        order['nodes'][1]['actions'][0]['actionParameters'][0]['value'] = ['{{ results }}']
    assert 'begin templates' in str(refusal(order, Progress(None, {}), mapped))


def test_a_second_order_waits_until_the_first_one_is_done_or_canceled(mapped):
    order = read_order(line(0, 1))
    progress = Progress(order, succeeded(order))
    assert judge_order(line(1, 2, order='o2'), progress, mapped).order.order_id == 'o2'
    assert "'o1' is not done" in str(refusal(
        line(1, 2, order='o2'), Progress(order, {}), mapped))
    assert judge_order(line(1, 2, order='o2'), Progress(order, {}, canceled=True), mapped)


# Updates


def test_an_update_adds_the_released_nodes_and_replaces_the_horizon(mapped):
    known = read_order(line(0, 1, 3))
    taken = judge_order(line(1, 3, 4, update=1), Progress(known, {}), mapped)
    assert [one.name for one in taken.added] == ['drive_4', 'drive_6'] and taken.is_update
    assert [one.node_id for one in taken.order.nodes] == ['n0', 'n1', 'n2', 'n3', 'n4']
    flow = parse_flow(checked_text(flow_actions(known, mapped), 'order', mapped), 'order')
    edited = check_edit(flow, parse_edit(edit_text(taken.added))).flow
    assert edited.actions['drive_4'].after.keys() == {'drive_2'}


@pytest.mark.parametrize(('update', 'expected'), [
    (line(0, 2, update=1), "begins with the last released node, 'n1'"),
    (line(2, 3, update=1), "got 'n2' with 4"),
    (line(1, 3, update=0), 'the robot has orderUpdateId 0 with other contents'),
    (line(1, 3, update=5), ''),
])
def test_an_update_that_does_not_continue_the_base_is_refused(mapped, update, expected):
    known = read_order({**line(0, 1, 3), 'orderUpdateId': 0})
    if not expected:
        assert judge_order(update, Progress(known, {}), mapped)
    else:
        refused = refusal(update, Progress(known, {}), mapped)
        assert refused.kind == 'orderUpdateError' and expected in str(refused)


def test_the_same_update_with_other_contents_is_refused(mapped):
    first, update = line(0, 1, 3), line(1, 2, 3, update=1)
    known = read_order(first).merged(read_order(update))
    progress = Progress(known, {})
    sent_again = {**copy.deepcopy(update), 'headerId': 7, 'timestamp': 'later'}
    sent_again['nodes'][0]['nodePosition']['x'] = 1  # the same number
    assert judge_order(sent_again, progress, mapped) is None
    for nodes, edges in ((update['nodes'][:1], []), (line(1, 3)['nodes'], line(1, 3)['edges']),
                         ([node(1), node(2, theta=1.0), node(3, released=False)],
                          update['edges'])):
        refused = refusal({**update, 'nodes': nodes, 'edges': edges}, progress, mapped)
        assert (refused.kind, refused.references) == (
            'orderUpdateError', {'topic': 'order', 'orderId': 'o1', 'orderUpdateId': 1})
    assert judge_order(update, Progress(Order({
        name: value for name, value in known.data.items() if name != 'digest'}), {}), mapped) \
        is None, 'the file of an earlier version does not say what the message had'


@pytest.mark.parametrize(('change', 'expected'), [
    ({}, ''), ({'nodePosition': None}, ''), ({'actions': []}, ''), ({'x': 1}, ''),
    ({'mapDescription': 'the hall'}, ''), ({'x': 1.5}, 'has the x 1, got 1.5'),
    ({'mapId': 'cellar'}, 'has the mapId hall, got cellar'),
    ({'theta': 0.5}, 'has the theta None, got 0.5'),
    ({'allowedDeviationXY': 3.0}, 'has the allowedDeviationXY None, got 3'),
    ({'actions': [action('work', action_id='new')]}, "does not have the action 'new'"),
    ({'actions': [action('lift', action_id='a', height=0.3)]}, "not have the action 'a' like"),
])
def test_an_update_can_not_change_the_node_that_it_begins_with(mapped, change, expected):
    lift = {1: [action('lift', action_id='a', height=0.1)]}
    known, update = read_order(line(0, 1, actions=lift)), line(1, 2, update=1, actions=lift)
    for name, value in change.items():
        if name in ('nodePosition', 'actions'):
            update['nodes'][0][name] = value
        else:
            update['nodes'][0]['nodePosition'][name] = value
    if update['nodes'][0]['nodePosition'] is None:
        del update['nodes'][0]['nodePosition']
    if not expected:
        assert [one.name for one in judge_order(update, Progress(known, {}), mapped).added] == [
            'drive_4']
    else:
        refused = refusal(update, Progress(known, {}), mapped)
        assert refused.kind == 'orderUpdateError' and expected in str(refused)
        assert refused.references['nodeId'] == 'n1'


# Who, where and when an order is for


@pytest.mark.parametrize(('update', 'released', 'elsewhere'), [
    (0, 1, 0), (0, 1, 1), (0, 0, 1), (1, 1, 1), (1, 0, 1)])
def test_an_order_with_a_node_on_another_map_is_refused_as_a_whole(
    mapped, update, released, elsewhere
):
    message = line(0, released, 1, update=update)
    message['nodes'][elsewhere]['nodePosition']['mapId'] = 'cellar'
    known = read_order(line(0, 0)) if update else None
    refused = refusal(message, Progress(known, {}), mapped)
    assert refused.kind == 'orderError' and refused.references == {
        'topic': 'order', 'orderId': 'o1', 'orderUpdateId': update,
        'nodeId': f'n{elsewhere}', 'mapId': 'cellar'}
    assert "is on the map 'cellar', this robot drives on 'hall'" in str(refused)


IDENTITY = Identity('uagv', MANUFACTURER, SERIAL)


@pytest.mark.parametrize('name', ['actions', 'instantActions'])
def test_instant_actions_have_one_of_two_names(name: str) -> None:
    found = read_instant_actions({**HEADER, name: [action('cancelOrder', 'NONE', 'c')]})
    assert [one.action_type for one in found] == ['cancelOrder']
    with pytest.raises(OrderRefused) as refused:
        read_instant_actions({**HEADER, name: [{}]})
    assert refused.value.references == {'topic': 'instantActions', 'headerId': 1}


@pytest.mark.parametrize('version', ['2.0.0', '2.1.0'])
def test_the_version_of_a_header_is_the_one_that_is_asked_for(version: str) -> None:
    identity = Identity('uagv', MANUFACTURER, SERIAL, version)
    assert identity.message('state', {})['version'] == version
    assert identity.topic('state') == f'uagv/v2/{MANUFACTURER}/{SERIAL}/state'


@pytest.mark.parametrize('topic', ['order', 'instantActions'])
@pytest.mark.parametrize(('header', 'kind', 'words'), [
    ({'manufacturer': 'other'}, 'validationError',
     "names manufacturer 'other', this robot is 'acme' (acme/0001)"),
    ({'serialNumber': '0002'}, 'validationError',
     "names serialNumber '0002', this robot is '0001' (acme/0001)"),
    ({'serialNumber': ''}, 'validationError', "names serialNumber ''"),
    ({'serialNumber': '0002', 'manufacturer': 'other'}, 'validationError',
     "names manufacturer 'other'"),
])
def test_a_message_for_another_robot_is_refused(topic, header, kind, words):
    check_header(topic, line(0, 1), IDENTITY)
    with pytest.raises(OrderRefused) as refused:
        check_header(topic, {**line(0, 1), **header}, IDENTITY)
    assert refused.value.kind == kind and words in str(refused.value)
    name = words.split()[1]
    assert refused.value.references.items() >= {'topic': topic, name: header[name]}.items()


@pytest.mark.parametrize(('topic', 'kind'), [
    ('order', 'orderError'), ('instantActions', 'instantActionError')])
def test_a_retained_message_is_refused(topic, kind):
    with pytest.raises(OrderRefused, match='retained') as refused:
        check_header(topic, line(0, 1), IDENTITY, retained=True)
    assert refused.value.kind == kind
    assert refused.value.references.items() >= {
        'orderId': 'o1', 'timestamp': HEADER['timestamp']}.items()


def test_a_deviation_that_is_not_given_is_the_tolerance_of_the_robot(mapped):
    order = line(0, 1)

    def names(**position):
        order['nodes'][1]['nodePosition'].update(position)
        found = flow_actions(read_order(order), mapped)[0].fields['parameters']
        return found['deviation_xy'], found['deviation_theta']
    assert names() == (0.25, math.pi)  # every orientation
    assert names(allowedDeviationTheta=0.1) == (0.25, math.pi)
    assert names(theta=1.0, allowedDeviationTheta=0, allowedDeviationXY=0.0) == (0.25, 0.25)
    assert names(allowedDeviationXY=0.05, allowedDeviationTheta=0.1) == (0.05, 0.1)
    with pytest.raises(OrderRefused, match='allowedDeviationXY'):
        names(allowedDeviationXY=-0.1)


def test_lower_updates_and_those_of_failed_or_canceled_orders_are_refused(mapped):
    known = read_order(line(0, 1, 2, update=3))
    failed = {'drive_2': ActionNow('terminated', 'failed', message='blocked')}
    for progress, update, expected in (
            (Progress(known, {}), 2, 'the robot has 3'),
            (Progress(known, failed), 4, 'has failed'),
            (Progress(known, {}, canceled=True), 4, 'was canceled')):
        refused = refusal(line(1, 2, update=update), progress, mapped)
        assert refused.kind == 'orderUpdateError' and expected in str(refused)


@given(some.data())
def test_any_sequence_of_updates_grows_one_flow(mapped, data):
    """What earlier versions have stays as it is; all together is the flow of the whole order."""
    draw, blocking = data.draw, some.sampled_from(['NONE', 'SOFT', 'HARD'])
    last = draw(some.integers(1, 8), label='nodes')
    works = {number: [action('work', kind) for kind in draw(some.lists(blocking, max_size=3))]
             for number in range(last + 1)}
    on_edges = {number: [action('work', kind) for kind in draw(some.lists(blocking, max_size=2))]
                for number in range(last)}
    stops = sorted(draw(some.sets(some.integers(0, last))) | {0, last})
    everything = {'actions': works, 'edge_actions': on_edges}
    known, grown = None, []
    for update, released in enumerate(stops):
        horizon = draw(some.integers(released, last))
        first = 0 if known is None else len(known.base) - 1
        message = line(first, released, horizon, update=update, **everything)
        taken = judge_order(message, Progress(known, {}), mapped)
        known = taken.order
        grown += taken.added
        assert len(known.base) == released + 1 and len(known.nodes) == horizon + 1
        assert Order(json.loads(json.dumps(known.data))).data == known.data
    whole = flow_actions(read_order(line(0, last, update=len(stops), **everything)), mapped)
    assert [(one.name, one.after) for one in grown] == [(one.name, one.after) for one in whole]
    names = [one.name for one in whole]
    assert len(names) == len({*names})
    assert all({*one.after} <= {*names[:index]} for index, one in enumerate(whole))


# Progress


def test_nodes_are_traversed_when_their_drives_are_verified(mapped):
    order = read_order(line(0, 2, 3, actions={1: [action('work', 'HARD', 'a')]}))
    states = {'drive_2': ActionNow('terminated', 'succeeded'),
              'node_2_action_0': ActionNow('sensor_confirm')}
    progress = Progress(order, states)
    fields = progress.fields()
    assert (fields['lastNodeId'], fields['lastNodeSequenceId']) == ('n1', 2)
    assert [one['nodeId'] for one in fields['nodeStates']] == ['n2', 'n3']
    assert [one['edgeId'] for one in fields['edgeStates']] == ['e1', 'e2']
    assert fields['newBaseRequest'] and not progress.is_driving
    assert progress.action_states()[0]['actionStatus'] == 'RUNNING'
    states['drive_4'] = ActionNow('executing_motion')
    assert progress.is_driving
    states['drive_4'] = ActionNow('executing_motion', held=True)
    assert not progress.is_driving


@pytest.mark.parametrize(('now', 'status'), [
    (ActionNow('assigned', attempt=0), 'WAITING'), (ActionNow('in_progress'), 'INITIALIZING'),
    (ActionNow('in_progress', attempt=2), 'RUNNING'), (ActionNow('executing_motion'), 'RUNNING'),
    (ActionNow('executing_motion', held=True), 'PAUSED'), (ActionNow('completed'), 'RUNNING'),
    (ActionNow('error'), 'RUNNING'), (ActionNow('terminated', 'succeeded'), 'FINISHED'),
    *((ActionNow('terminated', outcome), 'FAILED')
      for outcome in ('failed', 'canceled', 'skipped'))])
def test_an_action_is_finished_only_if_it_was_verified(now, status):
    assert now.status == status


def test_a_canceled_order_has_no_nodes_left_and_its_open_actions_have_failed():
    order = read_order(line(0, 2, actions={2: [action('work', 'HARD', 'a')]}))
    progress = Progress(order, {}, canceled=True)
    assert progress.fields()['nodeStates'] == [] and not progress.is_active
    assert [one['actionStatus'] for one in progress.action_states()] == ['FAILED']
    assert progress.errors() == []


def test_a_failed_drive_is_an_error_that_refers_to_its_node():
    order = read_order(line(0, 1))
    progress = Progress(order, {'drive_2': ActionNow('terminated', 'failed', message='blocked')})
    found, = progress.errors()
    assert found['errorDescription'] == 'blocked' and progress.is_active
    assert {'referenceKey': 'nodeId', 'referenceValue': 'n1'} in found['errorReferences']


# The record


def test_the_record_is_the_same_after_a_restart(tmp_path):
    order = read_order(line(0, 2))
    record = Record(tmp_path / 'sub' / 'order.json', 'acme/1')
    record.take_over(order, 'order-o1.0')
    record.actions['drive_2'] = ActionNow('terminated', 'succeeded', 1, '', seq=7)
    record.actions['drive_4'] = ActionNow('executing_motion')
    record.pending = order
    record.note_instant(InstantAction('i', 'beep', 'RUNNING', flow='instant-i', text='flow: x'))
    record.save()
    again = read_record(record.path, 'acme/1')
    assert again.order.data == order.data == again.pending.data
    assert again.actions == {'drive_2': record.actions['drive_2']}
    assert (again.flows, again.instants) == (record.flows, record.instants)


@pytest.mark.parametrize(('text', 'expected'), [
    ('{', 'order file'), ('{"version": 2, "robot": "acme/1"}', 'expected 1, got 2'),
    ('{"version": 1, "robot": "acme/2"}', 'the file is that of acme/2'),
    ('{"version": 1, "robot": "acme/1", "order": {"nodes": []}}', 'orderId'),
])
def test_a_damaged_record_says_what_to_do(tmp_path, text, expected):
    path = tmp_path / 'order.json'
    path.write_text(text)
    with pytest.raises(LifecycleError, match='remove the file') as failed:
        read_record(path, 'acme/1')
    assert expected in str(failed.value) and str(path) in str(failed.value)


def test_ended_instant_actions_are_forgotten_with_a_new_order(tmp_path):
    record = Record(tmp_path / 'order.json', 'acme/1')
    for number in range(60):
        record.note_instant(InstantAction(str(number), 'beep', 'FINISHED'))
    assert len(record.instants) == 50
    record.note_instant(InstantAction('runs', 'beep', 'RUNNING'))
    record.take_over(read_order(line(0, 1)), 'order-o1.0')
    assert [one.action_id for one in record.instants] == ['runs']


def test_what_ends_while_an_order_is_taken_over_is_kept(tmp_path):
    record = Record(tmp_path / 'order.json', 'acme/1')
    for name, status in (('old', 'FAILED'), ('runs', 'RUNNING')):
        record.note_instant(InstantAction(name, 'beep', status))
    record.errors.append({'errorType': 'orderError'})
    before = record.reported()
    record.instants[1].status = 'FAILED'
    record.errors.append({'errorType': 'instantActionError'})
    record.take_over(read_order(line(0, 1)), 'order-o1.0', before)
    assert [one.action_id for one in record.instants] == ['runs']
    assert record.errors == [{'errorType': 'instantActionError'}]


def test_instant_actions_have_no_templates_and_no_parameter_twice():
    for wrong, expected in ((action('lift', height='{{ facts.at }}'), 'begin templates'),
                            (twice(action('lift')), 'a key is there twice')):
        with pytest.raises(OrderRefused, match=expected):
            read_instant_actions({**HEADER, 'actions': [wrong]})


def test_an_instant_action_becomes_a_flow_of_one_action(mapped):
    found, = read_instant_actions({**HEADER, 'actions': [action('work', 'NONE', 'i-1')]})
    assert [*parse_flow(instant_flow(found, mapped), 'instant').actions] == ['action']
    lift, = read_instant_actions({**HEADER, 'actions': [action('lift', 'HARD', height=0.1)]})
    with pytest.raises(OrderRefused, match='expected as NODE, not as INSTANT'):
        instant_flow(lift, mapped)


def test_one_node_without_actions_needs_no_flow(mapped):
    taken = judge_order({**HEADER, 'orderId': 'o', 'orderUpdateId': 0, 'nodes': [node(0)],
                         'edges': []}, Progress(None, {}), mapped)
    assert (taken.text, taken.added) == ('', [])
    assert not Progress(taken.order, {}).is_active


def test_edges_keep_what_the_mapping_file_may_read(mapped):
    order = line(0, 1)
    order['edges'][0] = edge(0, maxSpeed=0.7, direction='left')
    found, = flow_actions(read_order(order), mapped)
    assert found.fields['parameters']['max_speed'] == 0.7
    assert found.fields['parameters']['edge']['direction'] == 'left'


def test_the_start_must_be_near(mapped, tmp_path):
    path = Path(tmp_path) / 'mapping.yaml'
    path.write_text(MAPPING.replace(
        'map: hall', "position: {x: 'at[0]', y: 'at[1]', theta: turn, map: hall}"))
    found = read_mapping(path)
    with pytest.raises(OrderRefused, match=r"first node 'n0' is 3.00 m from the robot") as refused:
        judge_order(line(0, 1), Progress(None, {}), found, {'x': 3.0, 'y': 0.0})
    assert refused.value.kind == 'noRouteError'
    far = line(0, 1)
    far['nodes'][0]['nodePosition']['allowedDeviationXY'] = 4.0
    assert judge_order(far, Progress(None, {}), found, {'x': 3.0, 'y': 0.0})
    for allowed in ({}, {'allowedDeviationXY': 0.0}):  # 0.5 m, the tolerance of the robot
        near = line(0, 1)
        near['nodes'][0]['nodePosition'].update(theta=2.0, **allowed)
        for x in (0.49, -0.49):
            assert judge_order(near, Progress(None, {}), found, {'x': x, 'y': 0.0, 'theta': 0.0})
        with pytest.raises(OrderRefused, match=r'0.51 m from the robot; at most 0.5 m'):
            judge_order(near, Progress(None, {}), found, {'x': 0.3, 'y': 0.41, 'theta': 2.0})
    with pytest.raises(OrderRefused, match='is not known') as refused:
        judge_order(far, Progress(None, {}), found)
    assert refused.value.kind == 'noRouteError'
    here = {'x': 0.0, 'y': 0.0, 'theta': 3.1}
    far['nodes'][0]['nodePosition'].update(theta=-3.1, allowedDeviationTheta=0.1)
    assert judge_order(far, Progress(None, {}), found, here)
    with pytest.raises(OrderRefused, match=r'turned by 0.28 rad .* at most 0.1 rad') as refused:
        judge_order(far, Progress(None, {}), found, {**here, 'theta': 2.9})
    assert refused.value.kind == 'noRouteError'
