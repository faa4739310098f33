# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Listens to a robot or a selection for as long as an element of a page exists."""

from __future__ import annotations

from collections.abc import Callable
import logging
from typing import Any

from nicegui import ui

from ..listeners import Listeners


def listen_while_shown(
    source: Listeners, element: ui.element, callback: Callable[..., Any]
) -> None:
    """Call back, within `element`, after each change of `source` until the element is deleted."""

    def heard(*told: Any) -> None:
        if element.is_deleted:
            stop()
            return
        try:
            with element:
                callback(*told)
        except Exception:  # of one page; others listen, too
            logging.getLogger(__name__).exception('viewer: a page could not be updated')

    stop = source.listen(heard)
    element.client.on_delete(stop)
