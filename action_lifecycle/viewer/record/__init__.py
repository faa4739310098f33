# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What happened, from the rows of a journal: flows and actions at any moment."""

from .flow_record import FlowRecord
from .robot_record import RobotRecord
from .sources import LocalRows, RowSource

__all__ = ['FlowRecord', 'LocalRows', 'RobotRecord', 'RowSource']
