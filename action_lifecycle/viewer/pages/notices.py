# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The lines above the content that say what is wrong, and that the past is shown."""

from __future__ import annotations

from nicegui import ui
from nicegui.element import Element

from .listening import listen_while_shown
from ..gate import SIGN_IN
from ..moment import Moment
from ...lifecycle.text_format import printable

MAX_TEXT = 300


class Notices:
    """
    Made in the current container; a notice is shown while it has a text.

    `follows`: whether the page shows `moment`, instead of what is now.
    """

    def __init__(self, moment: Moment, *, follows: bool) -> None:
        self._moment = moment
        self._follows = follows
        self._notices: dict[str, tuple[Element, ui.label]] = {}
        with ui.element('div').classes('shell-notices') as self._box:
            self._box.props.update({'role': 'status', 'aria-live': 'polite'})
            with ui.element('div').classes('shell-notice shell-past') as self._past:
                ui.icon('history').props('aria-hidden=true')
                self._row = ui.label()
                ui.button('Back to now', on_click=lambda: moment.set(None)).props(
                    'flat dense no-caps data-key=l title="Show what is now (l)"')
        listen_while_shown(moment, self._box, self._show_moment)
        self._show_moment()

    def say(self, key: str, text: str) -> None:
        """Show a notice, or remove it ('')."""
        if key not in self._notices:
            if not text:
                return
            with self._box, ui.element('div').classes('shell-notice shell-wrong') as line:
                ui.icon('warning').props('aria-hidden=true')
                self._notices[key] = (line, ui.label())
        line, label = self._notices[key]
        label.set_text(printable(text, MAX_TEXT))
        line.set_visibility(bool(text))

    def read_only(self, why_not: str, *, can_sign_in: bool) -> None:
        """Say why no orders can be given."""
        with self._box, ui.element('div').classes('shell-notice shell-read-only-line'):
            ui.icon('lock').props('aria-hidden=true')
            ui.label(f'No orders can be given: {why_not}.')
            if can_sign_in:
                with ui.element('a').classes('shell-link') as link:
                    link.props.update({'href': SIGN_IN, 'data-sign-in': ''})
                    ui.label('Sign in')

    def _show_moment(self) -> None:
        self._past.set_visibility(self._follows and not self._moment.live)
        self._row.set_text(f'The past is shown: after row {self._moment.seq} of the journal')
