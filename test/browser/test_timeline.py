# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The timeline in Chromium, of flows that have ended and of some that go on."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import sys
from typing import Any

from action_lifecycle.journal.row_text import row_text
from action_lifecycle.viewer.charts.gantt import pieces_of
from action_lifecycle.viewer.record import FlowRecord
from chromium import PHONE
import pytest
from unit.viewer.records import rows_of

from .browser_rig import Pages, Viewer
from .gantt_rows import accepted, course, write

HOSTILE = ('<img src=x onerror="window.hit=1">', '${window.hit=1}', ']]></svg><script>window.hit=1'
           '</script>', '{a|{b}}', '\u202eevil', ':renderItem', 'n' * 5_000)
OWN = 'document.querySelector(".timeline-chart").component'
DRAWN = 'document.querySelector(".timeline-chart")?.component?.drawn'
ROOM = 4_000
"""Maximum number of bytes that a change of one action may cost, all elements of the page."""


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('timeline')


@pytest.fixture(scope='module')
def viewer(folder: Path) -> Iterator[Viewer]:
    """Return a viewer of a live robot with an empty journal."""
    (folder / 'now').write_text(json.dumps({'kind': 'nodes', 'live': True}) + '\n')
    found = Viewer([sys.executable, Path(__file__).with_name('robot_double.py'),
                    folder / 'journal', folder], folder)
    yield found
    found.end()


@pytest.fixture
def flow(folder: Path, request: pytest.FixtureRequest) -> str:
    """Return a flow with two actions, the second one of which goes on."""
    name = request.node.name.partition('[')[0]
    write(folder / 'journal', accepted(name), course('pick', flow_id=name),
          course('place', last=2, flow_id=name, time=20.0))
    return name


def opened(pages: Pages, viewer: Viewer, flow: str, **size: Any) -> Any:
    """Return the page of the timeline with its chart."""
    page = pages.open(f'{viewer.address}/timeline?flow={flow}', **size)
    page.wait_for_function(DRAWN)
    return page


def said(page: Any, text: str) -> None:
    """Wait until the row that is shown begins with `text`."""
    page.wait_for_function(
        'text => document.querySelector(".player-text").innerText.startsWith(text)', arg=text)


def test_keys_step_through_the_rows(pages: Pages, viewer: Viewer, flow: str) -> None:
    page = opened(pages, viewer, flow)
    said(page, 'place attempt 1: in_progress → executing_motion')
    page.keyboard.press('Home')
    said(page, 'flow accepted: START')
    states = 'document.querySelector(".timeline-states").innerText.split(/\\s+/)'
    page.wait_for_function(f'{states}.join() === "START"')
    for _ in range(5):
        page.keyboard.press('ArrowRight')
    said(page, 'pick attempt 1: sensor_confirm → error; sensors: refuted; REFUTED')
    assert 'confirm: too small' in page.inner_text('.player-why')
    page.wait_for_function(f'{OWN}.at !== null')
    page.wait_for_url('**at=*')
    page.keyboard.press('End')
    said(page, 'place attempt 1: in_progress → executing_motion')
    page.wait_for_function(f'{OWN}.at === null')
    page.wait_for_function(f'{states}[0] === "START" && {states}.at(-1) === "CONTINUE"')


def test_the_slider_and_play_move_the_moment(pages: Pages, viewer: Viewer, flow: str) -> None:
    page = opened(pages, viewer, flow)
    page.locator('.player-slider [tabindex="0"]').focus()
    page.keyboard.press('Home')
    said(page, 'flow accepted')
    page.keyboard.press('ArrowRight')
    said(page, 'flow continue')  # one row, not one for each of them
    page.get_by_role('button', name='Play').click()
    said(page, 'place attempt 1: in_progress → executing_motion')
    page.wait_for_function(f'{OWN}.at === null')
    page.keyboard.press('Home')  # with a button in focus
    said(page, 'flow accepted')


def test_each_moment_shows_what_the_rows_up_to_it_say(
    pages: Pages, viewer: Viewer, flow: str, folder: Path
) -> None:
    page = opened(pages, viewer, flow)
    rows, record = rows_of(folder / 'journal', flow), FlowRecord(flow)
    page.keyboard.press('Home')
    for row in rows:
        record.take(row)
        said(page, row_text(row))
        pieces = pieces_of(record.bars(), rows[0].wall_time)
        shown = [[list(piece) for piece in pieces.get(path, ())] for path in record.nodes()]
        page.wait_for_function(f'shown => JSON.stringify({OWN}.own) === JSON.stringify(shown)',
                               arg=shown)
        assert page.evaluate(f'{OWN}.rows.length') == len(record.nodes())
        assert page.evaluate(f'{OWN}.open()') == pytest.approx(
            1000 * (row.wall_time - rows[0].wall_time), abs=1.0) or row is rows[-1]
        page.keyboard.press('ArrowRight')


def test_an_action_is_picked_by_key_and_by_click(pages: Pages, viewer: Viewer, flow: str) -> None:
    page = opened(pages, viewer, flow)
    page.locator('.timeline-chart').focus()
    page.keyboard.press('ArrowDown')
    page.keyboard.press('Enter')
    page.wait_for_url('**pick=pick*')
    page.wait_for_function(f'{OWN}.row === 0')
    x, y = page.evaluate(
        f'(() => {{ const own = {OWN}, box = own.$el.getBoundingClientRect();'
        ' const place = own.frame.chart.convertToPixel({xAxisIndex: 0, yAxisIndex: 0},'
        ' [own.base, 1]); return [box.x + 30, box.y + place[1]]; })()')
    page.mouse.click(x, y)  # on the name of the second action
    page.wait_for_url('**pick=place*')
    page.wait_for_function(f'{OWN}.row === 1')


def test_a_live_flow_grows_by_what_has_changed(
    pages: Pages, viewer: Viewer, folder: Path, flow: str
) -> None:
    page = opened(pages, viewer, flow)
    received: list[int] = []
    page.on('websocket', lambda socket: socket.on(
        'framereceived', lambda data: received.append(len(data))))
    page.reload()
    page.wait_for_function(DRAWN)
    said(page, 'place attempt 1: in_progress → executing_motion')
    page.evaluate(f'window.before = [{OWN}.version, {OWN}.own[0]]')
    assert page.evaluate(f'{OWN}.clock.live')
    page.wait_for_timeout(300)
    received.clear()
    write(folder / 'journal', course('place', first=2, last=4, flow_id=flow, time=20.0))
    page.wait_for_function(f'{OWN}.own[1].length === 4')
    said(page, 'place attempt 1: sensor_confirm → error')
    assert page.evaluate(f'{OWN}.version === window.before[0] && {OWN}.own[0] === '
                         'window.before[1]'), 'the chart was sent again'
    assert 0 < sum(received) < ROOM
    write(folder / 'journal', course('inspect', last=2, flow_id=flow, time=30.0))
    page.wait_for_function(f'{OWN}.rows.length === 3 && {OWN}.own[2].length === 2')
    assert '3 actions' in page.locator('.timeline-chart').get_attribute('aria-label')


def test_hostile_names_are_text(pages: Pages, viewer: Viewer, folder: Path) -> None:
    write(folder / 'journal', accepted('evil', HOSTILE[0]),
          *(course(name, flow_id='evil', last=4) for name in HOSTILE))
    page = opened(pages, viewer, 'evil', size=PHONE)
    page.wait_for_function(f'{OWN}.rows.length === {len(HOSTILE)}')
    assert page.evaluate(f'{OWN}.rows[0][0]') == HOSTILE[0]
    said(page, 'n' * 300)
    page.keyboard.press('Home')
    said(page, 'flow accepted')
    for row in range(len(HOSTILE)):  # tooltips
        page.mouse.move(180, 340 + 24 * row)
    assert page.evaluate('window.hit') is None
    assert page.locator('main img, main script').count() == 0
    assert page.evaluate('document.documentElement.scrollWidth') <= PHONE[0]


def test_a_flow_that_is_not_there_yet_is_shown_when_it_begins(
    pages: Pages, viewer: Viewer, folder: Path
) -> None:
    write(folder / 'journal', accepted('earlier'))
    page = pages.open(f'{viewer.address}/timeline?flow=later')
    page.get_by_text('The journal has no row of this flow').wait_for()
    write(folder / 'journal', accepted('later'), course('pick', flow_id='later', last=2))
    page.wait_for_function(f'{DRAWN} && {OWN}.own.length === 1')
    page.get_by_text('The journal has no row of this flow').wait_for(state='hidden')
