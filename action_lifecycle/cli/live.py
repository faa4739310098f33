# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A live table of the flows of a robot, until Ctrl-C: the verb `watch`."""

from __future__ import annotations

import argparse
import time
from typing import Any

from action_lifecycle_msgs.msg import FlowStatusArray, OperatorRequestArray
from rich.console import Group
from rich.live import Live
from rich.text import Text

from .client import connect
from .exits import DONE
from .table import live_table
from ..nodes.messages import asked_in_words
from ..ros.qos import state_qos

TOPIC, QUESTIONS = 'action_lifecycle/flow', 'action_lifecycle/operator_requests'
SHOWN = 3
"""Flows that are shown: the newest."""


def watch(options: argparse.Namespace) -> int:
    """Show what the latched topic of the flows tells; and that nobody tells it any more."""
    latest: list[Any] = []
    asked: list[Any] = []
    with connect(options.namespace) as client:
        client.node.create_subscription(
            FlowStatusArray, TOPIC,
            lambda message: latest.__setitem__(slice(None), message.flows), state_qos())
        client.node.create_subscription(
            OperatorRequestArray, QUESTIONS,
            lambda message: asked.__setitem__(slice(None), message.requests), state_qos())
        client.until(
            lambda: client.node.count_publishers(TOPIC) > 0, options.wait,
            f"nobody publishes '{client.node.resolve_topic_name(TOPIC)}'",
            client.node.resolve_topic_name(TOPIC))
        try:
            with Live(Text('no flow yet'), refresh_per_second=4) as live:
                gone = ''
                while True:
                    client.spin(0.25)
                    if client.node.count_publishers(TOPIC):
                        gone = ''
                    elif not gone:  # DDS misses a killed process after some 20 s
                        gone = time.strftime('nobody publishes the flows any more since %X')
                    live.update(Group(*map(live_table, latest[-SHOWN:]), *(
                        Text(asked_in_words(request), 'yellow') for request in asked), Text(
                        gone or ('' if latest else 'no flow yet'), 'bold red' if gone else '')))
        except KeyboardInterrupt:
            return DONE
