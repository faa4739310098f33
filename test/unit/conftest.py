# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What all unit tests need."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True)
def _logs_reach_the_root() -> None:
    """Undo what the launch package does to every logger made after it was imported."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith('action_lifecycle') and isinstance(logger, logging.Logger):
            logger.propagate = True
