# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The command `replay`: what a changed flow or facts file would have decided."""

from __future__ import annotations

from collections.abc import Iterable
import json
from pathlib import Path
from typing import Any

from action_lifecycle.bags import BagWriter
from action_lifecycle.cli import main
from action_lifecycle.lifecycle.ports import Condition
from action_lifecycle.ros.conversions.basic import to_time
from action_lifecycle.ros.conversions.motion import (
    condition_to,
    confirmation_event,
    confirmation_to,
)
from action_lifecycle.ros.interfaces.definitions import message_definition
from action_lifecycle.world import parse_facts, WorldModel
from action_lifecycle.world.unmet_conditions import confirmation, Topics
from action_lifecycle_msgs.action import ConfirmOutcome
import pytest
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64

pytest.importorskip('mcap')
pytest.importorskip('rosbags')

START = 1_700_000_000.0
FACTS = 'estop: none\nfacts:\n' \
    '  gap: {topic: gap, type: std_msgs/msg/Float64, field: data, max_age: 0.5, unit: m}\n'
FLOW = """
flow: pick
parameters:
  least: {default: 0.01}
actions:
  grasp:
    call: {service: grip, type: std_srvs/srv/Trigger}
    confirm: {condition: 'gap > least', within: 0.2}
  place:
    for_each: {part: [nut, bolt]}
    call: {service: grip, type: std_srvs/srv/Trigger}
    confirm: {condition: 'gap > {{ least }} / 2', within: 0.2}
"""
GAPS = {'grasp': 0.02, 'place/nut': 0.012, 'place.2/bolt': 0.004, 'gone': 0.02}


def write_run(path: Path, bridge: str = '/robot/world_model_bridge',
              gaps: Iterable[tuple[str, float]] = tuple(GAPS.items())) -> Path:
    """Write a bag in which `gap > least` was confirmed, or refuted after 0.2 s, for each gap."""
    namespace = bridge.rpartition('/')[0]
    model = WorldModel(parse_facts(FACTS))
    now = START
    with BagWriter(path) as bag:
        for topic, kind in ((f'{namespace}/gap', 'std_msgs/msg/Float64'), (
                f'{bridge}/confirmations', 'action_lifecycle_msgs/msg/Confirmation')):
            bag.add_topic(topic, kind, message_definition(kind))

        def sample(gap: float) -> None:
            nonlocal now
            now += 0.05
            bag.write(f'{namespace}/gap', bytes(serialize_message(Float64(data=gap))), now)
            model.ingest('gap', Float64(data=gap), now)

        sample(0.0)
        for name, gap in gaps:
            nested, _, action = name.rpartition('/')
            condition = Condition('confirm', 'gap > least', 0.1, 0.2)
            goal = ConfirmOutcome.Goal(
                flow_id='pick-1' + (f'/{nested}' if nested else ''), action_id=action, attempt=1,
                conditions=[condition_to(condition)], after=to_time(now),
                parameters_json=json.dumps({'least': 0.01}))
            found: list[Any] = []
            sample(gap)
            watch = model.confirm([condition], now, found.append, after=now - 0.05,
                                  names={'least': 0.01})
            while not found:
                sample(gap)
            answer = confirmation_to(
                confirmation(found[0], Topics({}, lambda topic: '')), {})
            bag.write(f'{bridge}/confirmations', bytes(serialize_message(
                confirmation_event(goal, answer, watch.start, found[0].stamp))), now)
            for _ in range(5):  # so that a later verdict sees the same
                sample(gap)
    return path


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv('COLUMNS', '160')
    (tmp_path / 'facts.yaml').write_text(FACTS)
    return write_run(tmp_path / 'run.mcap')


def replay(
    capsys: pytest.CaptureFixture[str], run: Path, *arguments: str
) -> tuple[int, str, str]:
    code = main(['replay', '--facts', str(run.parent / 'facts.yaml'), *arguments, str(run)])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_the_same_conditions_give_the_same(run: Path, capsys: Any) -> None:
    assert replay(capsys, run) == (0, '4 confirmations: 4 same\n', '')
    code, shown, _ = replay(capsys, run, '--all')
    assert code == 0 and 'pick-1/grasp' in shown and 'confirmed → confirmed' in shown


def test_a_changed_flow_shows_what_it_would_have_decided(
    run: Path, tmp_path: Path, capsys: Any
) -> None:
    flow = tmp_path / 'flow.yaml'
    flow.write_text(FLOW.replace('gap > least', 'gap > 0.03'))
    code, shown, error = replay(capsys, run, '--flow', str(flow), '--json')
    assert not error
    result = json.loads(shown)
    found = {one['action_id']: one for one in result['confirmations']}
    assert code == 1, found
    assert {name: one['status'] for name, one in found.items()} == {
        'grasp': 'newly refuted', 'gone': 'not comparable'}, found
    assert found['grasp']['replayed']['evidence'][0]['facts'][0]['numbers'] == [0.02]
    assert "flow 'pick' has no action 'gone'" in found['gone']['reason']
    assert result['summary']['same'] == 2
    # the threshold of the loop is `least / 2`: with 0.007, the gap of 4 mm is enough
    code, shown, _ = replay(capsys, run, '--flow', str(flow), '-p', 'least=0.007')
    assert code == 1 and 'refuted → confirmed' in shown and 'newly confirmed' in shown
    assert 'gap > 0.03 is false (gap 0.02 m)' in ' '.join(shown.replace('│', ' ').split())
    assert '1 same, 1 newly refuted, 1 newly confirmed, 1 not comparable' in shown


def test_the_bridge_is_found_by_its_topic_and_topics_can_be_renamed(
    run: Path, capsys: Any
) -> None:
    assert replay(capsys, run, '--namespace', 'robot')[0] == 0
    assert replay(capsys, run, '--remap', 'gap:=/robot/gap')[0] == 0
    code, shown, _ = replay(capsys, run, '--remap', 'gap:=fingers')
    assert code == 2 and '4 not comparable' in shown  # nothing was shown to be the same
    assert "topic '/robot/fingers' is not in the bag" in ' '.join(
        shown.replace('│', ' ').split())


@pytest.mark.parametrize(('arguments', 'said'), [
    (['--namespace', 'other'], "no topic '/other/world_model_bridge/confirmations'"),
    (['--remap', 'gap'], 'expected NAME:=NEW_NAME'),
    (['--flow', 'nothing.yaml'], 'nothing.yaml'),
    (['--namespace', 'other', '--traces', 'nothing.sqlite'], 'nothing.traces'),
    (['--all', 'nothing.mcap'], 'nothing.mcap: no such file')])
def test_what_cannot_be_used_is_bad_input(
    arguments: list[str], said: str, run: Path, capsys: Any
) -> None:
    code, _, error = replay(capsys, run, *arguments)
    assert code == 2
    assert said in error


def test_a_field_that_a_type_lacks_is_found_without_ros(
    run: Path, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / 'facts.yaml').write_text(FACTS.replace('field: data', 'field: dta'))
    code, _, error = replay(capsys, run)
    assert code == 2
    assert 'facts.yaml:3' in error and "std_msgs/Float64 has no field 'dta'" in error


def test_without_a_facts_file_the_bag_must_have_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / 'run.mcap')
    assert main(['replay', str(run)]) == 2
    assert 'no facts file is attached' in capsys.readouterr().err
