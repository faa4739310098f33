# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is now of one robot, kept up to date in the viewer's loop from messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from .conversions import facts_now, motions_now, questions_now, safety_now
from .names import ACTION_NODE, BRIDGE
from ...viewer.follower import Follower
from ...viewer.robots import (
    FACTS,
    FrameNow,
    FRAMES,
    IMAGES,
    MOTIONS,
    NODES,
    NodeSeen,
    QUESTIONS,
    Robot,
    SAFETY,
)

TAKING = ('active', 'inactive')
"""States of a node that answers requests."""


class Live:
    """
    Takes what the executor's thread hands over; all methods run in the viewer's loop.

    What a node has published is not shown while the node is gone. `appeared()` is called when a
    node answers requests after it did not.
    """

    def __init__(
        self, robot: Robot, follower: Follower, appeared: Callable[[], None]
    ) -> None:
        self._robot = robot
        self._appeared = appeared
        self._follower = follower
        self._safety: Any = None
        self._facts: Any = None
        self._asked: dict[str, Any] = {}  #: questions by node
        self._actions: Any = None
        self._feedback: Mapping[bytes, Any] = {}

    def absent(self, node: str) -> str:
        """Return why a node can't take requests now; '' if it can."""
        seen = self._robot.now.nodes.get(node)
        if seen is not None and seen.state in TAKING:
            return ''
        return f'{node} is gone' if seen is not None and seen.state == 'gone' else \
            f'{node} has not answered yet'

    def is_active(self) -> bool:
        """Whether a node of the robot is active."""
        return any(seen.state == 'active' for seen in self._robot.now.nodes.values())

    def take_rows(self, _: None) -> None:
        """There are new rows in the journal."""
        self._follower.soon()

    def take_safety(self, message: Any) -> None:
        """Take a SafetyState of the action node."""
        self._safety = message
        self._show_safety()

    def take_facts(self, message: Any) -> None:
        """Take a WorldState of the bridge."""
        self._facts = message
        self._show_facts()

    def take_questions(self, told: tuple[str, Any]) -> None:
        """Take the OperatorRequestArray of a node."""
        node, self._asked[node] = told
        self._show_questions()

    def take_actions(self, message: Any) -> None:
        """Take the open actions, which name the goals of motions."""
        self._actions = message
        self._show_motions()

    def take_feedback(self, feedback: Mapping[bytes, Any]) -> None:
        """Take the newest feedback of each motion, by the first bytes of its goal id."""
        self._feedback = feedback
        self._show_motions()

    def take_frames(self, frames: Sequence[FrameNow]) -> None:
        """Take the transforms."""
        self._robot.change(FRAMES, frames=frames)

    def take_images(self, topics: Sequence[str]) -> None:
        """Take the names of the topics with pictures."""
        if topics != self._robot.now.images:
            self._robot.change(IMAGES, images=topics)

    def take_left(self, node: str) -> None:
        """Forget what a node has told whose process has ended; a new one tells all again."""
        if node == ACTION_NODE:
            self._safety = self._actions = None
        if node == BRIDGE:
            self._facts, self._feedback = None, {}
        self._asked.pop(node, None)
        self._show({node})

    def take_nodes(self, told: tuple[Mapping[str, NodeSeen], float]) -> None:
        """Take the states of the nodes, and ROS time minus wall time (s)."""
        nodes, offset = told
        before = self._robot.now.nodes
        self._robot.change(NODES, nodes=nodes, clock_offset=offset)
        changed = {name for name, seen in nodes.items() if before.get(name) != seen}
        if changed:
            self._show(changed)
            self._follower.soon()
        if any(nodes[name].state == 'active' for name in changed):
            self._appeared()

    def _show(self, nodes: Collection[str]) -> None:
        """Show what these nodes have told, unless they are gone."""
        if ACTION_NODE in nodes or BRIDGE in nodes:
            self._show_safety()
        if BRIDGE in nodes:
            self._show_facts()
        self._show_questions()
        self._show_motions()

    # What is shown

    def _is_there(self, node: str) -> bool:
        """Whether a node has not gone; its first message may come before its first answer."""
        seen = self._robot.now.nodes.get(node)
        return seen is None or seen.state != 'gone'

    def _show_safety(self) -> None:
        known = self._safety is not None and all(map(self._is_there, (ACTION_NODE, BRIDGE)))
        shown = safety_now(self._safety) if known else None
        if shown != self._robot.now.safety:
            self._robot.change(SAFETY, safety=shown)

    def _show_facts(self) -> None:
        shown = facts_now(self._facts) if self._facts is not None and self._is_there(
            BRIDGE) else ()
        if shown != self._robot.now.facts:
            self._robot.change(FACTS, facts=shown)

    def _show_questions(self) -> None:
        shown = [question for node, message in sorted(self._asked.items())
                 if self._is_there(node) for question in questions_now(node, message)]
        shown.sort(key=lambda question: question.asked)
        if shown != self._robot.now.questions:
            self._robot.change(QUESTIONS, questions=shown)

    def _show_motions(self) -> None:
        shown = motions_now(self._actions, self._feedback) if self._actions is not None \
            and self._is_there(ACTION_NODE) else {}
        if shown != self._robot.now.motions:
            self._robot.change(MOTIONS, motions=shown)
