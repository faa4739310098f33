# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The e-stop button of the cell.

It runs in its own process, so the simulation can't delay its heartbeat. On a robot the safety
controller has this task: it publishes at 10 Hz whether the button is pressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from ..ros.node.process import spin_until_signal

PERIOD = 0.1  #: s of steady time


class EStopNode(Node):
    """
    The button, node `estop`; names are relative to the node's namespace.

    | interface | type | what |
    |---|---|---|
    | estop | std_msgs/Bool, 10 Hz and on change | heartbeat, true: pressed |
    | estop/set | service std_srvs/SetBool | press or release it |
    """

    def __init__(self, **kwargs: Any) -> None:
        """Create the button; it is released at first."""
        super().__init__('estop', **kwargs)
        self._pressed = False
        self._publisher = self.create_publisher(Bool, 'estop', 10)
        self.create_service(SetBool, 'estop/set', self._set)
        self.create_timer(PERIOD, self._beat, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _beat(self) -> None:
        self._publisher.publish(Bool(data=self._pressed))

    def _set(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._pressed = request.data
        self._beat()
        response.success = True
        response.message = 'pressed' if request.data else 'released'
        self.get_logger().info(f'e-stop {response.message}')
        return response


def main(args: Sequence[str] | None = None) -> int:
    """Run the button until SIGINT or SIGTERM."""
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    spin_until_signal(EStopNode(), SingleThreadedExecutor())
    rclpy.try_shutdown()
    return 0
