# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""How orders are given on the page Now: for what was seen, once, on purpose, and by whom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import time
from typing import Any

import pytest

from .browser_rig import Pages
from .test_now_page import Cell, FLOW, question

pytest.importorskip('playwright')
from playwright.sync_api import expect  # noqa: E402, I100

STOPPED = ['stopped', 'E_STOP', 'pressed', '/e_stop', ['arm'], 0.0]


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    """Return the cell."""
    cell = Cell(tmp_path)
    yield cell
    cell.end()


def notes(page: Any) -> Any:
    return page.locator('.q-notification')


def until_heard(page: Any) -> None:
    """Wait until the viewer has what was typed: it handles the events of a page in order."""
    button = page.get_by_role('button', name='Colours')
    before = button.get_attribute('title')
    button.click()
    expect(button).not_to_have_attribute('title', before)


def test_a_stop_that_came_during_the_question_is_not_cleared(cell: Cell, pages: Pages) -> None:
    cell.double.now('safety', safety=[*STOPPED, 7])
    page = cell.double.open(pages, 'now', actor='ann')
    page.locator('[data-order=clear_stop]').click()
    dialog = page.get_by_role('alertdialog')
    for text in ('Have you checked the robot?', 'pressed', 'Robot: cell'):
        expect(dialog).to_contain_text(text)
    cell.double.now('safety', safety=['stopped', 'E_STOP', 'door open', '/door', ['arm'], 1.0, 8])
    expect(page.locator('.safety')).to_contain_text('door open')
    page.locator('[data-confirm]').click()
    expect(notes(page)).to_contain_text('Safety has changed after what you saw')
    page.locator('[data-order=clear_stop]').click()
    page.locator('[data-confirm]').click()
    assert cell.double.orders(1) == [['clear_stop', ['arm'], 8, 'ann', '']]


def test_a_click_says_what_the_browser_showed(cell: Cell, pages: Pages) -> None:
    page = cell.double.open(pages, 'now', actor='ann')
    flow = page.locator('.open-flow-head')
    expect(flow.locator('[data-order=pause]')).to_be_enabled()
    seen = cell.process.journal.last_seq()
    expect(flow.locator('.controls')).to_have_attribute('data-seen', str(seen))
    page.evaluate("""() => {  // as if what is shown came late
        const box = document.querySelector('.open-flow-head .controls');
        box.dataset.seen = Number(box.dataset.seen) - 1; }""")
    flow.locator('[data-order=hold]').click()
    assert cell.double.orders(1)[0][-1] == seen - 1


def test_the_panel_gives_each_order_to_its_action(cell: Cell, pages: Pages) -> None:
    """Breakpoint, resume and clear to an action that waits, retry to one that has failed."""
    control, number = cell.process.orchestrator.control, 0
    page = cell.double.open(pages, '?flow=pick-1&pick=place', actor='ann')
    panel = page.locator('.shell-side')

    def give(order: str, *sent: Any) -> None:
        nonlocal number
        number += 1
        expect(panel.locator(f'[data-order={order}]')).to_have_attribute('aria-disabled', 'false')
        panel.get_by_label('Reason').fill(f'why {order}')
        seen = int(panel.locator('.controls').get_attribute('data-seen'))
        panel.locator(f'[data-order={order}]').click()
        assert cell.double.orders(number)[-1] == [*sent, 'ann', f'why {order}', seen]
        expect(panel.get_by_label('Reason')).to_have_value('')

    give('breakpoint', 'breakpoint', 'pick-1', 'place', False, False)
    control.set_breakpoint('pick-1', 'place', 'ann')
    give('clear_breakpoint', 'breakpoint', 'pick-1', 'place', False, True)
    cell.robot.motions[-1].end()
    cell.clock.run(5.0)
    give('resume', 'resume', 'pick-1', 'place', False, False)
    cell.robot.verdicts['pick', 'confirm'] = ['refuted']
    cell.process.submit(FLOW, 'pick-2')
    cell.clock.run(1.0)
    control.pause('pick-2', 'ben')  # so that it is open when its action has failed
    cell.robot.motions[-1].end()
    cell.clock.run(5.0)
    page.goto(f'{cell.double.viewer.address}/?flow=pick-2&pick=pick')
    give('retry', 'retry', 'pick-2', 'pick', False, False)


def test_a_question_before_a_dangerous_order_is_safe_to_leave(cell: Cell, pages: Pages) -> None:
    page = cell.double.open(pages, 'now', actor='ann')
    cancel = page.locator('[data-action=pick] [data-order=cancel]')
    dialog = page.get_by_role('alertdialog')
    for key in ('Enter', 'Escape'):
        cancel.focus()
        page.keyboard.press('Enter')
        expect(dialog).to_contain_text('Cancel action pick of flow pick-1?')
        expect(dialog).to_contain_text('Robot: cell')
        expect(dialog.get_by_role('button', name='No')).to_be_focused()
        page.keyboard.press(key)
        expect(dialog).to_have_count(0)
        expect(cancel).to_be_focused()
    cell.double.orders(0)


def test_a_double_click_is_one_order_and_the_button_comes_back(
    cell: Cell, pages: Pages, tmp_path: Path
) -> None:
    (tmp_path / 'delay').write_text('0.5')
    page = cell.double.open(pages, 'now', actor='ann')
    pause = page.locator('.open-flow-head [data-order=pause]')
    expect(pause).to_be_enabled()
    pause.dblclick()
    expect(pause.locator('.q-spinner')).to_be_visible()
    expect(notes(page)).to_contain_text('Done: pause pick_and_place')
    assert len(cell.double.orders(1)) == 1
    expect(pause.locator('.q-spinner')).to_have_count(0)
    pause.click()
    cell.double.orders(2)


def test_without_a_session_each_control_says_why_it_is_off(cell: Cell, pages: Pages) -> None:
    cell.double.now('safety', safety=STOPPED)
    cell.double.now('questions', questions=[question('q1', 'What now?', ['retry'])])
    page = cell.double.open(pages, 'now')
    expect(page.locator('[data-question=q1]')).to_be_visible()
    expect(page.locator('.shell-read-only-line')).to_contain_text('sign in to give orders')
    expect(page.locator('.shell-read-only-line a')).to_have_attribute('href', '/sign-in')
    controls = page.locator('[data-order], [data-answer], '
                            '.now input:not([type=search], [role=combobox])')
    expect(controls.nth(10)).to_be_attached()
    for control in controls.all():
        expect(control).to_be_disabled()
        assert 'sign in to give orders' in control.get_attribute('title')
        control.focus()
        expect(control).to_be_focused()
    answer = page.locator('[data-answer]')
    assert float(answer.evaluate('each => getComputedStyle(each).opacity')) < 0.7
    answer.click(force=True)
    expect(notes(page)).to_contain_text('Not possible now: sign in to give orders')
    cell.double.orders(0)


def test_a_draft_outlives_changes_of_its_question_and_a_restart(cell: Cell, pages: Pages) -> None:
    asked = question('q1', 'Which tray?', [])
    cell.double.now('questions', questions=[asked])
    page = cell.double.open(pages, 'now', actor='ann')
    answer = page.get_by_role('textbox', name='Answer', exact=True)
    answer.press_sequentially('the le')
    changed = [*asked[:10], time.time() + 50, [
        {'expression': 'gap > 1', 'verdict': 'false', 'facts': []}]]
    cell.double.now('questions', questions=[changed])
    expect(page.locator('.question')).to_contain_text('gap > 1')
    expect(answer).to_be_focused()
    page.keyboard.type('ft one')
    page.get_by_label('Comment').fill('wet')
    until_heard(page)
    cell.double.now('questions', questions=[])
    expect(page.locator('.question')).to_have_count(0)
    cell.double.now('questions', questions=[question('q2', 'And now?', []), changed])
    first = page.locator('[data-question=q1]')
    expect(first.get_by_role('textbox', name='Answer', exact=True)).to_have_value('the left one')
    expect(page.locator('[data-question=q2]').get_by_role(
        'textbox', name='Answer', exact=True)).to_have_value('')
    first.get_by_role('button', name='Send').click()
    assert cell.double.orders(1) == [['respond', 'q1', 'the left one', 'ann', 'wet']]
