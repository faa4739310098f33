# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The header of each page: robot, flow, state, safety, connection, colours, help, sign-in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import time

from nicegui import ui
from nicegui.element import Element

from .help import help_dialog
from .orders import PageOrders
from .sign_in import SIGN_OUT
from ..access import Access
from ..gate import SIGN_IN
from ..looks import flow_look
from ..place import NOW, Place
from ..record.shown import FlowHead
from ..robots import Now, Robot
from ...lifecycle.text_format import printable

MAX_NAME = 60
THEMES = {'auto': (None, 'brightness_auto'), 'light': (False, 'light_mode'),
          'dark': (True, 'dark_mode')}
"""Value for NiceGUI and icon, by the cookie's value."""
THEME_COOKIE = 'action_lifecycle_theme'
_CHIPS = {'START': 'none', 'CONTINUE': 'run', 'FINISH': 'good', 'FAIL': 'bad', 'CANCELED': 'none',
          'paused': 'warn'}
"""Looks of chips by those of flows."""
_COUNTED = ('CONTINUE', 'FINISH', 'paused')
_SAFETY = {'ready': ('good', 'Ready'), 'stopped': ('bad', 'Stopped'),
           'not_ready': ('warn', 'Not ready')}


class Header:
    """Made in the current container; `update` shows what is now."""

    def __init__(
        self, robots: Sequence[Robot], robot: Robot, orders: PageOrders, access: Access,
        go_robot: Callable[[str], None], go_flow: Callable[[str], None],
    ) -> None:
        self._orders = orders
        self._options: dict[str, str] = {}
        self._flow_id = ''
        with ui.element('header').classes('shell-header'):
            with ui.element('div').classes('shell-where'):
                if len(robots) > 1:
                    ui.select(
                        {one.name: printable(one.name, MAX_NAME) or 'robot' for one in robots},
                        value=robot.name, on_change=lambda event: go_robot(event.value),
                    ).props('dense borderless options-dense aria-label=Robot').classes(
                        'shell-robot')
                else:
                    ui.label(printable(robot.name, MAX_NAME) or 'robot').classes('shell-robot')
                self._flows = ui.select(
                    {}, with_input=True,
                    on_change=lambda event: self._picked(event.value, go_flow),
                ).props('dense borderless options-dense aria-label=Flow data-focus-key=/ '
                        'input-debounce=0').classes('shell-flow')
            with ui.element('div').classes('shell-state'):
                self._state = _chip()
                with ui.element('a').classes('shell-asked') as link:
                    link.props['href'] = Place(robot.name).url(NOW)
                    self._asked = _chip('Questions')
                self._safety = _chip('Safety')
                self._link = _chip('Connection')
            with ui.element('div').classes('shell-tools'):
                self._sign_in(access, orders)
                self._theme()
                ui.button(icon='keyboard', on_click=help_dialog(orders).open).props(
                    'flat round dense data-key=? title="Keyboard and help (?)" aria-label=Help')

    def update(
        self, robot: Robot, heads: Sequence[FlowHead], flow_id: str, *, past: bool = False
    ) -> None:
        """Show what is now; `past`: the content of the page is not what is now."""
        self._flow_id = flow_id
        head = next((one for one in heads if one.flow_id == flow_id), None)
        options = {one.flow_id: _flow_text(one) for one in heads}
        if flow_id and flow_id not in options:
            options[flow_id] = printable(flow_id, MAX_NAME)
        if options != self._options or self._flows.value != (flow_id or None):
            self._options = options
            self._flows.set_options(dict(options), value=flow_id or None)
        _set_chip(self._state, *_state_text(head, past))
        _set_chip(self._asked, *_questions_text(robot))
        _set_chip(self._safety, *_safety_text(robot.now))
        _set_chip(self._link, *_link_text(robot.now))

    def _picked(self, flow_id: str | None, go_flow: Callable[[str], None]) -> None:
        if flow_id and flow_id in self._options and not self._flows.is_deleted \
                and flow_id != self._flow_id:
            go_flow(flow_id)

    def _sign_in(self, access: Access, orders: PageOrders) -> None:
        if orders.allowed:
            with ui.element('form').props(f'method=post action={SIGN_OUT}').classes(
                    'shell-person'):
                ui.label(printable(orders.actor, MAX_NAME)).props(
                    'title="Your orders are recorded with this name"')
                with ui.element('button').props('type=submit').classes('shell-link'):
                    ui.label('Sign out')
            return
        ui.label('Read-only').classes('shell-read-only').props['title'] = \
            f'{orders.why_not.capitalize()}.'
        if access.has_token:
            with ui.element('a').classes('shell-link') as link:
                link.props.update({'href': SIGN_IN, 'data-sign-in': ''})
                ui.label('Sign in')

    def _theme(self) -> None:
        cookies = ui.context.client.request.cookies
        name = cookies.get(THEME_COOKIE, 'auto')
        names = list(THEMES)
        now = [name if name in THEMES else 'auto']
        dark = ui.dark_mode(THEMES[now[0]][0])

        def turn() -> None:
            now[0] = names[(names.index(now[0]) + 1) % len(names)]
            dark.set_value(THEMES[now[0]][0])
            button.props(f'icon={THEMES[now[0]][1]} title="Colours: {now[0]} (d)"')
            ui.run_javascript(f"document.cookie = '{THEME_COOKIE}={now[0]}; path=/; "
                              "max-age=31536000; samesite=strict'")

        button = ui.button(icon=THEMES[now[0]][1], on_click=turn).props(
            f'flat round dense data-key=d title="Colours: {now[0]} (d)" aria-label=Colours')


def _chip(about: str = '') -> tuple[Element, ui.label]:
    with ui.element('span').classes('shell-chip') as chip:
        if about:
            chip.props['aria-label'] = about
        label = ui.label()
    return chip, label


def _set_chip(chip: tuple[Element, ui.label], look: str, text: str, title: str = '') -> None:
    element, label = chip
    label.set_text(printable(text, MAX_NAME))
    element.set_visibility(bool(text))
    if (element.props.get('data-look'), element.props.get('title')) != (look, title):
        element.props.update({'data-look': look, 'title': title})
        element.update()


def _flow_text(head: FlowHead) -> str:
    when = time.strftime('%d %b %H:%M', time.localtime(head.began))
    name = printable(head.name or head.flow_id, MAX_NAME)
    others = '' if head.flow_id.startswith(name) else f' ({printable(head.flow_id, MAX_NAME)})'
    return f'{name}{others} · {when} · {flow_look(head).label}'


def _state_text(head: FlowHead | None, past: bool) -> tuple[str, str, str]:
    if head is None:
        return 'none', '', ''
    look = flow_look(head)
    progress = f' {head.done}/{head.total}' if head.total and look.name in _COUNTED else ''
    return _CHIPS[look.name], f"{'Now: ' if past else ''}{look.label}{progress}".capitalize(), \
        f'Flow {head.flow_id}'


def _questions_text(robot: Robot) -> tuple[str, str, str]:
    count = len(robot.now.questions if robot.now.live else robot.record.questions())
    if not count:
        return 'none', '', ''
    return 'warn', f"{count} question{'s' * (count > 1)}", 'People are asked; answer on page Now'


def _safety_text(now: Now) -> tuple[str, str, str]:
    if not now.live:
        return 'none', '', ''
    if now.safety is None:
        return 'warn', 'Safety unknown', 'No state of the safety topics was heard'
    look, word = _SAFETY.get(now.safety.state.lower(), ('warn', now.safety.state))
    if now.safety.locked and look == 'good':
        look, word = 'warn', f'Locked: {", ".join(now.safety.locked)}'
    return look, word, now.safety.reason


def _link_text(now: Now) -> tuple[str, str, str]:
    if not now.live:
        return 'none', 'Journal', 'An old journal: nothing is live'
    gone = [name for name, seen in now.nodes.items() if seen.state in ('gone', 'never seen')]
    if gone:
        return 'bad', f'{gone[0]} is gone' if len(gone) == 1 else f'{len(gone)} nodes are gone', \
            ', '.join(gone)
    idle = [name for name, seen in now.nodes.items() if seen.state != 'active']
    if idle:
        return 'warn', f'{idle[0]} is inactive', ', '.join(idle)
    return ('bad', 'Not connected', now.lost) if now.lost else ('good', 'Live', '')
