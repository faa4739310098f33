# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the programs of the tests import, imported once; see forked.py."""

from __future__ import annotations

from contextlib import suppress
import gc
import importlib
import inspect

import action_lifecycle.nodes.agent.agent_node  # noqa: F401
import action_lifecycle.nodes.composed  # noqa: F401
import action_lifecycle.sim.estop  # noqa: F401
import control_msgs.action  # noqa: F401
import sensor_msgs.msg  # noqa: F401

with suppress(ImportError):  # the cell is an extra
    importlib.import_module('action_lifecycle.sim.node')
inspect.getmodule(inspect.currentframe())  # rclpy's loggers look all modules up, once in a process
gc.freeze()  # what each of the forked processes would go through
