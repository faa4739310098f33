# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Samples that the middleware lost were not seen: beside busy programs, and from full queues."""

from __future__ import annotations

import json
from pathlib import Path

from action_lifecycle.documents.stamps import to_seconds
from action_lifecycle_msgs.action import ConfirmOutcome
import pytest
from std_msgs.msg import Float64

from .bridge_rig import Rig

CONFIRMED = ConfirmOutcome.Result.CONFIRMED
FACTS = """
estop: none
facts:
  load: {{topic: load, type: std_msgs/msg/Float64, field: data, max_age: 0.3{}}}
"""


@pytest.mark.parametrize('rate', [10.0, 30.0, 100.0, 500.0, 1000.0])
def test_what_is_right_is_confirmed_beside_busy_programs(tmp_path: Path, rate: float) -> None:
    rig = Rig(tmp_path, FACTS.format(''))
    try:
        rig.start()
        with rig.beside(['sensor', json.dumps([{'topic': 'load', 'rate': rate}])],
                        ['busy'], ['busy']):
            rig.until(lambda: rig.bridge.count_publishers('/load'), 20.0)
            found = [rig.result(rig.confirm('load > 0.5', hold=0.5, within=4.0, after=rig.now()))
                     for _ in range(3)]
    finally:
        rig.close()
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
