# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the real nodes journaled is repeated from a bag that has only the topic of the sensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
import json
from pathlib import Path
import shutil
from typing import Any

from action_lifecycle.bags import BagWriter
from action_lifecycle.cli import main
from action_lifecycle.ros.interfaces.definitions import message_definition
from action_lifecycle.traces import trace_path
import pytest
from sensor_msgs.msg import JointState

from .forked import Forked
from .orders_rig import BRIDGE, OrdersRig

pytest.importorskip('mcap')
pytest.importorskip('rosbags')
pytestmark = pytest.mark.long

KIND = 'sensor_msgs/msg/JointState'


class Rig(OrdersRig):
    """With traces beside the journal."""

    def start(self, name: str, **parameters: Any) -> Forked:
        if name == BRIDGE:
            parameters['trace_file'] = trace_path(self.journal_path)
        return super().start(name, **parameters)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.close()


def swing(rig: Rig, target: float, **fields: Any) -> dict[str, Any]:
    """Return an action that moves the left arm to `target` m, where a violation ends it."""
    move = rig.move('left', 0.6, fallback=[], **fields)
    point, = move['motion']['goal']['trajectory']['points']
    point['positions'] = [target]
    move['confirm'] = {'condition': f'abs(left - {target}) < 0.001', 'hold': 0.1, 'within': 1.5}
    return move


def test_motions_and_confirmations_of_the_real_nodes(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[tuple[bytes, float]] = []
    rig.node.create_subscription(
        JointState, 'joint_states', lambda data, info: heard.append(
            (data, info['received_timestamp'] / 1e9)), 50, raw=True)
    rig.until(lambda: heard, 10.0, 'the joints are heard')
    actions: dict[str, Any] = {}
    for number, (target, limit) in enumerate(
            [(0.3, 0.4), (0.0, 0.4), (0.3, 0.15), (0.0, 0.4), (0.1, 0.2), (0.3, 0.2)]):
        after = {f'move{number - 1}': 'completion'} if number else {}
        actions[f'move{number}'] = swing(
            rig, target, after=after, maintain={'condition': f'left < {limit}', 'within': 0.1})
    actions['both'] = {
        **swing(rig, 0.0), 'after': {'move5': 'completion'}, 'for_each': {
            'limit': '{{ [facts.left + 0.1] }}'}, 'maintain': 'left < {{ limit }}'}
    rig.begin('f', actions)
    ended = rig.until_ended('f')
    last = heard[-1][1]
    rig.until(lambda: heard[-1][1] > last + 0.5, 10.0, 'the bag is longer than the flow')
    rig.close()
    assert ended == {**{f'move{number}': 'succeeded' for number in range(6)},
                     'move2': 'failed', 'move5': 'failed', 'both': 'succeeded'}
    with BagWriter(tmp_path / 'run.mcap') as bag:
        bag.add_topic('/joint_states', KIND, message_definition(KIND))
        for data, arrival in heard:
            bag.write('/joint_states', data, arrival)
    (tmp_path / 'journal.alone').mkdir()
    alone = shutil.copy(rig.journal_path, tmp_path / 'journal.alone')
    for journal, source in ((rig.journal_path, 'traces'), (alone, 'journal')):
        code = main(['replay', '--facts', str(tmp_path / 'facts.yaml'), '--journal', str(journal),
                     '--all', '--json', str(tmp_path / 'run.mcap')])
        found = json.loads(capsys.readouterr().out)['confirmations']
        assert code == 0, found
        maintained = {one['action_id']: one for one in found if one['kind'] == 'maintain'}
        assert Counter(one['replayed']['verdict'] for one in maintained.values()) == {
            'maintained': 5, 'violated': 2}
        assert {name for name, one in maintained.items()
                if one['replayed']['verdict'] == 'violated'} == {'move2', 'move5'}
        for name in ('move2', 'move5'):
            one = maintained[name]
            assert abs(one['replayed']['ended'] - one['recorded']['ended']) < 0.1
            assert one['replayed']['evidence'][0]['facts'][0]['numbers'] \
                == one['recorded']['evidence'][0]['facts'][0]['numbers']
        confirmed = [one for one in found if one['kind'] == 'confirm']
        assert len(confirmed) == 5 and {one['source'] for one in confirmed} == {source}
        assert {one['flow_id'] for one in found} == {'f', 'f/both'}
