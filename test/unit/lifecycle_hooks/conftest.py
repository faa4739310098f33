# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A journal of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from action_lifecycle import lifecycle_hooks as hooks
import pytest

from .sessions import SESSION


@pytest.fixture(autouse=True)
def journal(tmp_path: Path) -> Iterator[Path]:
    hooks.configure(journal=tmp_path / 'journal')
    yield tmp_path / 'journal'
    hooks.configure()
    hooks.forget_session(SESSION)
