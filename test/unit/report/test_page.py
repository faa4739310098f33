# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The HTML page is well-formed, needs no network, and shows journals as text only."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
import re
import subprocess
import sys
from typing import Any

from action_lifecycle.cli.main import main
from action_lifecycle.journal import Entry, Journal
from action_lifecycle.report.looks import bar_style, LOOKS
from action_lifecycle.report.pictures import svg_of
from action_lifecycle.report.report import read_report
import pytest

from .generated import generate
from .test_report_files import PICK, write

pytest.importorskip('matplotlib')
VOID = {'meta', 'br', 'wbr', 'hr', 'img', 'input', 'link'}


class Page(HTMLParser):
    """Collects elements, attributes and text; `faults`: end tags that close nothing."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ''
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == 'script':
            self.scripts.append(data)
        elif not self.open or self.open[-1] != 'style':
            self.text += data


def page_of(*paths: Path) -> Page:
    from action_lifecycle.report.page import page
    return Page(page(read_report(paths)))


@pytest.fixture(scope='module')
def generated(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp('journals')
    for seed in (1, 2):
        generate(folder / f'{seed}', 25, seed)
    return page_of(folder / '1', folder / '2')


def test_page_is_well_formed(generated: Page) -> None:
    assert generated.faults == [] and generated.open == []
    assert [tag for tag, _ in generated.elements].count('svg') == 4
    ids = [attributes['id'] for _, attributes in generated.elements if 'id' in attributes]
    assert len(ids) == len(set(ids))
    used = {str(value)[1:] for _, attributes in generated.elements
            for name, value in attributes.items() if name == 'href'}
    assert used <= set(ids)


def test_page_needs_no_network(generated: Page) -> None:
    for tag, attributes in generated.elements:
        assert tag not in ('link', 'img', 'iframe', 'object', 'image', 'a')
        for name, value in attributes.items():
            assert name != 'src' and not name.startswith('on')
            assert '//' not in (value or '') and '@import' not in (value or '')
            assert name not in ('href', 'xlink:href') or str(value).startswith('#')
    policy, = (attributes['content'] for tag, attributes in generated.elements
               if attributes.get('http-equiv') == 'Content-Security-Policy')
    assert str(policy).startswith("default-src 'none';")


def test_policy_permits_the_script_of_the_page(generated: Page) -> None:
    from base64 import b64encode
    from hashlib import sha256
    script, = generated.scripts
    policy = next(str(attributes['content']) for _, attributes in generated.elements
                  if 'http-equiv' in attributes)
    assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy


def test_page_shows_each_action_flow_and_server(generated: Page) -> None:
    for name in ('pick/grasp', 'sort/move', 'pick', 'motion vacuum', 'call /look', 'REFUTED',
                 'z > 0', 'J2 #'):
        assert name in generated.text, name


HOSTILE = '<script>alert(1)</script>" onmouseover="x" \'$\\frac{{{% raw %}\x00\u202e-->]]>&amp;'


def test_text_of_a_journal_stays_text(tmp_path: Path) -> None:
    evidence = [{'condition': HOSTILE, 'expression': HOSTILE, 'verdict': 'false', 'facts': [
        {'name': HOSTILE, 'unit': HOSTILE, 'value': HOSTILE, 'validity': 'valid'},
        {'name': HOSTILE + '2', 'unit': HOSTILE, 'numbers': [1.0], 'validity': 'valid'}]}]
    changes = [*PICK[:3], (5.0, 1, 'fail', 'sensor_confirm', 'error', {
        'error_code': HOSTILE, 'sensors_said': 'refuted', 'evidence': evidence}),
        (6.0, 1, 'terminate', 'error', HOSTILE, {}),
        (7.0, 1, 'terminate', HOSTILE, 'terminated', {'outcome': 'failed'})]
    path = write(tmp_path / '<b>journal', changes, HOSTILE, HOSTILE, HOSTILE)
    found = page_of(path)
    assert found.faults == [] and len(found.scripts) == 1
    assert not [attributes for _, attributes in found.elements
                for name in attributes if name.startswith('on')]
    assert '<script>alert(1)</script>' in found.text
    assert not re.search('[\x00-\x08]', found.text)
    assert {tag for tag, _ in found.elements} <= {
        'html', 'head', 'meta', 'title', 'style', 'body', 'h1', 'h2', 'p', 'div', 'span', 'b',
        'figure', 'figcaption', 'svg', 'g', 'path', 'defs', 'pattern', 'text', 'tspan', 'use',
        'clippath', 'rect', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'code', 'details',
        'summary', 'dl', 'dt', 'dd', 'script', 'wbr'}


def test_page_of_nothing(tmp_path: Path) -> None:
    Journal(tmp_path / 'j').close()
    found = page_of(tmp_path / 'j')
    assert found.faults == [] and 'nothing to count' in found.text
    assert 'svg' not in {tag for tag, _ in found.elements}


def test_page_is_written_whole_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = write(tmp_path / 'j', PICK), tmp_path / 'report.html'
    assert main(['report', str(path), '--html', str(target)]) == 0
    assert capsys.readouterr().out == f'{target}\n'
    assert Page(target.read_text('utf-8')).faults == []
    assert sorted(each.name for each in tmp_path.iterdir() if 'part' in each.name) == []


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path) -> None:
    path = write(tmp_path / 'j', PICK)
    program = ('import sys\nsys.modules["matplotlib"] = None\n'
               'from action_lifecycle.cli.main import main\n'
               'options = ["--html", sys.argv[2]], [], ["--csv"], ["--json"]\n'
               'print("codes", *(main(["report", sys.argv[1], *each]) for each in options))')
    done = subprocess.run(
        [sys.executable, '-c', program, str(path), str(tmp_path / 'x.html')],
        capture_output=True, text=True, timeout=100)
    assert done.stdout.splitlines()[-1] == 'codes 2 0 0 0'
    assert 'action_lifecycle[report]' in done.stderr and not (tmp_path / 'x.html').exists()


def test_a_flow_without_a_name_is_shown(tmp_path: Path) -> None:
    with Journal(tmp_path / 'j') as journal:
        for time, attempt, event, start, end, data in PICK:
            journal.append(Entry('transition', 'session', 'a', attempt, event, start, end,
                                 data=data, final=end == 'terminated', ros_time=time))
    assert '(flow not in the journal)/a' in page_of(tmp_path / 'j').text


def test_bars_with_a_pattern_keep_their_colour() -> None:
    from matplotlib.figure import Figure
    figure, look = Figure(), LOOKS['fallback']
    figure.subplots().barh([0], [1], **bar_style(look))
    svg = svg_of(figure, 'time')
    assert re.search(f'fill[=:] ?"?{look.light}', svg) and '"#time-' + look.light[1:] not in svg
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg)) <= set(
        re.findall(r'\bid="([^"]+)"', svg))
