# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The console command `action_lifecycle`."""

from .main import main

__all__ = ['main']
