# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Listens to a robot for as long as an element of a page exists."""

from __future__ import annotations

from collections.abc import Callable
import logging

from nicegui import ui

from ...robots import Heard, Robot


def listen_while_shown(
    robot: Robot, element: ui.element, callback: Callable[[Heard], None]
) -> None:
    """Call back, within `element`, after each change of a robot until the element is deleted."""

    def heard(heard: Heard) -> None:
        if element.is_deleted:
            stop()
            return
        try:
            with element:
                callback(heard)
        except Exception:  # of one page; others listen, too
            logging.getLogger(__name__).exception('viewer: page of %s', robot.name)

    stop = robot.listen(heard)
    ui.context.client.on_delete(lambda: stop())
