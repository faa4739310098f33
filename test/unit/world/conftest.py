# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The world model of a gripper."""

from __future__ import annotations

from action_lifecycle.world import WorldModel
import pytest

from .gripper import FACTS


@pytest.fixture
def model() -> WorldModel:
    return WorldModel(FACTS)
