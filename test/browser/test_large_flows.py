# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Large flows in Chromium: shown soon, in groups, and followed without being drawn anew."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import random

import pytest

from .browser_rig import Pages, Viewer
from .made_flow import MadeFlow, viewer_command

SHOW = """(label) => new Promise(done => {
    const root = document.querySelector('.flow-graph').shadowRoot;
    const old = root.querySelector('svg');
    document.querySelector(`[aria-label="${label}"]`).click();
    const look = () => root.querySelector('svg') !== old
        ? requestAnimationFrame(() => requestAnimationFrame(done)) : setTimeout(look, 5);
    look(); })"""
COUNT = """() => { window.changes = 0;
    new MutationObserver(all => window.changes += all.length).observe(
    document.querySelector('.flow-graph').shadowRoot,
    {subtree: true, childList: true, attributes: true, characterData: true}); }"""


def large(path: Path, count: int) -> MadeFlow:
    """Return a flow in which each action waits for one or two of the sixty before it."""
    chance = random.Random(1)
    return MadeFlow(path, {f'n{index}': {
        f'n{chance.randrange(max(0, index - 60), index)}': '' for _ in range(2)} if index else {}
        for index in range(count)})


@pytest.fixture
def journal(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[MadeFlow, Viewer]]:
    made = large(tmp_path / 'journal', request.param)
    viewer = Viewer(viewer_command(tmp_path / 'journal'), tmp_path)
    yield made, viewer
    viewer.end()
    made.journal.close()


def used() -> float:
    """Return the CPU time (s) of all processes that this one has started."""
    parents, times = {}, {}
    for stat in Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = stat.read_text().rpartition(')')[2].split()
        except OSError:  # it has ended
            continue
        parents[int(stat.parent.name)] = int(fields[1])
        times[int(stat.parent.name)] = sum(map(int, fields[11:13]))
    total, near = 0, {os.getpid()}
    while near:
        near = {child for child, parent in parents.items() if parent in near}
        total += sum(times[child] for child in near)
    return total / os.sysconf('SC_CLK_TCK')


@pytest.mark.parametrize('journal', [2000], indirect=True)
def test_two_thousand_actions_are_drawn_in_two_seconds_and_followed(
    journal: tuple[MadeFlow, Viewer], pages: Pages
) -> None:
    made, viewer = journal
    page = pages.open(viewer.address)
    page.locator('g.box').first.wait_for()
    assert 100 < page.locator('g.box').count() <= 400
    before = used()
    page.evaluate(SHOW, 'Open all groups')
    assert used() - before < 2.0  # processor time, as others may use the machine
    assert page.locator('g.box').count() == 2000
    page.get_by_label('Follow the active action').click()
    page.evaluate(COUNT)
    for index in range(20):
        made.ends(f'n{index}')
    page.locator('g.box.look-succeeded').nth(19).wait_for(state='attached')
    assert page.evaluate('window.changes') <= 20 * 8


@pytest.mark.parametrize('journal', [10_000], indirect=True)
def test_ten_thousand_actions_are_shown_in_groups(
    journal: tuple[MadeFlow, Viewer], pages: Pages
) -> None:
    made, viewer = journal
    page = pages.open(viewer.address)
    page.locator('g.box').first.wait_for(timeout=60_000)
    assert 10 < page.locator('g.box').count() <= 400
    made.ends('n0')
    page.locator('.flow-chip', has_text='succeeded').wait_for()
    shown = page.locator('g.box').count()
    page.locator('g.box:not(.frame) > .toggle').first.dispatch_event('click')
    page.locator('g.box').nth(shown).wait_for(state='attached')
