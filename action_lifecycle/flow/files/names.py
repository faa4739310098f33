# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The names of flows, actions, resources and parameters."""

from __future__ import annotations

import re

NAME = re.compile(r'[A-Za-z][A-Za-z0-9_-]{0,63}\Z')
IDENTIFIER = re.compile(r'[A-Za-z_][A-Za-z0-9_]{0,63}\Z')


def name_fault(text: str) -> str:
    """Return why a string is not a name; '' if it is."""
    return '' if NAME.match(text) else (
        f'{text!r} is not a name: expected up to 64 letters, digits, _ or -, a letter first')
