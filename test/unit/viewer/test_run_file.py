# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A run as one HTML file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from action_lifecycle.cli import main
from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.traces import trace_path, TraceKey
from action_lifecycle.viewer.run_file import run_page
import pytest

from ..flow.robot import Clock, MOTION, Robot, Start
from ..traces.rig import Rig

HOSTILE = '<img src=x onerror=alert(1)>\u202e${7*7}]]></style><script>alert(2)</script>'
FLOW = f"""\
flow: f
description: "{HOSTILE}"
actions:
  a: {{{MOTION}, retry: {{times: 1}}, description: "{HOSTILE}"}}
  b: {{{MOTION}, after: [a]}}
"""


class Parsed(HTMLParser):
    """The elements, attributes and visible text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, Mapping[str, Any]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def write(journal: str | Path, file: Path, flow_id: str = '') -> Parsed:
    file.write_text(asyncio.run(run_page(Path(journal), flow_id))[1])
    return Parsed(file.read_text())


@pytest.fixture
def journal(start: Start, clock: Clock, robot: Robot) -> str:
    process = start()
    robot.verdicts['a', 'confirm'] = ['refuted']
    process.submit(FLOW)
    clock.run()
    return str(process.journal.path)


def test_both_attempts_with_evidence_are_in_the_file(journal: str, tmp_path: Path) -> None:
    page = write(journal, tmp_path / 'run.html')
    words = ' '.join(' '.join(page.text).split())
    for expected in ('finished', 'Attempt 1', 'Attempt 2 by retry', 'refuted', 'confirmed',
                     'REFUTED', 'motion · succeeded · try 2'):
        assert expected in words, expected
    boxes = [found['data-path'] for tag, found in page.tags if 'data-path' in found]
    assert boxes == ['a', 'b']


def test_nothing_of_a_flow_becomes_an_element_or_a_request(journal: str, tmp_path: Path) -> None:
    page = write(journal, tmp_path / 'run.html')
    assert {'script', 'img', 'link', 'iframe', 'object'}.isdisjoint(tag for tag, _ in page.tags)
    for _, attributes in page.tags:
        assert not any(name.startswith('on') or name == 'src' for name in attributes)
        assert attributes.get('href', '#').startswith('#')
    assert any('onerror=alert(1)' in text for text in page.text)  # as text


def test_curves_are_drawn_from_the_traces(journal: str, tmp_path: Path) -> None:
    pytest.importorskip('matplotlib')
    without = write(journal, tmp_path / 'without.html')
    rig = Rig(trace_path(journal))
    for number, value in ((1, 0.005), (2, 0.02)):
        rig.attempt(TraceKey('f', 'a', number), 10.0 * number, value)
    rig.store.close()
    page = write(journal, tmp_path / 'with.html')
    assert sum(tag == 'figure' for tag, _ in without.tags) == 0
    assert sum(tag == 'figure' for tag, _ in page.tags) == 2
    assert 'gap_mm < 50' in ' '.join(page.text)


def test_damaged_traces_are_said(journal: str, tmp_path: Path) -> None:
    trace_path(journal).write_bytes(b'no traces' * 100)
    assert 'traces' in ' '.join(write(journal, tmp_path / 'run.html').text)


def test_an_unknown_flow_is_an_error_and_leaves_no_file(journal: str, tmp_path: Path) -> None:
    with pytest.raises(LifecycleError, match="no flow 'g'"):
        write(journal, tmp_path / 'run.html', 'g')
    assert not (tmp_path / 'run.html').exists()


def test_the_verb_writes_the_newest_run(
    journal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / 'run.html'
    assert main(['view', journal, '--html', str(file)]) == 0
    assert capsys.readouterr().out == f'{file}: flow f\n'
    assert main(['view', journal, '--html', str(file), '--flow', 'g']) == 2
    assert main(['view', journal, '--flow', 'f']) == 2
