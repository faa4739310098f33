# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Light and dark: which of them is shown, and whether all texts can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import time
from typing import Any

import pytest

from .browser_rig import Pages
from .contrast import LEAST, Text, texts
from .double_rig import Double
from .gantt_rows import course
from .made_flow import MadeFlow
from .test_now_page import question

pytest.importorskip('playwright')
from playwright.sync_api import expect  # noqa: E402, I100

STATES = {
    'begun': 'in_progress', 'moves': 'executing_motion', 'looks': 'sensor_confirm',
    'checks': 'status_verification_requested', 'done': 'completed', 'wrong': 'error',
    'falls_back': 'fallback_requested', 'asks': 'pending', 'records': 'recipe_requested'}
OUTCOMES = ('succeeded', 'failed', 'canceled', 'skipped')
NODES = {'bridge': 'gone', 'ledger': 'inactive', 'agent': 'active', 'model': 'never seen'}
FLOW = '?flow=f&pick=refuted'
VIEWS = {
    FLOW: ['.flow-figures', '.flow-chip', '.ag-cell', '.ag-header-cell-text',
           '.attempt-word', '.action-name', '.shell-tab', '.flow-wait'],
    'timeline?flow=f&pick=asks&at=20': ['.player-when', '.timeline-kind', '.shell-past'],
    'now': ['.safety-chip', '.question-text', '.facts-value', '.node-name', '.open-action-name'],
    'runs': ['.runs-value', '.runs-name', '.runs-table th', '.runs-svg text']}
"""Views, and elements with texts that each must have"""
COMPLETE = """() => document.querySelector('.shell-content')?.innerText.trim()
    && !document.querySelector('.shell-wait, .runs-pictures:empty')
    && (!document.querySelector('.timeline')
        || document.querySelector('.timeline-chart')?.component?.drawn)"""


@pytest.fixture(scope='module')
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """Return a robot with actions in all states, and with something in each part of its pages."""
    folder = tmp_path_factory.mktemp('colours')
    made = MadeFlow(folder / 'journal', {
        'refuted': {}, **{name: {} for name in (*OUTCOMES, *STATES, 'blocked')},
        'waits': {'moves': ''}}, description='what it does')
    for outcome in OUTCOMES:
        made.ends(outcome, outcome)
    made.journal.append_many(course('refuted', flow_id='f'))
    for name, state in STATES.items():
        made.begins(name)
        made.goes(name, 'in_progress', 'x', state)
    made.waits('blocked', 'dependency: arm is locked')
    double = Double(folder / 'journal', folder)
    at = time.time()
    double.now('safety', live=True, safety=[
        'stopped', 'E_STOP', 'pressed', '/e_stop', ['arm'], at - 9, 7])
    double.now('questions', questions=[
        question('q1', 'What now?', ['retry', 'abort'], default='abort', evidence=[
            {'expression': 'gap > 0.02', 'verdict': 'false', 'facts': [
                {'name': 'gap', 'numbers': [0.0131], 'unit': 'm', 'validity': 'valid'}]}]),
        question('q2', 'Which tray?', [], deadline=at + 5)])
    double.now('facts', facts=[
        ['gap', '0.02', 'm', 'valid', '', '/gap', at], ['lid', '', '', 'unknown', 'no sample yet',
                                                        '/lid', 0],
        ['force', '3', 'N', 'stale', '', '/force', at - 4000]])
    double.now('nodes', nodes={name: [state, at] for name, state in NODES.items()})
    yield double
    double.viewer.end()
    made.journal.close()


def check(page: Any, elements: Sequence[str], *, dark: bool) -> None:
    """Check the contrast of all texts of a page, among them those of these elements."""
    page.locator(f'body.body--{"dark" if dark else "light"}').wait_for(state='attached')
    for element in elements:
        page.locator(element).first.wait_for()
    page.wait_for_function(COMPLETE)
    found = texts(page, '.shell-tab', *elements)
    for text in found:
        if 'shell-tab' in text.element or ' g.box.' in text.element:
            assert (max(text.background) < 100) is dark, text
            assert (min(text.background) > 200) is not dark, text
    check_all(found)


def check_all(found: Sequence[Text]) -> None:
    wrong = sorted((text for text in found if text.ratio < LEAST), key=lambda text: text.ratio)
    assert not wrong, '\n'.join(map(str, wrong))


def turn(page: Any, name: str) -> None:
    """Press the button of the header until these colours are chosen."""
    button = page.get_by_role('button', name='Colours')
    for _ in range(2):
        title = button.get_attribute('title')
        if title != f'Colours: {name} (d)':
            button.click()
            expect(button).not_to_have_attribute('title', title)
    expect(button).to_have_attribute('title', f'Colours: {name} (d)')


def test_colours_are_those_of_the_system_until_the_button_chooses_others(
    double: Double, pages: Pages
) -> None:
    view = '?flow=f'
    page = double.open(pages, view, dark=True)
    check(page, VIEWS[FLOW][:3], dark=True)
    page.emulate_media(color_scheme='light')
    check(page, VIEWS[FLOW][:3], dark=False)
    turn(page, 'dark')
    check(page, VIEWS[FLOW][:3], dark=True)
    page.reload()  # a cookie has the choice
    page.locator('body.body--dark').wait_for(state='attached')
    expect(page.get_by_role('button', name='Colours')).to_have_attribute(
        'title', 'Colours: dark (d)')
    page.emulate_media(color_scheme='dark')
    turn(page, 'light')
    check(page, VIEWS[FLOW][:3], dark=False)


@pytest.mark.long
@pytest.mark.parametrize('dark', [False, True], ids=['light', 'dark'])
@pytest.mark.parametrize('by', ['system', 'button'])
def test_all_texts_of_each_view_can_be_read(
    double: Double, pages: Pages, by: str, dark: bool
) -> None:
    page = double.open(pages, FLOW, actor='ann', dark=dark if by == 'system' else not dark)
    if by == 'button':
        turn(page, 'dark' if dark else 'light')
    for view, elements in VIEWS.items():
        page.goto(f'{double.viewer.address}/{view}')
        check(page, elements, dark=dark)
    page.locator('.runs-name', has_text='refuted').click()
    check(page, ['.runs-subject', '.runs-condition', '.runs-plain'], dark=dark)


@pytest.mark.long
@pytest.mark.parametrize('dark', [False, True], ids=['light', 'dark'])
def test_texts_that_come_by_a_click_can_be_read(
    double: Double, pages: Pages, dark: bool
) -> None:
    """A filter, dialogs, notifications, lists, the sign-in, and what is said without a session."""
    page = double.open(pages, FLOW, actor='ann', dark=dark)
    for chip in page.locator('.flow-chip:visible').all():
        chip.click()
    expect(page.locator('.flow-chip[aria-pressed=true]')).to_have_count(
        page.locator('.flow-chip:visible').count())
    check(page, ['.flow-chip'], dark=dark)
    page.locator('.shell-orders [data-order=cancel]').click()
    page.get_by_role('alertdialog').wait_for()
    check(page, ['.shell-dialog-note'], dark=dark)
    for answer, kind in (('', 'positive'), ('not now', 'negative')):
        double.refuse(answer)
        if kind == 'negative':
            page.locator('.shell-orders [data-order=pause]').click()
        else:
            page.locator('[data-confirm]').click()
        check(page, [f'.q-notification.bg-{kind}'], dark=dark)
    page.locator('.shell-orders [data-order=resume]').click(force=True)  # it is off
    check(page, ['.q-notification.bg-warning'], dark=dark)
    page.keyboard.press('?')
    check(page, ['.shell-keys'], dark=dark)
    page.keyboard.press('Escape')
    page.locator('.shell-keys').wait_for(state='detached')
    page.get_by_label('Flow', exact=True).click()
    check(page, ['.q-menu'], dark=dark)
    other = double.open(pages, 'now', dark=dark)
    check(other, ['.shell-read-only-line'], dark=dark)
    other.goto(f'{double.viewer.address}/sign-in')
    found = texts(other)
    assert len(found) > 4
    check_all(found)
