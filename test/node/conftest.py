# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What tests with nodes share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .system import System


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    """Give processes of the simulated cell on a domain of their own; the test starts them."""
    from .system import System  # it needs ROS
    system = System(tmp_path)
    yield system
    system.close()
