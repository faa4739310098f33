# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The black box: keeps the last messages of the bridge's topics, and writes them to a bag."""

from .black_box import BlackBox
from .parameters import declare_parameters
from .recorder import Recorder

__all__ = ['BlackBox', 'declare_parameters', 'Recorder']
