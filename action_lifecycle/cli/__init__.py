# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The console command `action_lifecycle`.

parser: the arguments of all verbs; verbs: the short ones; running: display of running flows;
operators: answers to questions.
"""

from .main import main

__all__ = ['main']
