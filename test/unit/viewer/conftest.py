# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robot, the clock and the processes of the tests of flows."""

from ..flow.conftest import clock, flow_folder, robot, start

__all__ = ['clock', 'flow_folder', 'robot', 'start']
