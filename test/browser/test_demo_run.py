# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A run of the demo, from the real launch file, as each page shows it meanwhile and afterwards."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from action_lifecycle.journal import JournalReader
from isolation import domain_id
import pytest

pytest.importorskip('action_lifecycle_msgs')
pytest.importorskip('mujoco')
pytest.importorskip('playwright')

from playwright.sync_api import expect  # noqa: E402, I100

from .browser_rig import Pages, Viewer  # noqa: E402

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
FLOW = ROOT / 'config/flows/pick_and_place.yaml'
ACTIONS = ('make_way', 'pick_a', 'place_a', 'pick_b', 'place_b', 'pick_c', 'place_c')
RUN = 60_000  #: maximum time (ms) until something happens in the run
CURVES = """chart => {
    const series = chart.component.frame.chart.getOption().series;
    return series.filter(each => each.markLine?.data?.[0]?.yAxis !== undefined).map(each => ({
        limit: each.markLine.data[0].yAxis, points: each.data.map(point => point.value ?? point),
        dot: series.find(other => other.type === 'scatter'
            && other.yAxisIndex === each.yAxisIndex)?.data[0] })); }"""
"""For each comparison with a threshold: the threshold, the curve, the dot of the verdict"""
LOOKED = """() => { window.seen = [];
    new MutationObserver(all => all.forEach(({ target }) => target.matches('g.box') &&
        window.seen.push([target.dataset.path, target.getAttribute('class')]))).observe(
        document.querySelector('.flow-graph').shadowRoot,
        {subtree: true, attributes: true, attributeFilter: ['class']}); }"""


class Demo(Viewer):
    """The cell, the nodes and the viewer; `run` runs the flow."""

    def __init__(self, folder: Path) -> None:
        self.journal = folder / 'journal'
        self.environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain_id()),
                            'ROS_LOG_DIR': str(folder)}
        super().__init__(
            [sys.executable, ROOT / 'tools/launch', 'action_lifecycle', 'demo.launch.py', 'flow:=',
             f'journal_path:={self.journal}', 'web:=true', 'web_port:=0'],
            folder, self.environment)

    def run(self) -> subprocess.Popen[str]:
        """Start the flow."""
        return subprocess.Popen(
            ['action_lifecycle', 'run', str(FLOW), '--plain', '--wait', '60', '--flow-id', 'demo'],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self) -> int:
        """End all processes of the launch."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(40.0)


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Demo]:
    monkeypatch.setattr('browser.browser_rig.START', 60.0)
    demo = Demo(tmp_path)
    yield demo
    demo.end()


def test_each_page_shows_the_run(demo: Demo, pages: Pages) -> None:
    flow, timeline, now, runs = (pages.open(f'{demo.address}/{view}') for view in (
        '?flow=demo', 'timeline?flow=demo', 'now', 'runs'))
    expect(now.locator('.safety')).to_contain_text('Ready', timeout=RUN)
    began = time.time()
    run = demo.run()
    flow.locator('g.box').nth(len(ACTIONS) - 1).wait_for(timeout=RUN)
    flow.evaluate(LOOKED)
    while_it_runs(now, timeline)
    refuted(pages, demo)
    text, _ = run.communicate(timeout=RUN / 1000)
    assert run.returncode == 0, text
    expect(flow.locator('g.box.look-succeeded')).to_have_count(len(ACTIONS))
    expect(flow.locator('.shell-chip', has_text='Finished 7/7')).to_be_visible()
    seen = {(path, look) for path, css in flow.evaluate('window.seen')
            for look in css.split() if look.startswith('look-')}
    for action in ACTIONS[1:]:
        assert {(action, f'look-{look}') for look in (
            'executing-motion', 'sensor-confirm', 'succeeded')} <= seen, (action, seen)
    expect(timeline.locator('.player')).to_contain_text('7 of 7 actions succeeded')
    expect(now.locator('.now')).to_contain_text('No flow is running')
    runs.locator('[data-new]').click()
    card = runs.locator('.runs-card', has_text='false successes of controllers')
    expect(card).to_contain_text('of 8 reported and judged: 1 refuted', timeout=RUN)
    assert time.time() - began < 300.0


def while_it_runs(now: Any, timeline: Any) -> None:
    """Look at the pages Now and Timeline during the first pick."""
    action = now.locator('[data-action=pick_a]')
    expect(action).to_contain_text('executing', timeout=RUN)
    expect(action).to_contain_text('step')
    expect(now.locator('.camera img')).to_have_js_property(
        'naturalWidth', 600, timeout=RUN)
    gap = now.locator('.facts tbody tr').filter(has=now.get_by_text('gap', exact=True))
    for text in ('0.08 m', '0.03'):  # open, and around the part
        expect(gap).to_contain_text(text, timeout=RUN)
    expect(now.locator('.scene canvas')).to_be_visible()
    rows = timeline.locator('.player').inner_text()
    expect(timeline.locator('.player')).not_to_have_text(rows)  # it grows


def refuted(pages: Pages, demo: Demo) -> None:
    """Compare the panel of the refuted pick with the journal."""
    with JournalReader(demo.journal) as journal:
        end = time.monotonic() + RUN / 1000
        while not (row := next((row for row in journal.rows(
                flow_id='demo', action_id='pick_b', kind='transition')
                if row.data.get('error_code') == 'REFUTED'), None)):
            assert time.monotonic() < end, 'no pick was refuted'
            time.sleep(0.1)
    facts = {fact['name']: fact for fact in row.data['evidence'][0]['facts']}
    page = pages.open(f'{demo.address}/?flow=demo&pick=pick_b')
    panel = page.locator('.action-panel')
    first = panel.get_by_role('button', name='Attempt 1: failed')
    first.wait_for(timeout=RUN)
    first.click()
    panel.get_by_text('REFUTED', exact=True).wait_for()
    assert panel.locator('.attempt-word').all_inner_texts() == ['succeeded', 'refuted']
    chart = panel.locator('[role=img][aria-label*="gap > 0.02"]')
    chart.wait_for(timeout=RUN)
    shown = {curve['limit']: curve for curve in chart.evaluate(CURVES)}
    for limit, name in ((0.02, 'gap'), (2.0, 'squeeze'), (0.5, 'load')):
        number = facts[name]['numbers'][0]
        # Without breaks: on a busy machine a fact may be stale for a moment.
        curve = [point for point in shown[limit]['points'] if point[1] is not None]
        assert shown[limit]['dot'][1] == pytest.approx(number, rel=1e-6)
        assert curve[-1][0] == pytest.approx(shown[limit]['dot'][0], abs=0.1)
        assert max(value for _, value in curve) > limit > max(curve[-1][1], number)
    page.close()
