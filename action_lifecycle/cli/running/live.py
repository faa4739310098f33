# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `watch`: shows a live table of the flows of a robot until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import Any

from action_lifecycle_msgs.msg import FlowStatusArray
from rich.console import Group
from rich.live import Live
from rich.text import Text

from ..client import Client, connect, NODE
from ..observer import Observer
from ..table import console, live_table
from ...ros.interfaces.qos import state_qos

TOPIC = f'{NODE}/flow'
SHOWN = 3
"""Number of flows shown; the newest ones."""


def watch(options: argparse.Namespace) -> None:
    """Show the latched topics, and a line if their publisher has gone."""
    with connect(options.namespace, options.wait) as client:
        flows = _Flows(client, options.flow)
        full = client.node.resolve_topic_name(TOPIC)
        client.until(lambda: client.node.count_publishers(TOPIC) > 0,
                     f"nobody publishes '{full}'", full)
        with contextlib.suppress(KeyboardInterrupt), Live(
                Text('no flow yet'), console=console(), refresh_per_second=4) as live:
            while True:
                client.spin(0.25)
                live.update(flows.view())


class _Flows:
    """The tables of all flows of a robot, or of one, and the lines below them."""

    def __init__(self, client: Client, flow_id: str) -> None:
        self._node = client.node
        self._flow_id = flow_id
        self._observer = Observer(client)
        self._latest: list[Any] = []
        self._updated = time.monotonic()
        self._gone = ''
        self._bridge = ''
        client.node.create_subscription(FlowStatusArray, TOPIC, self._take, state_qos())

    def _take(self, message: FlowStatusArray) -> None:
        self._updated = time.monotonic()
        self._latest = [flow for flow in message.flows if self._flow_id in ('', flow.flow_id)]

    def view(self) -> Group:
        """Return the tables of the newest flows and the lines below them."""
        if self._node.count_publishers(TOPIC):
            self._gone = ''
        elif not self._gone:  # DDS notices a killed process after about 20 s
            self._gone = time.strftime('nobody publishes the flows any more since %X')
        self._bridge = self._observer.bridge_words() or self._bridge
        nothing = f'no flow {self._flow_id} yet' if self._flow_id else 'no flow yet'
        age = time.monotonic() - self._updated
        return Group(
            *(live_table(flow, self._observer.motion_words, age)
              for flow in self._latest[-SHOWN:]),
            *self._observer.below(self._flow_id),
            *(Text(words, 'bold red') for words in (self._bridge, self._gone) if words),
            *([] if self._latest else [Text(nothing, 'dim')]))
