# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A sensor in a process of its own: `python sensor_process.py '{"rate": 1000}'`.

    topic, rate (Hz); dip: s after which one sample is 0, all others are 1 (0: none); queue: depth
    of the publisher; busy: it publishes nothing and only keeps a core busy
"""

from __future__ import annotations

import json
import sys
import time

import rclpy
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64


def main(topic: str = 'load', rate: float = 1000.0, dip: float = 0.0, queue: int = 10,
         busy: bool = False) -> None:
    while busy:
        pass
    rclpy.init()
    node = rclpy.create_node('sensor')
    publisher = node.create_publisher(Float64, topic, QoSProfile(depth=queue))
    good, low = Float64(data=1.0), Float64(data=0.0)
    due = time.monotonic()
    dipped = due if dip else float('inf')
    while True:
        due += 1.0 / rate
        now = time.monotonic()
        if now >= dipped + dip:
            dipped = now
            publisher.publish(low)
        else:
            publisher.publish(good)
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == '__main__':
    main(**json.loads(sys.argv[1]))
