# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Style sheets beside the modules of pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from weakref import WeakKeyDictionary

from nicegui import Client, ui

from ..looks import style_sheet

_added: WeakKeyDictionary[Client, set[str]] = WeakKeyDictionary()


def add_style(name: str) -> None:
    """Add a style sheet of this folder to the page, once."""
    _add(name, lambda: Path(__file__).with_name(name).read_text(encoding='utf-8'))


def add_looks() -> None:
    """Add the colours of states to the page, once."""
    _add('looks', style_sheet)


def _add(name: str, style: Callable[[], str]) -> None:
    there = _added.setdefault(ui.context.client, set())
    if name not in there:
        there.add(name)
        ui.add_css(style())
