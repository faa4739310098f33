# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Samples that the middleware lost were not seen: beside busy programs, and from full queues."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import json
import os
from pathlib import Path
import sys
from typing import Any

from action_lifecycle.documents.stamps import to_seconds
from action_lifecycle_msgs.action import ConfirmOutcome
import pytest
from std_msgs.msg import Float64

from .bridge_rig import Rig
from .forked import Forked

CONFIRMED = ConfirmOutcome.Result.CONFIRMED
RUNS = int(os.environ.get('LOSS_RUNS', '20'))
SENSOR = Path(__file__).with_name('sensor_process.py')
FACTS = """
estop: none
facts:
  load: {{topic: load, type: std_msgs/msg/Float64, field: data, max_age: 0.3{}}}
"""
BUSY = [{'busy': True}] * 2


@contextmanager
def beside(rig: Rig, *sensors: dict[str, Any]) -> Iterator[None]:
    """Run sensors and busy programs in processes of their own."""
    with (rig.folder / 'sensors.log').open('w') as output:
        started = [Forked([sys.executable, str(SENSOR), json.dumps(sensor)], rig.environment,
                          output) for sensor in sensors]
        try:
            yield
        finally:
            for process in started:
                process.kill()
                process.wait(10.0)


def verdicts(folder: Path, runs: int, *sensors: dict[str, Any], qos: str = '') -> list[Any]:
    """Return the results of a hold of 0.5 s over what the sensors publish."""
    rig = Rig(folder, FACTS.format(qos))
    try:
        rig.start()
        with beside(rig, *sensors):
            rig.until(lambda: rig.bridge.count_publishers('/load'), 20.0)
            return [rig.result(rig.confirm('load > 0.5', hold=0.5, within=4.0, after=rig.now()))
                    for _ in range(runs)]
    finally:
        rig.close()


@pytest.mark.parametrize(('runs', 'qos'), [
    (2, ''), (2, ', qos: {depth: 10}'),
    pytest.param(RUNS, '', marks=[pytest.mark.long, pytest.mark.timeout(60 + 10 * RUNS)]),
    pytest.param(RUNS, ', qos: {depth: 10}', marks=[
        pytest.mark.long, pytest.mark.timeout(60 + 10 * RUNS)])])
def test_a_dip_of_one_sample_at_1_khz_is_never_held_over(
    tmp_path: Path, runs: int, qos: str
) -> None:
    found = verdicts(tmp_path, runs, {'dip': 0.25}, *BUSY, qos=qos)
    assert [result.verdict for result in found].count(CONFIRMED) == 0


@pytest.mark.parametrize('rate', [10.0, 30.0, 100.0, 500.0, 1000.0])
def test_what_is_right_is_confirmed_beside_busy_programs(tmp_path: Path, rate: float) -> None:
    found = verdicts(tmp_path, 3, {'rate': rate}, *BUSY)
    assert [result.verdict for result in found] == [CONFIRMED] * 3, found


def test_a_hold_begins_again_when_a_full_queue_drops_a_sample(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FACTS.format(', qos: {depth: 10}'))
    try:
        rig.start()
        load = rig.robot.create_publisher(Float64, 'load', 100)
        rig.robot.create_timer(0.01, lambda: load.publish(Float64(data=1.0)))
        rig.result(rig.confirm('load > 0.5'))
        handle = rig.confirm('load > 0.5', hold=1.0, within=5.0)
        rig.spin(0.6)
        for value in [0.0] + [1.0] * 40:  # nobody spins: the queue keeps the last ten
            load.publish(Float64(data=value))
        dropped = rig.now()
        result = rig.result(handle)
        assert result.verdict == CONFIRMED
        assert to_seconds(result.evidence[0].stamp) >= dropped + 1.0 - 0.01
        assert rig.bridge._facts._lost['load'] >= 1
    finally:
        rig.close()
