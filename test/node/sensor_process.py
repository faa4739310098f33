# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Sensors in a process of their own: `python sensor_process.py NAME '[{"rate": 1000}]'`.

Of each: topic (of tf: the child frame), kind, rate (Hz), value; dip: s after which one sample is 0
(0: none), frame of the header, other: another definition of the type. The last argument may be
`busy`: it publishes nothing and only keeps a core busy. It prints which sensor was silent for
nearly MAX_AGE, or two dips, as it may be on a busy machine.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
import heapq
import json
import math
import sys
import time
from typing import Any

from geometry_msgs.msg import PointStamped, TransformStamped
from node.other_definition import other_definition
import rclpy
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Range
from std_msgs.msg import Float64
from tf2_msgs.msg import TFMessage

MAX_AGE = 1.0  #: s; for which the facts of a test count
KINDS = {'Float64': Float64, 'Range': Range, 'PointStamped': PointStamped, 'tf': TFMessage}


def sensor(node: Any, broadcaster: Any, topic: str, kind: str = 'Float64',
           value: str = '1', frame: str = '', other: bool = False, **_: Any
           ) -> Callable[[bool], None]:
    """Return what publishes a sample."""
    cls = KINDS[kind]
    with other_definition(cls) if other else nullcontext():
        publisher = broadcaster if kind == 'tf' else node.create_publisher(
            cls, topic, QoSProfile(depth=1000))

    def publish(dip: bool) -> None:
        number, now = 0.0 if dip else float(value), node.get_clock().now().to_msg()
        if kind == 'Float64':
            message = Float64(data=number)
        elif kind == 'tf':
            entry = TransformStamped(child_frame_id=topic)
            entry.header.frame_id, entry.header.stamp = frame, now
            entry.transform.translation.x = number
            message = TFMessage(transforms=[entry])
        else:
            message = cls()
            message.header.frame_id, message.header.stamp = frame, now
            if kind == 'Range':
                message.range = number
            else:
                message.point.x = number
        publisher.publish(message)
    return publish


def main(name: str, sensors: list[dict[str, Any]]) -> None:
    rclpy.init()
    node = rclpy.create_node(name)
    broadcaster = node.create_publisher(TFMessage, '/tf', QoSProfile(depth=1000)) if any(
        each.get('kind') == 'tf' for each in sensors) else None
    start = time.monotonic()
    due = [(start, n, sensor(node, broadcaster, **each)) for n, each in enumerate(sensors)]
    dips = [start + each.get('dip', 0.0) or math.inf for each in sensors]
    told = [start] * len(sensors)  # when each last published what must be heard
    while True:
        moment, n, publish = due[0]
        time.sleep(max(0.0, moment - time.monotonic()))
        dip = sensors[n].get('dip', 0.0)
        dipped = bool(dip) and time.monotonic() >= dips[n]
        if dipped:
            dips[n] += dip
        publish(dipped)
        now = time.monotonic()
        if dipped or not dip:
            if now >= told[n] + (2 * dip or MAX_AGE) * 0.9:
                print(f"{sensors[n]['topic']} silent for {now - told[n]:.2f} s", flush=True)
            told[n] = now
        heapq.heapreplace(due, (moment + 1.0 / sensors[n].get('rate', 1000.0), n, publish))


if __name__ == '__main__':
    while sys.argv[1] == 'busy':
        pass
    main(sys.argv[1], json.loads(sys.argv[2]))
