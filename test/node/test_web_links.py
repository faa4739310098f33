# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the web node has of robots in two namespaces, over real DDS; and orders of people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from action_lifecycle.viewer.robots import ROWS
import pytest

from .web_rig import ACTION_NODE, BRIDGE, Fleet, LEDGER, Viewer

VERIFYING = 'status_verification_requested'
LOOK = 'look: {confirm: {condition: level > 0.0, within: 5.0}}'
WAITS = ('wait: {confirm: {condition: level > 100.0, within: 300.0}}\n'
         'then: {after: wait, confirm: level > 0.0}')
FAILS = 'fails: {confirm: {condition: level > 100.0, within: 0.2}}'
ASKS = """\
look:
  confirm: {condition: level > 100.0, within: 0.3}
  fallback:
    - strategy: ask
      question: 'The level is low: {{ error }}'
      timeout: 300
      default: leave it
      options:
        once more: {confirm: {condition: level > 0.0, within: 5.0}}
        leave it: give_up"""


@pytest.fixture(scope='module')
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path_factory.mktemp('web'), {'one': 1.0, 'two': 2.0})
    for robot in ('one', 'two'):
        fleet.start(robot, BRIDGE, ACTION_NODE)
    fleet.start('one', LEDGER)
    yield fleet
    fleet.close()


@pytest.fixture(scope='module')
def viewer(fleet: Fleet) -> Iterator[Viewer]:
    # the journal of robot two is not on this machine
    viewer = Viewer(fleet, {'one': fleet.journal('one'), 'two': fleet.folder / 'no.journal'})
    for robot in ('one', 'two'):
        viewer.until_node(robot, 'action_lifecycle', 'active', 40.0)
    yield viewer
    viewer.close()


def test_two_robots_are_told_apart(fleet: Fleet, viewer: Viewer) -> None:
    one, two = viewer.robots['one'], viewer.robots['two']
    viewer.until_node('one', 'ledger', 'active')
    assert two.now.nodes['ledger'].state == 'never seen'
    assert set(one.now.nodes) == {'action_lifecycle', 'world_model_bridge', 'ledger'}
    for robot, level in ((one, '1'), (two, '2')):
        fleet.until(lambda robot=robot, level=level: [
            (fact.name, fact.text, fact.unit, fact.validity) for fact in robot.now.facts] == [
            ('level', level, 'm', 'valid')], 20.0, 'the fact')
        fleet.until(lambda robot=robot: robot.now.safety is not None
                    and robot.now.safety.state == 'ready', 20.0, 'safety')
    fleet.send('one', 'of_one', LOOK)
    fleet.send('two', 'of_two', LOOK)
    for name, flow in (('one', 'of_one'), ('two', 'of_two')):
        fleet.until_row(name, flow_id=flow, kind='flow', final=1)
        fleet.until(lambda name=name, flow=flow: any(
            heard.kind == ROWS and heard.update and heard.update.new_flows
            for heard in viewer.heard[name]), 10.0, 'a new flow is told')
        heads = viewer.do(viewer.robots[name].record.heads())
        assert [head.flow_id for head in heads] == [flow]
        assert heads[0].state == 'FINISH'


def test_a_change_is_told_soon_after_it_is_published(fleet: Fleet, viewer: Viewer) -> None:
    fleet.send('one', 'followed', WAITS)
    record = viewer.do(viewer.robots['one'].record.flow('followed'))
    fleet.until(lambda: record.shown('wait').state == VERIFYING, 10.0, VERIFYING)
    assert viewer.do(viewer.robots['one'].orders.cancel(
        'followed', actor='ann', reason='enough')).ok
    fleet.until(lambda: record.flow().state == 'FAIL', 10.0, 'the end')


def test_orders_are_journaled_with_who_gave_them(fleet: Fleet, viewer: Viewer) -> None:
    orders = viewer.robots['two'].orders
    fleet.send('two', 'ordered', WAITS)
    fleet.until_row('two', flow_id='ordered', action_id='wait', to_state=VERIFYING)
    for verb, event, fields in (
            ('pause', 'paused', {}), ('resume', 'resumed', {}),
            ('breakpoint', 'breakpoint_set', {'path': 'then'}),
            ('breakpoint', 'breakpoint_cleared', {'path': 'then', 'clear': True}),
            ('skip', 'skipped', {'path': 'then'})):
        answer = viewer.do(orders.control(
            verb, 'ordered', actor='ann@phone', reason=f'why {verb}', **fields))
        assert answer.ok, answer
        row = fleet.until_row('two', flow_id='ordered', event=event)
        assert (row.actor, row.cause) == ('ann@phone', f'why {verb}')
    refused = viewer.do(orders.control('skip', 'ordered', 'nothing', actor='ann'))
    assert not refused.ok and "has no action 'nothing'" in refused.text
    answer = viewer.do(orders.cancel('ordered', 'wait', actor='bob', reason='late'))
    assert answer.ok, answer
    row = fleet.until_row('two', flow_id='ordered', event='cancel_action')
    assert (row.actor, row.cause) == ('bob', 'late')
    fleet.send('two', 'ended', WAITS)
    fleet.until_row('two', flow_id='ended', action_id='wait', to_state=VERIFYING)
    assert viewer.do(orders.cancel('ended', actor='cleo', reason='no part')).ok
    row = fleet.until_row('two', flow_id='ended', event='cancel_flow')
    assert (row.actor, row.cause) == ('cleo', 'no part')
    fleet.until_row('two', flow_id='ended', kind='flow', to_state='FAIL')
    gone = viewer.do(orders.cancel('ended', actor='cleo'))
    assert not gone.ok and 'has ended' in gone.text
    cleared = viewer.do(orders.clear_stop(
        (), viewer.robots['two'].now.safety, actor='dora', reason='looked'))
    assert cleared.ok, cleared
    assert fleet.until_row('two', kind='clear_stop').actor == 'dora'


def test_a_hold_and_a_retry_are_journaled_with_who_gave_them(
    fleet: Fleet, viewer: Viewer
) -> None:
    orders = viewer.robots['two'].orders
    fleet.send('two', 'held', f'{WAITS}\n{FAILS}')
    fleet.until_row('two', flow_id='held', action_id='fails', to_state='terminated')
    assert viewer.do(orders.control('pause', 'held', actor='eve', reason='leave it')).ok
    assert fleet.until_row('two', flow_id='held', event='paused').data['hold'] is False
    assert viewer.do(orders.control('pause', 'held', hold=True, actor='ann', reason='wet')).ok
    row = fleet.until_row('two', flow_id='held', event='paused', actor='ann')
    assert (row.data['hold'], row.cause) == (True, 'wet')
    late = viewer.do(orders.control('retry', 'held', 'fails', actor='bob', seen=1))
    assert not late.ok and 'it has changed after what you saw' in late.text
    assert viewer.do(orders.control('retry', 'held', 'fails', actor='bob', reason='dry')).ok
    row = fleet.until_row('two', flow_id='held', event='retried')
    assert (row.actor, row.cause, row.data['action']) == ('bob', 'dry', 'fails')
    assert viewer.do(orders.cancel('held', actor='cleo')).ok


def test_an_order_that_is_not_valid_is_not_sent(viewer: Viewer) -> None:
    orders = viewer.robots['one'].orders
    for actor, reason, said in (
            ('  ', '', 'needs the name'), ('ann', 'x\x00', 'control character'),
            ('ann', 'x' * 70_000, 'characters'), ('ann', 'lone \ud800', 'surrogate')):
        answer = viewer.do(orders.control('pause', 'f', actor=actor, reason=reason))
        assert not answer.ok and answer.text.startswith('not sent: '), answer
        assert said in answer.text


def test_a_question_is_answered_by_name(fleet: Fleet, viewer: Viewer) -> None:
    robot = viewer.robots['one']
    fleet.send('one', 'asked', ASKS)
    fleet.until(lambda: robot.now.questions, 20.0, 'the question')
    (question,) = robot.now.questions
    assert (question.node, question.flow_id, question.action_id) == (
        'action_lifecycle', 'asked', 'look')
    assert question.options == ('once more', 'leave it') and question.default == 'leave it'
    assert question.deadline > question.asked > 0.0
    wrong = viewer.do(robot.orders.respond(question, 'perhaps', actor='ann'))
    assert not wrong.ok and 'perhaps' in wrong.text
    assert viewer.do(robot.orders.respond(question, 'once more', actor='ann', comment='wet')).ok
    fleet.until_row('one', flow_id='asked', kind='flow', to_state='FINISH')
    assert fleet.until_row('one', event='question_answered').actor == 'ann'
    fleet.until(lambda: not robot.now.questions, 10.0, 'no question')
    again = viewer.do(robot.orders.respond(question, 'once more', actor='ann'))
    assert not again.ok and again.text


def test_a_killed_action_node_is_gone_and_comes_back(fleet: Fleet, viewer: Viewer) -> None:
    robot = viewer.robots['one']
    fleet.send('one', 'kept', ASKS.replace('look:', 'see:'))
    fleet.until(lambda: robot.now.questions, 20.0, 'the question')
    (before,) = robot.now.questions
    fleet.kill('one', ACTION_NODE)
    viewer.until_node('one', 'action_lifecycle', 'gone', 10.0)
    fleet.until(lambda: robot.now.safety is None and not robot.now.questions, 5.0,
                'what it told is not shown')
    refused = viewer.do(robot.orders.control('pause', 'kept', actor='ann'))
    assert refused == (False, 'not sent: action_lifecycle is gone')
    heads = viewer.do(robot.record.heads())
    assert 'kept' in [head.flow_id for head in heads]
    fleet.start('one', ACTION_NODE)
    viewer.until_node('one', 'action_lifecycle', 'active', 30.0)
    fleet.until(lambda: robot.now.safety is not None and robot.now.questions, 20.0, 'it tells')
    (after,) = robot.now.questions
    assert (after.id, after.question) == (before.id, before.question)
    assert viewer.do(robot.orders.respond(after, 'leave it', actor='ann')).ok


def test_a_journal_of_another_robot_is_not_shown(fleet: Fleet, viewer: Viewer) -> None:
    """It is at the path of robot two's journal; the robot's own rows are read from the robot."""
    viewer.until_node('one', 'action_lifecycle', 'active', 30.0)
    other = Viewer(fleet, {'two': fleet.journal('one')})
    try:
        robot = other.robots['two']
        other.until_node('two', 'action_lifecycle', 'active', 30.0)
        fleet.until(lambda: robot.record.source.path is None, 15.0, 'the service is read')
        other.do(robot.record.update())
        flows = [head.flow_id for head in other.do(robot.record.heads())]
        assert 'of_two' in flows and 'of_one' not in flows
    finally:
        other.close()
    assert viewer.robots['one'].record.source.path == Path(fleet.journal('one'))
