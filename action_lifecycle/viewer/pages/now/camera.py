# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pictures of cameras: the element that shows one, and the route that it is fetched from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Response
from nicegui.element import Element

from ...robots import Heard, IMAGES, Robot
from ....documents.errors import LifecycleError

PATH = '/image'
PERIOD = 0.2
"""Shortest time (s) between two pictures of a page."""
WAIT = 2.0
"""Longest time (s) for which a request waits for a new picture."""
NOTHING = 204
"""HTTP status if there is no picture."""


class Camera(Element, component='camera.js'):
    """The newest picture of a topic, at most 5 times a second and only while it can be seen."""

    def __init__(self, robot: Robot, topic: str) -> None:
        super().__init__()
        self._robot = robot.name
        self._props['period'] = 1000 * PERIOD
        self.show(topic)

    def show(self, topic: str) -> None:
        """Show the pictures of another topic."""
        self._props['name'] = topic
        self._props['source'] = f"{PATH}?{urlencode({'robot': self._robot, 'topic': topic})}"


def add_images(app: FastAPI, robots: Sequence[Robot]) -> None:
    """Add the route of the pictures of all robots; it must be behind the viewer's access check."""
    by_name = {robot.name: robot for robot in robots}

    async def image(
        robot: str = '', topic: str = '', wait: bool = False, number: int = 0
    ) -> Response:
        found = by_name.get(robot)
        return Response(status_code=NOTHING) if found is None else await _image(found, topic, wait)

    image.__annotations__.update(
        {'robot': str, 'topic': str, 'wait': bool, 'number': int, 'return': Response})
    app.add_api_route(PATH, image, methods=['GET'], response_class=Response)


async def _image(robot: Robot, topic: str, wait: bool) -> Response:
    """Return the newest picture of a topic; `wait`: after the next one came, or a time limit."""
    if robot.images is None or topic not in robot.now.images:
        return Response(status_code=NOTHING)
    if wait:
        await _next_image(robot)
    try:
        content, media_type = await robot.images.image(topic)
    except LifecycleError:
        return Response(status_code=NOTHING)
    return Response(content, media_type=media_type, headers={'Cache-Control': 'no-store'})


async def _next_image(robot: Robot) -> None:
    came = asyncio.Event()

    def heard(heard: Heard) -> None:
        if heard.kind == IMAGES:
            came.set()

    stop: Any = robot.listen(heard)
    try:
        await asyncio.wait_for(came.wait(), WAIT)
    except asyncio.TimeoutError:
        pass
    finally:
        stop()
