# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A state as symbol, colour and words."""

from __future__ import annotations

from nicegui import ui

from ....lifecycle.text_format import printable
from ....report.looks import Look

MAX_TEXT = 60


class StateChip:
    """The symbol and the label of a look."""

    def __init__(self, size: str = '16px', classes: str = '') -> None:
        self._css = ''
        with ui.element('span').classes(f'state-chip look-text {classes}') as self._span:
            self._icon = ui.icon('', size=size)
            self._icon.props['aria-hidden'] = 'true'
            self._label = ui.label()

    def show(self, look: Look, text: str = '') -> None:
        """Show a look, with another text than its label if given."""
        if look.css != self._css:
            self._span.classes(remove=self._css, add=look.css)
            self._icon.set_name(look.icon)
            self._css = look.css
        self._label.set_text(printable(text, MAX_TEXT) or look.label)
