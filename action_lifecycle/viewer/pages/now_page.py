# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page `Now`: safety, questions, what actions wait for, facts, nodes, cameras, frames."""

from __future__ import annotations

from pathlib import Path

from nicegui import background_tasks, ui

from .listening import listen_while_shown
from .now.camera import Camera
from .now.facts_table import FactsTable
from .now.frames import FramesScene
from .now.nodes import Nodes
from .now.open_actions import OpenActions
from .now.questions import Questions
from .now.safety import SafetyCard
from .orders import PageOrders
from ..looks import style_sheet
from ..robots import (
    FACTS,
    FRAMES,
    Heard,
    IMAGES,
    MOTIONS,
    NODES,
    QUESTIONS,
    Robot,
    ROWS,
    SAFETY,
)

NO_ROBOT = ('This is a journal, no live robot: questions and locks are as the journal has '
            'them, and no orders can be given.')
STYLE = Path(__file__).parent / 'now' / 'now.css'


def now_page(robot: Robot, orders: PageOrders) -> None:
    """Build the page in the current container; it follows the robot until it is deleted."""
    ui.add_css(style_sheet())
    ui.add_css(STYLE.read_text(encoding='utf-8'))
    _NowPage(robot, orders)


class _NowPage:

    def __init__(self, robot: Robot, orders: PageOrders) -> None:
        self._robot, self._orders = robot, orders
        self._live = robot.now.live
        self._topic = ''
        with ui.element('div').classes('now') as self._root:
            self._build()
        listen_while_shown(robot, self._root, self._heard)
        listen_while_shown(robot.facts_shown, self._root, lambda: None)
        self._load()

    def _build(self) -> None:
        robot, orders = self._robot, self._orders
        if self._live:
            with ui.element('div').classes('now-left'):
                self._safety = SafetyCard(robot, orders)
                self._questions = Questions(robot, orders)
                self._actions = OpenActions(robot, orders)
            with ui.element('div').classes('now-right'):
                self._build_world()
            self._nodes.show()
            self._safety.show()
            self._facts.show(robot.now)
            self._show_frames()
            self._show_camera()
        else:
            ui.label(NO_ROBOT).classes('now-notice').props('role=status')
            with ui.element('div').classes('now-left'):
                self._questions = Questions(robot, orders)
                self._actions = OpenActions(robot, orders)
        self._show_questions()

    def _build_world(self) -> None:
        with ui.element('section').classes('now-card now-section').props(
                'aria-label=Cameras') as self._pictures:
            with ui.row().classes('now-head'):
                ui.label('Camera').classes('now-title')
                self._topics = ui.select([], on_change=self._pick_camera).props(
                    'dense borderless options-dense aria-label=Topic').classes('camera-topic')
            self._camera = Camera(self._robot, '')
        with ui.element('section').classes('now-card now-section').props(
                'aria-label=Facts'):
            ui.label('Facts').classes('now-title')
            self._facts = FactsTable()
        with ui.element('section').classes('now-card now-section').props(
                'aria-label=Frames') as self._space:
            ui.label('Frames').classes('now-title')
            self._scene = FramesScene()
        self._nodes = Nodes(self._robot)

    def _heard(self, heard: Heard) -> None:
        if self._robot.now.live != self._live:
            self._live = self._robot.now.live
            self._root.clear()
            with self._root:
                self._build()
            self._load()
            return
        if heard.kind == ROWS and heard.update is not None:
            self._actions.take(heard.update)
            if heard.update.new_flows or not heard.update.lost:
                self._changed(heard.update.new_flows)
        elif heard.kind == QUESTIONS:
            self._show_questions()
            self._actions.show()
        elif not self._live:
            return
        elif heard.kind == SAFETY:
            self._safety.show()
        elif heard.kind == FACTS:
            self._facts.show(self._robot.now)
        elif heard.kind == NODES:
            self._nodes.show()
        elif heard.kind == MOTIONS:
            self._actions.show()
        elif heard.kind == FRAMES:
            self._show_frames()
        elif heard.kind == IMAGES:
            self._show_camera()

    def _changed(self, new_flows: bool) -> None:
        if new_flows:
            self._load()
        if not self._live:
            self._show_questions()

    def _load(self) -> None:
        background_tasks.create(self._actions.load(), context=self._root)

    def _show_questions(self) -> None:
        now = self._robot.now
        self._questions.show(now.questions if now.live else self._robot.record.questions())

    def _show_frames(self) -> None:
        frames = self._robot.now.frames
        self._space.set_visibility(bool(frames))
        if frames:
            self._scene.show(frames)

    def _show_camera(self) -> None:
        topics = list(self._robot.now.images)
        self._pictures.set_visibility(bool(topics) and self._robot.images is not None)
        if topics and topics != self._topics.options:
            if self._topic not in topics:
                self._topic = topics[0]
                self._camera.show(self._topic)
            self._topics.set_options(topics, value=self._topic)

    def _pick_camera(self) -> None:
        topic = self._topics.value
        if topic and topic != self._topic:
            self._topic = topic
            self._camera.show(topic)
