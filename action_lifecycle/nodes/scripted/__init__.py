# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The scripted robot as a ROS node, for launch tests and for trying a flow without the robot.

The script is that of `testing`, which knows no ROS; it is a node, so it is here.
"""

from .node import ScriptedNode

__all__ = ['ScriptedNode']
