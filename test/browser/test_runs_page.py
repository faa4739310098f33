# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The page Runs in Chromium, on a journal of the real orchestrator."""

from __future__ import annotations

from collections.abc import Iterator
import csv
import json
from pathlib import Path
import re

from action_lifecycle.report.report import read_report
from chromium import PHONE
import pytest
from unit.flow.robot import Clock, MOTION, Process, Robot

from .browser_rig import Pages
from .double_rig import Double

pytest.importorskip('playwright')
from playwright.sync_api import expect  # noqa: E402, I100

EXPRESSION = 'z > 0 or "<img src=x onerror=window.hacked=1>" == "${7*7}"'
FLOW = f"""\
flow: pick_and_place
actions:
  pick: {{motion: {{server: arm, type: a/action/B}}, confirm: '{EXPRESSION}', retry: {{times: 1}}}}
  place: {{{MOTION}, after: [pick]}}
"""


class Lab:
    """A journal with three runs, one of them refuted at first, and the viewer of it."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.clock.time = 1.79e9
        self.robot = Robot(self.clock)
        self.journal = folder / 'journal'
        self.process = Process(self.journal, self.clock, self.robot)
        for number in range(3):
            self.run(f'run-{number}', 'refuted' if number == 1 else 'confirmed')
        self.double = Double(self.journal, folder)

    def run(self, flow_id: str, verdict: str) -> None:
        self.robot.verdicts['pick', 'confirm'] = [verdict]
        self.process.submit(FLOW, flow_id)
        self.clock.run(86400.0)

    def end(self) -> None:
        self.double.viewer.end()
        self.process.journal.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Return the lab."""
    lab = Lab(tmp_path)
    yield lab
    lab.end()


def test_the_report_is_shown_with_links_to_the_flow_as_it_was(lab: Lab, pages: Pages) -> None:
    page = lab.double.open(pages, 'runs')
    card = page.locator('.runs-card', has_text='first try')
    expect(card).to_contain_text('83.3 %')
    expect(card).to_contain_text('5 of 6')
    expect(page.locator('.runs-card', has_text='false successes')).to_contain_text('1 refuted')
    row = page.locator('.runs-table tr', has_text='pick_and_place/pick')
    expect(row).to_contain_text('2/3')
    row.get_by_role('button').focus()
    page.keyboard.press('Enter')
    details = page.locator('.runs-details')
    expect(details).to_contain_text(EXPRESSION)
    expect(details).to_contain_text('true 3, false 1, unknown 0')
    expect(details).to_contain_text('1 by retry')
    found = next(group for group in read_report([lab.journal])['groups']
                 if group['level'] == 'action' and group['action'] == 'pick')
    (_, seq), = found['conditions'][0]['rows']
    link = details.get_by_role('link', name=f'row {seq}').first
    expect(link).to_have_attribute('href', re.compile(rf'flow=run-1&at={seq}&pick=pick'))
    expect(details.get_by_role('link', name='run-1, attempt 1')).to_be_visible()
    assert page.evaluate('window.hacked') is None
    assert page.locator('img[src=x]').count() == 0


@pytest.mark.long
def test_runs_are_filtered_by_time_and_flow(lab: Lab, pages: Pages) -> None:
    page = lab.double.open(pages, 'runs')
    ended = page.locator('.runs-card .runs-value').last
    expect(ended).to_have_text('6')
    begin = lab.clock.time - 1.5 * 86400
    local = page.evaluate("""at => { const time = new Date(1000 * at);
        return new Date(time - 60000 * time.getTimezoneOffset()).toISOString().slice(0, 16)}""",
                          begin)
    page.get_by_label('Began since').fill(local)
    page.get_by_role('button', name='Show').click()
    expect(ended).to_have_text('2')
    page.get_by_label('Began before').fill('2000-01-01T00:00')
    page.get_by_role('button', name='Show').click()
    expect(ended).to_have_text('0')


@pytest.mark.long
def test_a_report_is_downloaded(lab: Lab, pages: Pages) -> None:
    page = lab.double.open(pages, 'runs')
    expect(page.locator('.runs-card').first).to_be_visible()
    contents = {}
    for kind in ('csv', 'json', 'html'):
        with page.expect_download() as download:
            page.locator(f'[data-download={kind}]').click()
        assert download.value.suggested_filename == f'report.{kind}'
        contents[kind] = Path(download.value.path()).read_text(encoding='utf-8')
    assert json.loads(contents['json'])['groups'] == json.loads(
        json.dumps(read_report([lab.journal])))['groups']
    assert any(line['figure'] == 'first_try' for line in csv.DictReader(
        contents['csv'].splitlines()))
    assert '<!DOCTYPE html>' in contents['html']


@pytest.mark.long
def test_new_rows_are_counted_and_shown_when_asked_for(lab: Lab, pages: Pages) -> None:
    page = lab.double.open(pages, 'runs', size=PHONE)
    ended = page.locator('.runs-card .runs-value').last
    expect(ended).to_have_text('6')
    lab.run('run-3', 'confirmed')
    new = page.locator('[data-new]')
    expect(new).to_contain_text(re.compile(r'\d+ new rows'))
    expect(ended).to_have_text('6')
    new.click()
    expect(ended).to_have_text('8')
    expect(new).to_be_hidden()
    assert page.evaluate('document.documentElement.scrollWidth') <= PHONE[0]
