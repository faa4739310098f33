# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Subscribes to what a robot's nodes publish: safety, facts, motion feedback, questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import time
from typing import Any

from action_lifecycle_msgs.action import ExecuteMotion
from action_lifecycle_msgs.msg import OperatorRequestArray, SafetyState, WorldState
from rclpy.qos import QoSProfile
from rich.text import Text

from .client import Client, NODE, publishers
from .node_data import safety_data, safety_line
from .table import fact_text
from ..nodes.action.bridge_client import MOTION_PREFIX
from ..ros.conversions.feedback import feedback_text
from ..ros.conversions.status import asked_in_words
from ..ros.interfaces.qos import state_qos

BRIDGE = 'world_model_bridge'
FACTS_SHOWN = 12
"""Maximum number of facts shown."""
STYLES = {'READY': 'green', 'STOPPED': 'bold red', 'NOT_READY': 'yellow'}


class Observer:
    """The latest messages of one robot; `steps`: number of motion steps by action id."""

    def __init__(self, client: Client) -> None:
        self.node = client.node
        self._safety: dict[str, Any] | None = None
        self._asked: list[Any] = []  #: open questions of all flows
        self.steps: Mapping[str, int] = {}
        self._facts: list[Any] = []
        self._motions: dict[bytes, Any] = {}
        self._bridges: set[str] = set()  #: DDS ids; each start of the bridge has another
        self._bridge_there = True
        for kind, name, take in (
                (SafetyState, f'{NODE}/safety', self._take_safety),
                (OperatorRequestArray, f'{NODE}/operator_requests', self._take_questions),
                (WorldState, f'{BRIDGE}/facts', self._take_facts)):
            client.node.create_subscription(kind, name, take, state_qos())
        client.node.create_subscription(
            ExecuteMotion.Impl.FeedbackMessage, f'{BRIDGE}/execute_motion/_action/feedback',
            self._take_feedback, QoSProfile(depth=10))

    def _take_safety(self, state: SafetyState) -> None:
        self._safety = safety_data(state)

    def _take_questions(self, message: OperatorRequestArray) -> None:
        self._asked = list(message.requests)

    def _take_facts(self, state: WorldState) -> None:
        self._facts = list(state.facts)

    def _take_feedback(self, message: Any) -> None:
        self._motions[bytes(message.goal_id.uuid)[:MOTION_PREFIX]] = message.feedback

    def safety_words(self) -> str:
        """Return the safety state as a line; '' before the first message."""
        return '' if self._safety is None else f'safety {safety_line(self._safety)}'

    def bridge_words(self) -> str:
        """Return a line if the bridge has gone or restarted since the last call; '' otherwise."""
        found = publishers(self.node, f'{BRIDGE}/safety')
        at = time.strftime('%X')
        if not found and self._bridges and self._bridge_there:
            self._bridge_there = False
            return f'the world model bridge has gone ({at})'
        new = found - self._bridges
        known = bool(self._bridges)
        self._bridges |= new
        if new and known:
            self._bridge_there = True
            return f'the world model bridge was restarted ({at})'
        return ''

    def motion_words(self, action: Any, *, brief: bool = False) -> str:
        """Return the current motion step of an ActionStatus; unless `brief`, with its feedback."""
        feedback = self._motions.get(bytes(action.goal_id.uuid)[:MOTION_PREFIX])
        if feedback is None or action.state.value != 'executing_motion':
            return ''
        steps = self.steps.get(action.action_id, 0)
        words = f'step {feedback.step + 1}' + (
            f' of {steps}' if feedback.step < steps else '') + f', {feedback.step_state}'
        said = '' if brief else feedback_text(feedback.feedback_json)
        return words + (f': {said}' if said else '')

    def questions(self, flow_id: str = '') -> Iterator[str]:
        """Yield one line for each open question of a flow; '': of all flows."""
        for request in self._asked:
            if flow_id in ('', request.flow_id):
                yield asked_in_words(request)

    def below(self, flow_id: str = '') -> Iterator[Text]:
        """Yield the lines below the table of a flow; '': of all flows."""
        if self._safety is not None:
            yield Text(self.safety_words(), STYLES.get(self._safety['state'], ''))
        if self._facts:
            more = len(self._facts) - FACTS_SHOWN
            yield Text('facts ' + ', '.join(
                f'{fact.name} {fact_text(fact)}' for fact in self._facts[:FACTS_SHOWN])
                + (f' and {more} more' if more > 0 else ''), 'dim')
        for words in self.questions(flow_id):
            yield Text(words, 'yellow')
