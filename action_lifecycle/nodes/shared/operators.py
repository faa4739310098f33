# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The open questions of a node to people: a latched topic, and a service for answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from action_lifecycle_msgs import msg
from action_lifecycle_msgs.srv import Respond

from .latched_publisher import Latched
from ...dialogue.desk import AnswerRefused, OperatorDesk
from ...journal.journal import Journal
from ...ros.conversions.basic import to_time
from ...ros.conversions.evidence import fact_value
from ...ros.conversions.status import asked_in_words, request_to
from ...ros.interfaces.qos import state_qos
from ...ros.node.lifecycle_node import ManagedNode

PERIOD = 0.1
"""Minimum time (s) between two messages of the topic."""


class Operators:
    """
    Offers `~/operator_requests` and `~/respond` for one desk; to be created in `configure`.

    Publish `topic` in `activate`, so that an empty list is latched at first.
    """

    def __init__(
        self, node: ManagedNode, journal: Journal | None = None,
        facts: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.topic = Latched(
            node, msg.OperatorRequestArray, '~/operator_requests', self._message, PERIOD)
        self.desk = OperatorDesk(node, self._changed, journal, facts)
        self._node = node
        self._logged: set[str] = set()
        node.add_service(Respond, '~/respond', self._respond)

    def _changed(self) -> None:
        self.topic.publish_soon()
        for request in self.desk.open.values():
            if request.id not in self._logged:
                self._node.get_logger().warning(asked_in_words(request_to(request)))
        self._logged = set(self.desk.open)

    def _message(self) -> msg.OperatorRequestArray:
        return msg.OperatorRequestArray(
            stamp=to_time(self._node.now()),
            requests=[request_to(request) for request in self.desk.open.values()])

    def _respond(self, request: Any, response: Any) -> Any:
        try:
            self.desk.respond(request.id, request.answer, request.actor, request.comment)
            response.accepted = True
        except AnswerRefused as error:
            response.error_code = int(error.code)
            response.error_msg = str(error)
        return response


class KnownFacts:
    """The facts that the bridge last published, for the templates of questions."""

    def __init__(self, node: ManagedNode, bridge: str) -> None:
        self.state = msg.WorldState()
        node.add_subscription(msg.WorldState, f'{bridge}/facts', self._take, state_qos())

    def _take(self, state: msg.WorldState) -> None:
        self.state = state

    def __call__(self) -> Mapping[str, Any]:
        """Return the values by name; None for a fact never seen."""
        return {fact.name: fact_value(fact) for fact in self.state.facts}
