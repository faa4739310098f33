# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests, with ROS and without."""

from __future__ import annotations

import logging

try:
    # Once imported, launch makes each new logger one that passes nothing on, to caplog neither.
    import launch.logging  # noqa: F401
except ImportError:
    pass
else:
    logging.setLoggerClass(logging.Logger)
