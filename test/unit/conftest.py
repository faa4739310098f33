# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What all unit tests need."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from .sample.made import make_sample


@pytest.fixture(autouse=True)
def _logs_reach_the_root() -> None:
    """Undo what the launch package does to every logger made after it was imported."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith('action_lifecycle') and isinstance(logger, logging.Logger):
            logger.propagate = True


@pytest.fixture(scope='session')
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a few runs of the sample data; not to be changed."""
    for name in ('mujoco', 'mcap', 'rosbags'):
        pytest.importorskip(name)
    return make_sample(tmp_path_factory.mktemp('sample'))
