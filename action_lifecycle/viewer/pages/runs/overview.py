# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The figures of all runs together, as cards and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from ....report.wording import duration, wrong_reports

CAPTIONS = {
    'success': 'Success of the actions', 'trend': 'First-try success over time',
    'causes': 'Causes of failed attempts', 'times': 'Where the time goes'}


def show_cards(total: Mapping[str, Any]) -> None:
    """Show the main figures of a group."""
    runs, mtbf = total['runs'], total['mtbf']
    wrong = total['controller']['false_success']
    with ui.element('div').classes('runs-cards'):
        for title, figure in (('flows finished', total['flows']['success']),
                              ('succeeded at the first try', total['first_try']),
                              ('succeeded in the end', total['final']),
                              ('recovered after a failed attempt', total['recovery'])):
            _card(title, *_share(figure))
        found = wrong_reports(total['controller'])
        _card('false successes of controllers', str(wrong['k']),
              f"of {wrong['n']} reported and judged" + (f': {found}' if found else ''),
              bad=bool(wrong['k']))
        high = '∞' if mtbf['high'] is None else duration(mtbf['high'] * 3600)
        _card('operating time between failures',
              '–' if mtbf['hours'] is None else duration(mtbf['hours'] * 3600),
              f"failed attempts: {mtbf['failures']} in {duration(mtbf['operating_h'] * 3600)}; "
              f"95 %: {duration(mtbf['low'] * 3600)} to {high}")
        _card('runs of actions', str(runs['ended']),
              f"open: {runs['open']}, canceled: {runs['canceled']}, skipped: {runs['skipped']}")


def show_picture(name: str, svg: str) -> None:
    """Show a picture of the report."""
    with ui.element('figure').classes('runs-picture now-card'):
        with ui.element('figcaption'):
            ui.label(CAPTIONS.get(name, name)).classes('now-title')
        show_svg(svg)


def show_svg(svg: str) -> None:
    """Show an SVG element that matplotlib has drawn; it escapes text."""
    ui.html(svg, sanitize=False).classes('runs-svg')


def _share(figure: Mapping[str, Any]) -> tuple[str, str]:
    if figure['share'] is None:
        return '–', 'nothing to count'
    return (f"{100 * figure['share']:.1f} %",
            f"{figure['k']} of {figure['n']}; 95 %: {100 * figure['low']:.1f} to "
            f"{100 * figure['high']:.1f} %")


def _card(title: str, value: str, note: str, *, bad: bool = False) -> None:
    with ui.element('div').classes('now-card runs-card'):
        ui.label(title).classes('now-soft')
        ui.label(value).classes('runs-value' + (' runs-bad' if bad else ''))
        ui.label(note).classes('now-soft')
