# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""People watch and steer flows of real nodes in Chromium, over DDS."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip('action_lifecycle_msgs')

from .browser_rig import Pages  # noqa: E402
from .live_rig import BRIDGE, LEFT, LiveRig, NODE, WEB  # noqa: E402

pytestmark = pytest.mark.xdist_group('live_viewer')
ASKS = """\
look:
  confirm: {condition: level > 100.0, within: 0.3}
  fallback:
    - strategy: ask
      question: 'The level is low. Go on?'
      timeout: 300
      default: leave it
      options:
        once more: {confirm: {condition: level > 0.0, within: 5.0}}
        leave it: give_up"""
WAITS = ('wait: {confirm: {condition: level > LEVEL, within: 300.0}}\n'
         'then: {after: wait, confirm: level > 0.0}\n'
         'last: {after: then, confirm: level > 0.0}')
FAILS = 'fails: {confirm: {condition: level > 1000.0, within: 0.2}}'


@pytest.fixture(scope='module')
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveRig]:
    live = LiveRig(tmp_path_factory.mktemp('live'))
    yield live
    live.close()


def waits(level: float) -> str:
    return WAITS.replace('LEVEL', str(level))


def test_an_answer_by_a_click_is_journaled_with_the_person(live: LiveRig, pages: Pages) -> None:
    watching, _ = live.begin(pages, '/', '', 'asks', ASKS)
    live.until_look(watching, 'look', 'Fallback')
    page = live.open(pages, '/now', 'anna')
    live.until_text(page, '.question', 'The level is low. Go on?')
    live.click(page, '.question [data-answer]:has-text("once more")')
    row = live.until_row(lambda row: row.flow_id == 'asks' and row.event == 'receive_fallback',
                         'the answer')
    assert (row.actor, row.data['answer']) == ('anna', 'once more')
    live.until_page(page, 'css => !document.querySelector(css)', '.question')
    live.until_look(watching, 'look', 'Succeeded')
    live.until_text(watching, '.shell-chip', 'Finished')


@pytest.mark.long
def test_a_flow_is_paused_resumed_skipped_and_canceled_by_clicks(
    live: LiveRig, pages: Pages
) -> None:
    page, handle = live.begin(pages, '/?pick=then', 'ben', 'steered', waits(500.0))
    live.until_look(page, 'wait', 'Verifying')
    bar, panel = '.shell-orders [data-order={}]', '.shell-side [data-order={}]'
    live.click(page, bar.format('pause'))
    live.until_row(lambda row: row.flow_id == 'steered' and row.event == 'paused', 'paused')
    live.click(page, bar.format('resume'))
    live.until_row(lambda row: row.flow_id == 'steered' and row.event == 'resumed', 'resumed')
    live.click(page, panel.format('skip'))
    live.click(page, '[data-confirm]')
    live.until_look(page, 'then', 'Skipped')
    live.click(page, bar.format('cancel'))
    live.click(page, '[data-confirm]')
    done = handle.get_result_async()
    live.until(done.done, 20.0, 'the flow ends')
    live.until_look(page, 'wait', 'Canceled')
    for event in ('paused', 'resumed', 'skipped', 'cancel_flow'):
        assert live.until_row(lambda row, event=event: row.flow_id == 'steered'
                              and row.event == event, event).actor == 'ben'
    changes = {(row.action_id, row.event): row.actor for row in live.rows('steered')}
    assert (changes['then', 'terminate'], changes['wait', 'fail']) == ('ben', 'ben')


@pytest.mark.long
def test_actions_are_stopped_at_breakpoints_and_retried_by_clicks(
    live: LiveRig, pages: Pages
) -> None:
    page, handle = live.begin(
        pages, '/?pick=then', 'ida', 'broken', f'{waits(500.0)}\n{FAILS}')
    live.until_look(page, 'fails', 'Failed')
    bar, panel = '.shell-orders [data-order={}]', '.shell-side [data-order={}]'

    def until_note(event: str, **data: object) -> None:
        row = live.until_row(lambda row: row.flow_id == 'broken' and row.event == event, event)
        assert row.actor == 'ida'
        assert {name: row.data[name] for name in data} == data

    live.click(page, panel.format('breakpoint'))
    until_note('breakpoint_set', action='then')
    live.click(page, panel.format('clear_breakpoint'))
    until_note('breakpoint_cleared', action='then')
    page.locator('g.box[data-path="fails"]').click()
    live.until_text(page, '.action-name', 'fails')
    live.click(page, panel.format('retry'))
    until_note('retried', action='fails')
    live.until_row(lambda row: row.flow_id == 'broken' and row.action_id == 'fails'
                   and row.attempt == 2, 'the next attempt')
    live.click(page, bar.format('hold'))
    until_note('paused', hold=True)
    live.click(page, bar.format('cancel'))
    live.click(page, '[data-confirm]')
    done = handle.get_result_async()
    live.until(done.done, 20.0, 'the flow ends')


def test_a_reload_keeps_the_place_and_browsers_agree(live: LiveRig, pages: Pages) -> None:
    page, _ = live.begin(pages, '/', '', 'placed', waits(600.0))
    other = live.open(pages, '/')
    for each in (page, other):
        live.until_look(each, 'wait', 'Verifying')
    page.locator('g.box[data-path="then"]').click()
    live.until_page(page, 'text => location.search.includes(text)', 'pick=then')
    page.reload()
    live.until_text(page, '.shell-side', 'then')
    assert 'flow=placed' in page.url and 'pick=then' in page.url
    live.level = 601.0
    try:
        for each in (page, other):
            live.until_look(each, 'last', 'Succeeded')
            live.until_text(each, '.shell-chip', 'Finished 3/3')
    finally:
        live.level = 1.0


@pytest.mark.long
def test_a_killed_viewer_comes_back_with_what_happened_meanwhile(
    live: LiveRig, pages: Pages
) -> None:
    pages.expects += LEFT
    page, handle = live.begin(pages, '/', 'cleo', 'unseen', waits(700.0))
    live.until_look(page, 'wait', 'Verifying')
    live.kill(WEB)
    live.level = 701.0
    done = handle.get_result_async()
    try:
        live.until(done.done, 20.0, 'the flow goes on without a viewer')
    finally:
        live.level = 1.0
    live.start_web()
    live.until_look(page, 'last', 'Succeeded', 40.0)
    live.until_link(page, 'Live')
    assert not page.locator('text=Sign in').count(), 'the session is over'


@pytest.mark.long
def test_a_killed_action_node_is_told_and_its_return_too(live: LiveRig, pages: Pages) -> None:
    page, _ = live.begin(pages, '/', '', 'killed', waits(800.0))
    live.until_look(page, 'wait', 'Verifying')
    live.kill(NODE)
    live.until_link(page, 'gone', 40.0)
    live.start_node()
    live.until_link(page, 'Live', 40.0)
    live.level = 801.0
    try:
        live.until_look(page, 'last', 'Succeeded', 40.0)
    finally:
        live.level = 1.0


@pytest.mark.long
def test_nodes_that_hang_are_told_and_the_page_recovers(live: LiveRig, pages: Pages) -> None:
    page, _ = live.begin(pages, '/', '', 'hangs', waits(900.0))
    now = live.open(pages, '/now')
    live.freeze(NODE, BRIDGE)
    try:
        for each in (page, now):
            live.until_link(each, 'gone', 40.0)
    finally:
        live.thaw(NODE, BRIDGE)
    for each in (page, now):
        live.until_link(each, 'Live', 40.0)
    live.level = 901.0
    try:
        live.until_look(page, 'last', 'Succeeded', 40.0)
    finally:
        live.level = 1.0
