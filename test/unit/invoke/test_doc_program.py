# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The program that docs/dialogue.md shows runs as it stands, with either engine."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import subprocess
import sys

import pytest

from .celery_rig import CeleryRig
from ..docs.pages import blocks, ROOT

FILES = {'talk.py': 'make_engine(', 'fetch.yaml': 'initial: ask',
         'my_skills/vision.py': 'def find'}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files of the page; workers that are started find it, too."""
    shown = [example.text for example in blocks(ROOT / 'docs/dialogue.md')]
    (tmp_path / 'my_skills').mkdir()
    for name, mark in FILES.items():
        text, = [text for text in shown if mark in text]
        (tmp_path / name).write_text(text, encoding='utf-8')
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture(params=['local', 'celery'])
def engine(request: pytest.FixtureRequest, folder: Path) -> Iterator[dict[str, str]]:
    """Give the environment that chooses an engine."""
    if request.param == 'local':
        yield {}
        return
    request.getfixturevalue('celery_rig')  # skips without Celery or Redis
    rig = CeleryRig()
    rig.start_worker()
    yield {'ENGINE': 'celery', 'BROKER': rig.url}
    rig.close()


def test_the_program_of_the_page_talks(folder: Path, engine: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, 'talk.py'], cwd=folder, env={**os.environ, **engine},
        capture_output=True, text=True, timeout=60)
    assert done.stdout == 'What shall I fetch?\nI see the red cup.\n', done.stderr
