# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A pause while the flow of an order begins; flow and action node are doubles."""

from __future__ import annotations

from types import SimpleNamespace

from action_lifecycle.nodes.vda5050.order_runner import OrderRunner
from action_lifecycle.vda5050.record import Record
import pytest
from rclpy.task import Future


class Runner(OrderRunner):
    """With a flow that was sent and has not begun; `asked`: what the action node was asked."""

    def __init__(self, path, answer):
        self.record = Record(path / 'order.json', 'acme/1')
        self.flow = SimpleNamespace(flow_id='order-o1.0', is_running=True, begun=Future())
        self.asked = []
        self._unpaused = None
        self._changed = lambda: None

        async def control(flow_id, verb, hold):
            self.asked.append((flow_id, verb, hold))
            return answer
        self._orders = SimpleNamespace(control=control)


@pytest.mark.parametrize('why', ['', 'no answer'])
def test_a_pause_waits_until_the_flow_has_begun(tmp_path, why):
    runner = Runner(tmp_path, why)
    pause = runner.pause(True)
    pause.send(None)
    assert runner.asked == [] and runner.record.paused
    runner.flow.begun.set_result('')
    with pytest.raises(StopIteration) as ended:
        pause.send(None)
    assert runner.asked == [('order-o1.0', 'pause', True)]
    assert (ended.value.value, runner.record.paused) == (why, not why)
