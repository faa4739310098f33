# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where a robot's journal is if no other file is given."""

from __future__ import annotations

import os
from pathlib import Path


def default_journal(namespace: str = '', kind: str = '') -> Path:
    """
    Return the file of a namespace in the ROS home.

    `kind`: part of the name of a journal that is not that of the action node.
    """
    home = Path(os.environ.get('ROS_HOME', '~/.ros')).expanduser()
    robot = namespace.strip('/').replace('/', '.') or 'robot'
    return home / 'action_lifecycle' / f'{robot}{kind}.journal'
