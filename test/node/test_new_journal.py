# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Robots whose journals are on another machine: same names, and a journal that begins anew."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .web_rig import ACTION_NODE, BRIDGE, Fleet, Viewer

ONCE = 'look: {confirm: {condition: level > 0.0, within: 5.0}}'
TWICE = 'look: {confirm: {condition: level > 0.0}}\nagain: {after: look, confirm: level > 0.0}'


@pytest.fixture(scope='module')
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path_factory.mktemp('anew'), {'one': 1.0, 'two': 2.0})
    for robot in ('one', 'two'):
        fleet.start(robot, BRIDGE, ACTION_NODE)
    yield fleet
    fleet.close()


@pytest.fixture(scope='module')
def viewer(fleet: Fleet) -> Iterator[Viewer]:
    viewer = Viewer(fleet, {name: fleet.folder / f'no_{name}.journal' for name in ('one', 'two')})
    for robot in ('one', 'two'):
        viewer.until_node(robot, 'action_lifecycle', 'active', 40.0)
        record = viewer.robots[robot].record
        fleet.until(lambda record=record: record.source.path is None, 15.0, 'the service')
    yield viewer
    viewer.close()


def finish(fleet: Fleet, robot: str, actions: str) -> None:
    fleet.send(robot, 'same', actions)
    fleet.until_row(robot, flow_id='same', kind='flow', to_state='FINISH')


def test_flows_of_the_same_name_are_told_apart(fleet: Fleet, viewer: Viewer) -> None:
    finish(fleet, 'one', ONCE)
    finish(fleet, 'two', TWICE)
    for robot, actions in (('one', {'look'}), ('two', {'look', 'again'})):
        record = viewer.do(viewer.robots[robot].record.flow('same'))
        fleet.until(lambda record=record: record.flow().state == 'FINISH', 10.0, 'the end')
        assert set(record.nodes()) == actions


def test_a_journal_that_begins_anew_is_noticed(fleet: Fleet, viewer: Viewer) -> None:
    robot = viewer.robots['one']
    fleet.send('one', 'old', ONCE)
    fleet.until_row('one', flow_id='old', kind='flow', to_state='FINISH')
    shown = viewer.do(robot.record.flow('same'))
    assert set(shown.nodes()) == {'look'}
    last = fleet.rows('one')[-1].seq
    fleet.kill('one', ACTION_NODE)
    viewer.until_node('one', 'action_lifecycle', 'gone', 20.0)
    for file in fleet.folder.glob('one.journal*'):
        file.unlink()
    fleet.start('one', ACTION_NODE)
    viewer.until_node('one', 'action_lifecycle', 'active', 40.0)
    finish(fleet, 'one', TWICE)
    assert fleet.rows('one', flow_id='same')[0].seq < last  # numbers that it has seen before
    fleet.until(lambda: set(shown.nodes()) == {'look', 'again'}
                and shown.flow().state == 'FINISH', 20.0, 'the new flow in the same record')
    assert [head.flow_id for head in viewer.do(robot.record.heads())] == ['same']
