# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A button for an order, and how elements look that can't be used now.

What can't be used is not `disabled`, since a keyboard or a screen reader would not find it and its
reason: it is `aria-disabled`, has the reason as its description, and a click says the reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from .orders import tell

SEEN = 'data-seen'
"""Attribute of the element around buttons: the number of what it shows, which a click carries."""
_CARRY = f"event => emit(event.currentTarget.closest('[{SEEN}]')?.getAttribute('{SEEN}') ?? '')"


class OrderButton(ui.button):
    """
    Calls `give(seen)` at a click; `seen`: the number of what the browser showed then, 0: none.

    A click may come late, as after a lost connection, when the page shows something else already.
    """

    def __init__(
        self, text: str, give: Callable[[int], Awaitable[object]], *, icon: str | None = None,
    ) -> None:
        super().__init__(text, icon=icon, color=None)
        self._give = give
        self._why_not = ''
        self.props('no-caps')
        self.on('click', self._clicked, js_handler=_CARRY)

    def allow(self, why_not: str, hint: str = '') -> None:
        """Let it be used, or say why it can't be."""
        self._why_not = why_not
        allow(self, why_not, hint)

    async def _clicked(self, event: object) -> None:
        if self._why_not:
            tell(f'Not possible now: {self._why_not}.', 'warning')
            return
        seen = str(getattr(event, 'args', ''))
        await self._give(int(seen) if seen.isdecimal() and len(seen) < 20 else 0)


def allow(element: ui.element, why_not: str, hint: str = '') -> None:
    """Let a button or a field be used, or show that it can't be, and why; sends what differs."""
    off = bool(why_not)
    title = f'{hint}: not possible now, {why_not}' if hint and off else why_not or hint
    if element.props.get('aria-disabled') == str(off).lower() \
            and element.props.get('title', '') == title:
        return
    element.props['title'] = title
    element.props['aria-disabled'] = str(off).lower()
    element.classes(add='order-off' if off else '', remove='' if off else 'order-off')
    if not isinstance(element, ui.button):
        element.props['readonly'] = off
