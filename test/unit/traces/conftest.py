# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fixtures of the tests of traces."""

from __future__ import annotations

import pytest

from .rig import Rig


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'robot.traces'


@pytest.fixture
def rig(path):
    return Rig(path)
