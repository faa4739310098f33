# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot as the pages see it: its record, what is now, and the orders that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from .listeners import Listeners
from .record.robot_record import RobotRecord
from .record.shown import QuestionNow, Update

ROWS, SAFETY, FACTS, QUESTIONS, MOTIONS, NODES, IMAGES, FRAMES = (
    'rows', 'safety', 'facts', 'questions', 'motions', 'nodes', 'images', 'frames')
"""What listeners hear of."""


class NodeSeen(NamedTuple):
    """A node of the robot; `since`: wall time (s)."""

    state: str  #: active, inactive, gone, never seen
    since: float


class SafetyNow(NamedTuple):
    """Whether motions may run; `since`: ROS time (s)."""

    state: str  #: not_ready, ready, stopped
    error_code: str
    reason: str
    topic: str
    locked: Sequence[str]
    since: float
    stamp: int = 0  #: `since` in ns, exactly; no other state has it
    cause: str = ''  #: why the stop can't be cleared now, '' if it can


class FactNow(NamedTuple):
    """A fact; `stamp`: ROS time (s)."""

    name: str
    text: str
    unit: str
    validity: str  #: unknown, valid, stale
    note: str
    topic: str
    stamp: float


class MotionNow(NamedTuple):
    """A motion that runs."""

    step: int
    state: str
    text: str


class FrameNow(NamedTuple):
    """A transform: translation (m), rotation as quaternion (x, y, z, w)."""

    parent: str
    child: str
    translation: tuple[float, float, float]
    rotation: tuple[float, float, float, float]


@dataclass(frozen=True)
class Now:
    """What is now; each part is replaced as a whole. `live`: whether there is a robot at all."""

    live: bool = False
    nodes: Mapping[str, NodeSeen] = field(default_factory=dict)
    safety: SafetyNow | None = None
    facts: Sequence[FactNow] = ()
    questions: Sequence[QuestionNow] = ()
    motions: Mapping[tuple[str, str], MotionNow] = field(default_factory=dict)
    """By flow and path of the action"""
    frames: Sequence[FrameNow] = ()
    images: Sequence[str] = ()  #: topics
    clock_offset: float = 0.0  #: s, ROS time minus wall time
    lost: str = ''  #: why nothing is heard


class Answer(NamedTuple):
    """The robot's answer to an order."""

    ok: bool
    text: str


class Orders(Protocol):
    """The orders of people; each is journaled with its actor by the node that takes it."""

    async def control(
        self, verb: str, flow_id: str, path: str = '', *, hold: bool = False, clear: bool = False,
        actor: str, reason: str = '', seen: int = 0,
    ) -> Answer:
        """
        Pause, resume, skip, retry, or set a breakpoint; see ControlFlow.srv.

        `seen`: last row that the person has seen; refused if what it is for has changed since.
        """
        ...

    async def cancel(
        self, flow_id: str, path: str = '', *, actor: str, reason: str = '', seen: int = 0,
    ) -> Answer:
        """Cancel a flow or one action; `seen` as for `control`."""
        ...

    async def respond(
        self, question: QuestionNow, answer: str, *, actor: str, comment: str = '',
    ) -> Answer:
        """Answer a question."""
        ...

    async def clear_stop(
        self, resources: Sequence[str], seen: SafetyNow, *, actor: str, reason: str = ''
    ) -> Answer:
        """Clear the stop that the person saw, and unlock these resources."""
        ...


class Images(Protocol):
    """Pictures of the robot's cameras."""

    async def image(self, topic: str) -> tuple[bytes, str]:
        """Return the newest picture and its media type; raises LifecycleError if none came."""
        ...


class Heard(NamedTuple):
    """Something changed; `update`: of rows."""

    kind: str
    update: Update | None = None


class Robot(Listeners):
    """
    One robot, live or as the journal has it. All methods are for the viewer's thread.

    Listeners get a `Heard`.
    """

    def __init__(
        self, name: str, record: RobotRecord, *, orders: Orders | None = None,
        images: Images | None = None, now: Now | None = None,
    ) -> None:
        super().__init__()
        self.name = name
        self.record = record
        self.orders = orders
        self.images = images
        self.now = now or Now()
        self.facts_shown = Listeners()  #: heard by pages that show all facts

    def change(self, kind: str, **parts: Any) -> None:
        """Replace parts of what is now, and tell it."""
        self.now = replace(self.now, **parts)
        self.tell(Heard(kind))
