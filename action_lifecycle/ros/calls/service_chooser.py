# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A chooser that calls a service of another node, such as the language model node."""

from __future__ import annotations

import asyncio
import json

from action_lifecycle_msgs.srv import ChooseTransition
from rclpy.node import Node

from .threads import pass_on
from ...agents.chooser import Choice

POLL_PERIOD = 0.05
"""Polling period (s) for the service to appear."""


class ServiceChooser:
    """
    Calls the service `name` (action_lifecycle_msgs/srv/ChooseTransition).

    It is awaited in an asyncio loop while the node spins in another thread. The caller checks the
    answer and sets the time limit.
    """

    def __init__(self, node: Node, name: str = 'choose_transition', machine: str = '') -> None:
        self._client = node.create_client(ChooseTransition, name)
        self._machine = machine

    async def __call__(self, choice: Choice) -> str:
        """Return the name in the response; '' if the other node does not decide."""
        while not self._client.service_is_ready():
            await asyncio.sleep(POLL_PERIOD)
        call = self._client.call_async(ChooseTransition.Request(
            machine=self._machine, state=choice.state, transitions=list(choice.names),
            descriptions=list(choice.descriptions),
            context_json=json.dumps(choice.context, default=str),
            answer_schema=json.dumps(choice.schema)))
        try:
            response = await pass_on(call, asyncio.get_running_loop().create_future())
        finally:
            self._client.remove_pending_request(call)
        return str(response.transition)
