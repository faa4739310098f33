# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Nodes as real processes on a ROS domain of their own, beside a Redis of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import os
from pathlib import Path
import signal
import subprocess
import time
from typing import Any

from action_lifecycle.ros.node.executor import make_executor
from isolation import domain_id
import rclpy
from rclpy.context import Context
from unit.fleet.redis_server import RedisServer

from .forked import Forked, ros_arguments
from .waiting import serve_until

FACTS = """\
estop: none
facts:
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[name=gripper]',
        max_age: 1.0, unit: m}
"""


class ProcessRig:
    """Starts nodes; what they talk to is in `node`, in the test's own process."""

    def __init__(self, folder: Path, redis: bool = True) -> None:
        self.folder = folder
        self.redis = RedisServer() if redis else None
        self.facts = folder / 'facts.yaml'
        self.facts.write_text(FACTS)
        domain = domain_id()
        self.environment = {
            **os.environ, 'ROS_DOMAIN_ID': str(domain), 'ROS_LOG_DIR': str(folder)}
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node('test_rig', context=self.context)
        self.executor = make_executor(context=self.context)
        self.executor.add_node(self.node)

    def spawn(self, executable: str, parameters: dict[str, Any], *arguments: str, log: str
              ) -> Forked:
        """Start an executable of the package."""
        command = [executable, *ros_arguments(parameters, *arguments)]
        with open(self.folder / f'{log}.log', 'ab') as output:
            return Forked(command, self.environment, output)

    def until(self, done: Callable[[], Any], timeout: float, what: str) -> Any:
        """Serve callbacks until something is so; with the logs in the failure."""
        return serve_until(self.executor, done, timeout, what, self.folder)

    def ask(self, client: Any, request: Any) -> Any:
        """
        Call a service once, when it is there; returns its response.

        A request that only reads is repeated: Fast DDS loses the response of a server that has not
        discovered the client yet.
        """
        self.until(client.service_is_ready, 30.0, f'the service {client.srv_name}')
        asked = [client.call_async(request)]
        sent = time.monotonic()

        def answered() -> Any:
            nonlocal sent
            if client.srv_type.__name__.startswith('Get') and time.monotonic() > sent + 3.0:
                asked.append(client.call_async(request))
                sent = time.monotonic()
            return next((one for one in asked if one.done()), None)

        return self.until(answered, 30.0, f'an answer of {client.srv_name}').result()

    def end(self, processes: Iterable[Forked]) -> None:
        """End processes in an orderly way, then the rig."""
        running = list(processes)
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            try:
                process.wait(8.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5.0)
        self.node.destroy_node()
        self.executor.shutdown()
        self.context.try_shutdown()
        if self.redis is not None:
            self.redis.close()
