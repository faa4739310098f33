# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""How far a flow is, what it waits for, and its actions by state: the head of the flow page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from nicegui import ui

from ..looks import flow_look
from ..record.shown import FlowShown, Shown
from ..words import flow_text
from ...lifecycle.text_format import printable
from ...report.looks import ACTION_LOOKS, ENDED, LOOKS

BAR = (('succeeded', 'succeeded'), ('failed', 'failed'), ('canceled', 'canceled'),
       ('skipped', 'skipped'), ('executing_motion', 'running'))
"""Parts of the bar: look, and name in the counts of a flow"""
MAX_WAITS = 4
LONGEST = 160


class FlowProgress:
    """Bar and figures of a flow; figures by state, which are also the legend and a filter."""

    def __init__(self, filtered: Callable[[frozenset[str]], None], pick: Callable[[str], None]
                 ) -> None:
        self._filtered = filtered
        self._pick = pick
        self._chosen: set[str] = set()
        self._waits: list[tuple[str, str]] = []
        with ui.row().classes('flow-head items-center full-width no-wrap'):
            self._state = ui.label().classes('look-icon flow-state')
            with ui.element('div').classes('flow-bar').props('role=progressbar') as self._bar:
                self._parts = {count: ui.element('div').classes(f'flow-part {LOOKS[look].css}')
                               for look, count in BAR}
            self._figures = ui.label().classes('flow-figures')
        self._why = ui.label().classes('flow-why')
        self._waiting = ui.row().classes('flow-waits items-center').props(
            'role=status aria-label="Waits for"')
        with ui.row().classes('flow-chips items-center').props(
                'role=group aria-label="Actions by state; press to filter the list"'):
            self._chips = {name: self._chip(name) for name in ACTION_LOOKS}

    def _chip(self, name: str) -> tuple[ui.element, ui.label]:
        look = LOOKS[name]
        with ui.element('button').classes(f'flow-chip {look.css}').props(
                'type=button aria-pressed=false') as chip:
            ui.label(look.label).classes('look-icon')
            number = ui.label('0').classes('flow-number')
        chip.on('click', lambda: self._toggle(name), args=[])
        chip.set_visibility(False)
        return chip, number

    def _toggle(self, name: str) -> None:
        self._chosen ^= {name}
        self._chips[name][0].props(f'aria-pressed={str(name in self._chosen).lower()}')
        self._filtered(frozenset(self._chosen))

    def show(self, flow: FlowShown, looks: Mapping[str, int], waits: Iterable[tuple[str, str]]
             ) -> None:
        """Show a flow, its number of actions by look, and what its actions wait for, by path."""
        look = flow_look(flow)
        if self._state.text != look.label:
            self._state.set_text(look.label)
            self._state.classes(replace=f'look-icon flow-state {look.css}')
        done = sum(flow.counts.get(name, 0) for name in ENDED)
        figures = f'{done} of {flow.total}'
        said = ', '.join(f'{flow.counts[count]} {count}' for _, count in BAR
                         if flow.counts.get(count))
        if self._figures.text != figures:
            self._figures.set_text(figures)
        label = f'{figures} actions ended: {said}' if said else figures
        if self._bar.props.get('aria-label') != label:
            self._bar.props.update({'aria-valuenow': str(done), 'aria-label': label,
                                    'aria-valuemax': str(flow.total)})
            for _, count in BAR:
                share = 100 * flow.counts.get(count, 0) / (flow.total or 1)
                self._parts[count].style(f'width: {share:.2f}%')
        why = printable(flow_text(flow), 4 * LONGEST)
        self._why.set_visibility(bool(why))
        if self._why.text != why:
            self._why.set_text(why)
        for name, (chip, number) in self._chips.items():
            actions = looks.get(name, 0)
            chip.set_visibility(bool(actions) or name in self._chosen)
            if number.text != str(actions):
                number.set_text(str(actions))
        self._show_waits([(path, text) for path, text in waits])

    def _show_waits(self, waits: list[tuple[str, str]]) -> None:
        if waits == self._waits:
            return
        self._waits = waits
        self._waiting.clear()
        with self._waiting:
            for path, text in waits[:MAX_WAITS]:
                with ui.element('button').classes('flow-wait look-blocked').props(
                        'type=button') as line:
                    ui.label(printable(path, LONGEST)).classes('look-icon')
                    ui.label(f'waits: {printable(text, LONGEST)}').classes('flow-wait-text')
                line.on('click', lambda path=path: self._pick(path), args=[])
            if len(waits) > MAX_WAITS:
                ui.label(f'and {len(waits) - MAX_WAITS} more')


def waiting(now: Mapping[str, Shown]) -> list[tuple[str, str]]:
    """Return the actions that wait for resources or people, with what they wait for."""
    return [(path, shown.waits) for path, shown in now.items()
            if shown.waits_for and shown.state != 'terminated']
