# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Doubles of a vacuum gripper and of a conveyor, which do not exist here.

The gripper is switched by the service `vacuum/switch`, and its pressure is on the topic
`pressure`. The conveyor runs with the speed that was last published on `conveyor/speed` and tells
its position on `conveyor/position`.
"""

from __future__ import annotations

import time
from typing import Any

from rclpy.qos import QoSProfile
from rclpy.task import Future
from std_msgs.msg import Float64
from std_srvs.srv import SetBool

VACUUM = -60.0  #: kPa, when a part is held
PERIOD = 0.02  #: s
FACTS = """\
  pressure: {topic: pressure, type: std_msgs/msg/Float64, field: data, max_age: 0.5, unit: kPa}
  position: {topic: conveyor/position, type: std_msgs/msg/Float64, field: data, max_age: 0.5,
             unit: m}
  flow_rate: {topic: conveyor/measured, type: std_msgs/msg/Float64, field: data, max_age: 0.5}
"""


class Vacuum:
    """
    A vacuum gripper; `behaviour`: what it does with a request.

    succeed; refuse: says that it failed; lie: says success, and nothing holds; silent: does it,
    and never answers; deaf: neither does it nor answers.
    """

    def __init__(self, node: Any, name: str = 'vacuum/switch') -> None:
        self.behaviour = 'succeed'
        self.requests: list[bool] = []
        self.pressure = 0.0
        self.never: Any = Future()
        self._node = node
        self.service = node.create_service(SetBool, name, self._switch)
        self._publisher = node.create_publisher(Float64, 'pressure', QoSProfile(depth=10))
        self._timer = node.create_timer(PERIOD, self._tell)

    async def _switch(self, request: Any, response: Any) -> Any:
        self.requests.append(request.data)
        if self.behaviour in ('succeed', 'silent'):
            self.pressure = VACUUM if request.data else 0.0
        if self.behaviour in ('silent', 'deaf'):
            await self.never
        response.success = self.behaviour != 'refuse'
        response.message = 'no air' if self.behaviour == 'refuse' else 'switched'
        return response

    def _tell(self) -> None:
        self._publisher.publish(Float64(data=self.pressure))


class Conveyor:
    """A conveyor; it runs on when nobody publishes any more."""

    def __init__(self, node: Any, topic: str = 'conveyor/speed') -> None:
        self.heard: list[tuple[float, float]] = []  #: steady time (s), speed
        self.position = 0.0
        self.speed = 0.0
        self.stuck = False
        self.subscription = node.create_subscription(
            Float64, topic, self._take, QoSProfile(depth=100))
        self._position = node.create_publisher(Float64, 'conveyor/position', QoSProfile(depth=10))
        self._speed = node.create_publisher(Float64, 'conveyor/measured', QoSProfile(depth=10))
        self._moved = time.monotonic()
        self._timer = node.create_timer(PERIOD, self._tell)

    @property
    def speeds(self) -> list[float]:
        """Return the speeds that were published."""
        return [speed for _, speed in self.heard]

    def silent(self, seconds: float = 0.5) -> bool:
        """Whether nothing arrived for a while: what a killed process sent is all there."""
        return not self.heard or time.monotonic() > self.heard[-1][0] + seconds

    def _take(self, message: Any) -> None:
        self.heard.append((time.monotonic(), message.data))
        self.speed = message.data

    def _tell(self) -> None:
        now = time.monotonic()
        speed = 0.0 if self.stuck else self.speed
        self.position += speed * (now - self._moved)
        self._moved = now
        self._position.publish(Float64(data=self.position))
        self._speed.publish(Float64(data=speed))
