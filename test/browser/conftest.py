# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pages of the viewer in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .browser_rig import Pages, start_chromium

pytest.importorskip('nicegui')
pytest.importorskip('playwright')


@pytest.fixture(scope='module')
def chromium() -> Iterator[Any]:
    """
    Return a running browser.

    Not for the session: while Playwright runs, asyncio.run of tests in other modules fails.
    """
    with start_chromium() as browser:
        yield browser


@pytest.fixture
def pages(chromium: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Pages]:
    """Return a maker of pages; the test fails if one had an error, or asked another host."""
    pages = Pages(chromium, tmp_path)
    try:
        yield pages
    finally:
        pages.close()
    assert not pages.errors, '\n'.join(pages.errors)
