# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page Now in Chromium, with a flow of the real orchestrator; the test sets what is now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import time
from typing import Any

from chromium import PHONE
import pytest
from unit.flow.robot import Clock, MOTION, Process, Robot

from .browser_rig import Pages
from .double_rig import Double

pytest.importorskip('playwright')
from playwright.sync_api import expect  # noqa: E402, I100

HOSTILE = '<img src=x onerror="window.hacked=1">${7*7}{{7*7}}]]>\u202e"\'' + 'x' * 10_000
FLOW = f"""\
flow: pick_and_place
actions:
  pick: {{{MOTION}, timeout: 10000}}
  place: {{{MOTION}, after: [pick]}}
"""
PICTURE = Path(__file__).parents[2] / 'docs' / 'images' / 'cell.png'


class Cell:
    """A flow whose first motion is under way, and the viewer of it."""

    def __init__(self, folder: Path) -> None:
        clock = Clock()
        self.clock = clock
        self.robot = Robot(clock)
        self.robot.by_hand.add('motion')
        self.process = Process(folder / 'journal', clock, self.robot)
        self.process.submit(FLOW, 'pick-1')
        clock.run(1.0)
        (folder / 'picture.png').write_bytes(PICTURE.read_bytes())
        self.double = Double(folder / 'journal', folder)
        self.double.now('safety', live=True, safety=['ready', '', '', '', [], time.time() - 75])

    def end(self) -> None:
        self.double.viewer.end()
        self.process.journal.close()


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    """Return the cell."""
    cell = Cell(tmp_path)
    yield cell
    cell.end()


def question(name: str, text: str, options: list[str], **more: Any) -> list[Any]:
    at = time.time()
    return [name, '/action_lifecycle', more.get('kind', 'fallback'), 'pick-1', 'pick', text,
            options, more.get('default', ''), more.get('link', ''), at - 20,
            more.get('deadline', at + 100), more.get('evidence', [])]


def test_each_part_is_shown_and_follows(cell: Cell, pages: Pages) -> None:
    page = cell.double.open(pages, 'now')
    expect(page.locator('.safety')).to_contain_text('Ready')
    expect(page.locator('.safety')).to_contain_text('for 1 min')
    action = page.locator('[data-action=pick]')
    expect(action).to_contain_text('executing')
    cell.double.now('safety', safety=['stopped', 'E_STOP', 'pressed', '/e_stop', ['arm'],
                                      time.time()])
    cell.double.now('motions', motions=[['pick-1', 'pick', 1, 'executing', '0.3 m to go']])
    cell.double.now('nodes', nodes={'/bridge': ['gone', time.time()]})
    cell.double.now('facts', facts=[
        ['gap', '0.02', 'm', 'valid', '', '/gap', time.time() - 3],
        ['lid', '', '', 'unknown', 'no sample yet', '/lid', 0],
        ['force', '3', 'N', 'stale', '', '/force', time.time() - 4000]])
    safety = page.locator('.safety')
    for text in ('Stopped', 'pressed', 'E_STOP', '/e_stop', 'arm'):
        expect(safety).to_contain_text(text)
    expect(action).to_contain_text('step 2 · executing · 0.3 m to go')
    expect(page.locator('.nodes')).to_contain_text('gone')
    gap = page.locator('.facts tbody tr', has_text='gap')
    expect(gap.get_by_role('img', name='valid')).to_be_visible()
    expect(gap).to_contain_text('0.02 m')
    ages = [gap.locator('.facts-age').inner_text()]
    expect(gap.locator('.facts-age')).not_to_have_text(ages[0])  # grows without the server
    expect(page.locator('.facts-unknown')).to_contain_text('no sample yet')
    expect(page.locator('.facts-stale .facts-age')).to_have_text('66 min')
    symbols = page.locator('.facts-symbol path').evaluate_all(
        'found => new Set(found.map(path => path.getAttribute("d"))).size')
    assert symbols == 3
    page.get_by_label('Filter facts').fill('stale')
    expect(page.locator('.facts tbody tr')).to_have_count(1)
    cell.robot.motions[-1].end()
    cell.clock.run(10.0)
    expect(action).to_have_count(0)
    expect(page.locator('[data-action=place]')).to_contain_text('executing')
    expect(page.locator('.open-flow')).to_contain_text('1 succeeded')


def test_only_orders_that_make_sense_are_enabled_and_carry_the_actor(
    cell: Cell, pages: Pages
) -> None:
    page = cell.double.open(pages, 'now', actor='ann')
    flow = page.locator('.open-flow-head')
    action = page.locator('[data-action=pick]')
    for order, enabled in (('pause', True), ('hold', True), ('cancel', True)):
        expect(flow.locator(f'[data-order={order}]')).to_be_enabled(enabled=enabled)
    for order, enabled in (('skip', False), ('retry', False), ('breakpoint', False),
                           ('cancel', True)):
        expect(action.locator(f'[data-order={order}]')).to_be_enabled(enabled=enabled)
    assert 'it is at work' in action.locator('[data-order=skip]').get_attribute('title')
    flow.get_by_label('Reason').fill('wet floor')
    flow.locator('[data-order=pause]').click()
    (*order, seen), = cell.double.orders(1)
    assert order == ['pause', 'pick-1', '', False, False, 'ann', 'wet floor']
    assert seen == cell.process.journal.last_seq()
    cell.process.orchestrator.control.pause('pick-1', 'ann', 'wet floor')
    expect(flow.locator('[data-order=resume]')).to_be_enabled()
    expect(flow.locator('[data-order=pause]')).to_be_disabled()
    expect(page.locator('.open-flow')).to_contain_text('paused by ann')
    action.locator('[data-order=cancel]').click()  # asks first
    page.get_by_role('alertdialog').get_by_text('No').click()
    expect(page.get_by_role('alertdialog')).to_have_count(0)  # it has given the focus back
    flow.locator('[data-order=resume]').focus()
    page.keyboard.press('Enter')
    assert cell.double.orders(2)[1][0] == 'resume'
    cell.double.refuse('the flow has ended')
    action.locator('[data-order=cancel]').click()
    page.locator('[data-confirm]').click()
    assert cell.double.orders(3)[2][:5] == ['cancel', 'pick-1', 'pick', 'ann', '']
    expect(page.locator('.q-notification', has_text='the flow has ended')).to_be_visible()


@pytest.mark.long
def test_questions_are_answered_in_place(cell: Cell, pages: Pages) -> None:
    evidence = [{'expression': 'gap > 0.02', 'verdict': 'false', 'facts': [
        {'name': 'gap', 'numbers': [0.0131], 'unit': 'm', 'validity': 'valid'}]}]
    cell.double.now('questions', questions=[
        question('q1', 'What now?', ['retry', 'abort'], default='abort', evidence=evidence),
        question('q2', 'Which tray?', [], kind='input', link='javascript:alert(1)',
                 deadline=time.time() + 2)])
    page = cell.double.open(pages, 'now', actor='bob')
    first, second = (page.locator(f'[data-question={name}]') for name in ('q1', 'q2'))
    for text in ('What now?', 'gap > 0.02', 'gap = 0.0131 m', 'false', 'then: abort'):
        expect(first).to_contain_text(text)
    expect(first).to_contain_text(re.compile(r'1 min \d\d s left'))
    assert page.locator('a[href^=javascript]').count() == 0
    second.get_by_role('textbox', name='Answer', exact=True).fill('the left one')
    cell.double.now('questions', questions=[
        *[question('q0', 'Before?', ['yes'])],
        question('q1', 'What now?', ['retry', 'abort'], default='abort', evidence=evidence)])
    expect(second).to_have_count(0)
    first.get_by_label('Comment').fill('dropped')
    first.get_by_role('button', name='retry').click()
    assert cell.double.orders(1) == [['respond', 'q1', 'retry', 'bob', 'dropped']]
    cell.double.now('questions', questions=[question('q3', 'Which lid?', [])])
    third = page.locator('[data-question=q3]')
    third.get_by_role('button', name='Send').click()  # empty
    third.get_by_role('textbox', name='Answer', exact=True).fill(' the left one ')
    third.get_by_role('button', name='Send').click()
    assert cell.double.orders(2)[1] == ['respond', 'q3', 'the left one', 'bob', '']


@pytest.mark.long
def test_a_stop_is_cleared_and_a_resource_unlocked_after_a_question(
    cell: Cell, pages: Pages
) -> None:
    stopped = ['stopped', 'E_STOP', '', '', ['arm', 'lift'], 0.0, 7]
    cell.double.now('safety', safety=[*stopped, 'it says stop'])
    page = cell.double.open(pages, 'now', actor='ann')
    expect(page.locator('.safety-cause')).to_have_text('Now: it says stop')
    clear = page.locator('[data-order=clear_stop]')
    expect(clear).to_be_disabled()
    cell.double.now('safety', safety=stopped)
    expect(page.locator('.safety-cause')).to_contain_text('The cause has gone')
    expect(clear).to_be_enabled()
    page.get_by_label('Unlock arm').click()
    expect(page.get_by_role('alertdialog')).to_contain_text('checked the robot')
    page.locator('[data-confirm]').click()
    assert cell.double.orders(1) == [['clear_stop', ['arm'], 7, 'ann', '']]
    page.locator('[data-order=clear_stop]').click()
    page.locator('[data-confirm]').click()
    assert cell.double.orders(2)[1] == ['clear_stop', ['arm', 'lift'], 7, 'ann', '']


@pytest.mark.long
def test_without_a_session_no_order_can_be_given(cell: Cell, pages: Pages) -> None:
    cell.double.now('safety', safety=['stopped', 'E_STOP', '', '', ['arm'], 0.0])
    cell.double.now('questions', questions=[question('q1', 'What now?', ['retry'])])
    page = cell.double.open(pages, 'now')
    expect(page.locator('[data-question=q1]')).to_be_visible()
    expect(page.locator('[data-action=pick]')).to_be_visible()
    for button in page.locator('[data-order], [data-answer]').all():
        assert button.is_disabled()


def test_hostile_strings_are_text_on_a_phone(cell: Cell, pages: Pages) -> None:
    at = time.time()
    cell.double.now('safety', safety=['stopped', HOSTILE, HOSTILE, HOSTILE, [HOSTILE], at])
    cell.double.now('questions', questions=[
        question('q1', HOSTILE, [HOSTILE], default=HOSTILE, link=f'https://x/{HOSTILE}', evidence=[
            {'expression': HOSTILE, 'verdict': HOSTILE, 'facts': [
                {'name': HOSTILE, 'value': HOSTILE, 'unit': HOSTILE, 'validity': HOSTILE}]}])])
    cell.double.now('facts', facts=[[HOSTILE] * 6 + [at]])
    cell.double.now('nodes', nodes={HOSTILE: [HOSTILE, at]})
    cell.double.now('motions', motions=[['pick-1', 'pick', 1, HOSTILE, HOSTILE]])
    cell.double.now('frames', frames=[[HOSTILE, HOSTILE + 'b', [1, 0, 0], [0, 0, 0, 1]]])
    page = cell.double.open(pages, 'now', size=PHONE)
    expect(page.locator('.question-text')).to_contain_text('<img src=x onerror=')
    expect(page.locator('.facts tbody')).to_contain_text('${7*7}{{7*7}}')
    assert page.evaluate('window.hacked') is None
    assert page.locator('img[src=x]').count() == 0
    wide = page.evaluate("""() => [...document.querySelectorAll('*')].filter(
        (each) => each.getBoundingClientRect().right > 361
        && ![...each.children].some((child) => child.getBoundingClientRect().right > 361)
    ).map((each) => each.outerHTML.slice(0, 150))""")
    assert page.evaluate('document.documentElement.scrollWidth') <= PHONE[0], wide


@pytest.mark.long
def test_pictures_are_fetched_only_while_they_can_be_seen(cell: Cell, pages: Pages) -> None:
    cell.double.now('images', images=['/cell/camera', '/wrist'])
    page = cell.double.open(pages, 'now')
    expect(page.locator('.camera img')).to_have_js_property('naturalWidth', 960)
    begin, before = time.monotonic(), cell.double.fetched()
    while cell.double.fetched() < before + 4:
        assert time.monotonic() < begin + 30.0
        cell.double.now('images')
        time.sleep(0.02)
    assert 3 / (time.monotonic() - begin) < 10.0  # the first one may have been due
    page.locator('.nodes').scroll_into_view_if_needed()
    page.set_viewport_size({'width': 700, 'height': 200})
    page.evaluate('window.scrollTo(0, 0)')

    def fetched() -> int:
        before = cell.double.fetched()
        for _ in range(10):
            cell.double.now('images')
            time.sleep(0.05)
        return cell.double.fetched() - before
    end = time.monotonic() + 20.0
    while fetched() and time.monotonic() < end:
        pass  # a request that was under way ends
    assert not fetched()


@pytest.mark.long
def test_a_journal_is_no_robot(cell: Cell, pages: Pages) -> None:
    cell.robot.verdicts['pick', 'confirm'] = ['refuted']
    cell.process.submit(FLOW.replace('timeout: 10000', 'fallback: [ask]'), 'pick-2')
    cell.clock.run(1.0)
    cell.double.now('safety', live=False)
    cell.robot.motions[-1].end()
    cell.clock.run(10.0)
    page = cell.double.open(pages, 'now', actor='ann')
    expect(page.locator('.now-notice')).to_contain_text('no live robot')
    expect(page.locator('.question')).to_contain_text('pick-2/pick')
    assert page.locator('[data-answer]').count() == 0
    assert page.locator('.safety').count() == 0
    for button in page.locator('[data-order]').all():
        assert button.is_disabled()
    cell.double.now('safety', live=True)
    expect(page.locator('.safety')).to_contain_text('Ready')


@pytest.mark.long
def test_what_was_typed_stays_when_a_flow_starts(cell: Cell, pages: Pages) -> None:
    asked = question('q1', 'Which tray?', [])
    cell.double.now('questions', questions=[asked])
    page = cell.double.open(pages, 'now', actor='ann')
    answer = page.get_by_role('textbox', name='Answer', exact=True)
    answer.fill('the left one')
    cell.process.submit(FLOW, 'pick-2')
    cell.double.now('questions', questions=[asked, question('q2', 'And now?', ['yes'])])
    expect(page.locator('.open-flow')).to_have_count(2)
    expect(page.locator('.question')).to_have_count(2)
    expect(answer).to_have_value('the left one')
