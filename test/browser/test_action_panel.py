# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The panel of an action in Chromium, with traces and without, now and at earlier moments."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import sys
from typing import Any

from action_lifecycle.traces import TraceKey
from chromium import PHONE
import pytest
from unit.traces.rig import HELD, Rig

from .browser_rig import Pages, Viewer
from .gantt_rows import accepted, course, EVIDENCE, FLOW, write

HOSTILE = '<img src=x onerror="window.hit=1">'


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a journal, and traces of the first attempt of `pick`."""
    folder = tmp_path_factory.mktemp('panel')
    evidence = {**EVIDENCE, 'expression': HELD.expression, 'stamp': 10.39}
    rows = course('pick')
    rows[3] = rows[3]._replace(data={**rows[3].data, 'evidence': [evidence]})
    write(folder / 'journal', accepted(), rows, course('place', last=4),
          course(HOSTILE, last=4))
    Rig(folder / 'journal.traces').attempt(
        TraceKey(FLOW, 'pick', 1), value=0.003, verdict='refuted')
    return folder


@pytest.fixture(scope='module')
def viewer(folder: Path) -> Iterator[Viewer]:
    (folder / 'now').write_text(json.dumps({'kind': 'nodes', 'live': True}) + '\n')
    found = Viewer([sys.executable, Path(__file__).with_name('robot_double.py'),
                    folder / 'journal', folder], folder)
    yield found
    found.end()


def opened(pages: Pages, viewer: Viewer, path: str, at: int = 0, **size: Any) -> Any:
    """Return the panel of an action, once its attempt is shown."""
    from urllib.parse import quote
    page = pages.open(f'{viewer.address}/timeline?flow={FLOW}&pick={quote(path)}'
                      + (f'&at={at}' if at else ''), **size)
    panel = page.locator('.action-panel')
    panel.locator('.attempt').filter(has_text='').first.wait_for()
    return panel


def test_the_attempt_that_was_refuted_is_shown_with_its_curves(
    pages: Pages, viewer: Viewer
) -> None:
    panel = opened(pages, viewer, 'pick')
    panel.get_by_text('confirmed', exact=True).wait_for()  # the newest attempt
    panel.get_by_role('button', name='Attempt 1: failed').click()
    panel.get_by_text('REFUTED', exact=True).wait_for()
    assert panel.locator('.attempt-word').all_inner_texts() == ['succeeded', 'refuted']
    chart = panel.locator('[role=img][aria-label*="gap > 0.01"]')
    chart.wait_for()
    assert 'at last 0.003 m' in chart.get_attribute('aria-label')
    assert chart.locator('canvas').count() == 1
    panel.get_by_text('Values at the verdict').first.click()
    panel.get_by_role('cell', name='0.003 m').first.wait_for()


def test_without_traces_the_values_of_the_evidence_are_a_table(
    pages: Pages, viewer: Viewer
) -> None:
    panel = opened(pages, viewer, 'place', size=PHONE)
    row = panel.get_by_role('row').filter(has_text='tool')
    row.wait_for()
    assert '[0, 0, 0.2] m (stale)' in row.inner_text()
    assert '1.00 s' in row.inner_text()
    assert panel.locator('canvas').count() == 0
    assert panel.page.evaluate('document.documentElement.scrollWidth') <= PHONE[0]
    header, end, tabs = panel.page.evaluate("""() => {
        const box = (css) => document.querySelector(`.shell-${css}`).getBoundingClientRect();
        return [box('header').height, box('side').bottom, box('nav').top]; }""")
    assert header <= 96 and abs(end - tabs) < 1.0


def test_everything_is_as_it_was_at_the_moment(pages: Pages, viewer: Viewer) -> None:
    panel = opened(pages, viewer, 'pick', at=5)  # the motion has ended
    panel.locator('.action-state').get_by_text('confirming').wait_for()
    panel.get_by_text('nothing yet').wait_for()
    assert panel.locator('.action-attempts').is_hidden()
    panel.get_by_text('History').click()
    panel.get_by_role('listitem').first.wait_for()
    assert panel.get_by_role('listitem').count() == 3
    panel.page.keyboard.press('ArrowRight')
    panel.get_by_text('REFUTED', exact=True).wait_for()
    panel.page.wait_for_function('document.querySelectorAll(".action-history li").length === 4')


def test_goal_and_results_are_shown(pages: Pages, viewer: Viewer) -> None:
    panel = opened(pages, viewer, 'pick')
    panel.get_by_text('YAML').click()
    panel.get_by_text('The journal does not have the text of this action.').wait_for()
    panel.get_by_text('Goal as sent, and results').click()
    panel.locator('.action-pre').nth(1).wait_for()


def test_hostile_names_are_text(pages: Pages, viewer: Viewer) -> None:
    panel = opened(pages, viewer, HOSTILE)
    assert panel.locator('.action-name').inner_text() == HOSTILE
    assert panel.page.evaluate('window.hit') is None
    assert panel.locator('img').count() == 0


def test_values_are_shown_until_the_curves_come(
    pages: Pages, viewer: Viewer, folder: Path
) -> None:
    fault = folder / 'no_traces'
    fault.write_text('')
    try:
        panel = opened(pages, viewer, 'pick')
        panel.get_by_role('button', name='Attempt 1: failed').click()
        panel.get_by_text('The traces are being read').wait_for()
        panel.get_by_role('cell', name='0.003 m').first.wait_for()
        fault.write_text('world_model_bridge is gone')
        note = panel.get_by_text('Traces are not available: world_model_bridge is gone')
        note.wait_for()
        panel.get_by_role('cell', name='0.003 m').first.wait_for()
        assert panel.locator('[role=img][aria-label*="gap > 0.01"]').count() == 0
    finally:
        fault.unlink()
    panel.locator('[role=img][aria-label*="gap > 0.01"]').wait_for()
    assert note.count() == 0
