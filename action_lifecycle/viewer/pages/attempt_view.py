# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""An attempt of an action: who said what, and each condition with its facts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from nicegui import ui

from .panel_parts import clock, Fold
from ..charts.conditions import conditions_of, Judged
from ..charts.curve_element import CurveElement
from ..charts.curves import condition_chart
from ..record.shown import AttemptShown
from ...lifecycle.text_format import fact_in_words, printable
from ...report.looks import Look, LOOKS
from ...report.wording import duration
from ...traces import Trace

LONGEST = 1000
MAX_FACTS = 50
"""Maximum number of facts of a condition in the table."""
NAMES = {'require': 'required before', 'maintain': 'kept during', 'confirm': 'confirmed after'}
PATHS = {'retry': 'a retry', 'fallback': 'a fallback', 'recipe': 'from a recipe',
         'operator': 'by order of a person'}
_GOOD, _BAD, _OPEN = LOOKS['succeeded'], LOOKS['failed'], LOOKS['waiting']


class AttemptView:
    """
    The place of one attempt; `show` replaces what it has.

    `boxes`: the folder of the black boxes if it is on this machine; then they can be downloaded.
    """

    def __init__(self, boxes: Path | None = None) -> None:
        self._boxes = boxes
        self._place = ui.element('div').classes('attempt')

    def show(
        self, attempt: AttemptShown | None, trace: Trace | None, until: float | None,
        note: str = '',
    ) -> None:
        """Show an attempt with its curves up to a ROS time (s); `note`: why it has none."""
        self._place.clear()
        with self._place:
            if attempt is None:
                ui.label('It has not begun.').classes('action-soft')
                return
            _said(attempt)
            for name in attempt.black_boxes:
                _black_box(name, self._boxes)
            conditions = sorted(conditions_of(attempt, trace, until), key=_is_usual)
            if note and conditions:
                ui.label(printable(note, LONGEST)).classes('action-soft').props('role=status')
            for judged in conditions:
                _condition(judged, trace, until)


def _said(attempt: AttemptShown) -> None:
    with ui.element('div').classes('attempt-said'):
        work = {'done': _GOOD, 'failed': _BAD}.get(attempt.work, _OPEN)  # its words are free
        sensors = _GOOD if attempt.sensors_said == 'confirmed' else \
            _BAD if attempt.sensors_said else _OPEN
        for title, said, look in (('Controller said', attempt.controller_said, work),
                                  ('Sensors said', attempt.sensors_said, sensors)):
            if said or not attempt.ended:  # an action without a motion or `confirm` has none
                _voice(title, said, look)
    told = [f'began {clock(attempt.began)}' if attempt.began else '',
            f'took {duration(attempt.end - attempt.began)}' if attempt.end is not None
            else 'goes on', PATHS.get(attempt.path, attempt.path)]
    ui.label(' · '.join(filter(None, told))).classes('action-soft')
    if attempt.failure or attempt.cause:
        with ui.element('div').classes('attempt-failure' if attempt.failure else 'action-soft'):
            if attempt.failure:
                ui.label(attempt.failure).classes('attempt-code')
            ui.label(printable(attempt.cause, LONGEST))


def _black_box(name: str, folder: Path | None) -> None:
    path = folder / Path(name).name if folder is not None and name.endswith('.mcap') else None
    with ui.element('div').classes('attempt-box action-soft'):
        ui.label('Black box')
        if path is not None and path.is_file():
            ui.button(path.name, icon='download', on_click=lambda: ui.download.file(path)).props(
                'flat dense no-caps size=sm')
        else:
            ui.label(printable(name, LONGEST))


def _voice(title: str, said: str, look: Look) -> None:
    with ui.element('div').classes('attempt-voice'):
        ui.label(title).classes('action-soft')
        with ui.element('div').classes(f'attempt-word {look.css} look-text'):
            ui.icon(look.icon, size='16px').props('aria-hidden=true')
            ui.label(printable(said, 200) or 'nothing yet')


def _is_usual(judged: Judged) -> bool:
    """Whether a condition is as it should be, so that others are shown before it."""
    return judged.verdict in ('true', '')


def _condition(judged: Judged, trace: Trace | None, until: float | None) -> None:
    look = {'true': _GOOD, 'false': _BAD}.get(judged.verdict, LOOKS['error'] if judged.verdict
                                              else _OPEN)
    chart = None if trace is None else condition_chart(trace, judged, until)
    with ui.element('section').classes('attempt-condition'):
        with ui.element('div').classes('attempt-title'):
            ui.icon(look.icon, size='16px').classes(f'{look.css} look-text').props(
                'aria-hidden=true')
            ui.label(NAMES.get(judged.name, printable(judged.name, 60))).classes('attempt-name')
            ui.label(judged.verdict or 'not judged yet').classes(f'{look.css} look-text')
            held = _held(judged)
            if held:
                ui.label(held).classes('action-soft')
        ui.label(printable(judged.expression, LONGEST)).classes('attempt-expression')
        note = judged.evidence.get('note') if judged.evidence else ''
        if note:
            ui.label(printable(str(note), LONGEST)).classes('action-soft')
        if chart is not None and (judged.name == 'confirm' or not _is_usual(judged)):
            CurveElement(chart)
        elif chart is not None:
            Fold('Curves', partial(CurveElement, chart), 'attempt-fold')
        if judged.facts and chart is not None:
            Fold('Values at the verdict', partial(_facts, judged), 'attempt-fold')
        elif judged.facts:
            _facts(judged)


def _held(judged: Judged) -> str:
    """Return how long the condition was true, and how long it had to be."""
    held = (judged.evidence or {}).get('held')
    hold = next((one.hold for one in judged.confirmed.conditions
                 if one.expression == judged.expression), 0.0) if judged.confirmed else 0.0
    if not isinstance(held, (int, float)) or not (held or hold):
        return ''
    return f'held {held:.2f} s' + (f' of {hold:g} s' if hold else '')


def _facts(judged: Judged) -> None:
    stamp = (judged.evidence or {}).get('stamp')
    with ui.element('table').classes('attempt-facts'):
        with ui.element('thead'), ui.element('tr'):
            for title in ('fact', 'value', 'age', 'from'):
                with ui.element('th').props('scope=col'):
                    ui.label(title)
        with ui.element('tbody'):
            for fact in judged.facts[:MAX_FACTS]:
                with ui.element('tr'):
                    _cells(fact, stamp)
    if len(judged.facts) > MAX_FACTS:
        ui.label(f'{len(judged.facts) - MAX_FACTS} more').classes('action-soft')


def _cells(fact: Mapping[str, Any], stamp: Any) -> None:
    seen, topic = fact.get('stamp'), str(fact.get('topic') or '')
    age = f'{stamp - seen:.2f} s' if topic and all(
        isinstance(time, (int, float)) for time in (stamp, seen)) else ''
    value = fact_in_words(fact, str(fact.get('unit') or ''))
    bad = fact.get('validity') not in ('valid', None)
    for text, kind in ((str(fact['name']), 'name'), (value, 'bad' if bad else 'value'),
                       (age, 'age'), (topic, 'topic')):
        with ui.element('td').classes(f'attempt-{kind}'):
            ui.label(printable(text, 200))
