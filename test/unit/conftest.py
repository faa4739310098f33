# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
