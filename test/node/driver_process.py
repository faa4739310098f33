# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A driver of a safety topic in a process of its own: `python driver_process.py '{"rate": 10}'`.

    topic, rate (Hz), stop (what it says at first; SIGUSR1 turns it round), latched (transient
    local), once (says one thing and hangs), stamped (publishes std_msgs/Header, with stamps that
    are this many seconds old), up (a file that is made when it has spoken)
"""

from __future__ import annotations

import json
from pathlib import Path
import signal
import sys
import time
from typing import Any

import rclpy
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Bool, Header


def main(topic: str = 'estop', rate: float = 10.0, stop: bool = False, latched: bool = False,
         once: bool = False, stamped: float | None = None, up: str = '') -> None:
    pressed = stop

    def turn(number: int, frame: Any) -> None:
        nonlocal pressed
        pressed = not pressed

    signal.signal(signal.SIGUSR1, turn)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('driver')
    publisher = node.create_publisher(
        Bool if stamped is None else Header, topic, QoSProfile(
            depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL if latched
            else QoSDurabilityPolicy.VOLATILE))
    try:
        while True:
            if stamped is None:
                publisher.publish(Bool(data=pressed))
            else:
                now = node.get_clock().now().nanoseconds - round(stamped * 1e9)
                message = Header()
                message.stamp.sec, message.stamp.nanosec = divmod(now, 10 ** 9)
                publisher.publish(message)
            Path(up).touch()
            time.sleep(3600.0 if once else 1.0 / rate)
    except KeyboardInterrupt:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == '__main__':
    main(**json.loads(sys.argv[1]))
