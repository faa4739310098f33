# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The names that a kind of work can have, since they are fields of actions in flow files."""

from __future__ import annotations

import re

from .spec import ActionSpec, FallbackSpec
from ..documents.models import field_names

_NAME = re.compile(r'[a-z][a-z0-9_]{0,39}\Z')


def kind_fault(name: str) -> str:
    """Return why a kind of work can't have this name; '' if it can."""
    if not _NAME.match(name):
        return 'expected up to 40 lower-case letters, digits and _, a letter first'
    for model, what in ((ActionSpec, 'actions'), (FallbackSpec, 'fallbacks')):
        if name in field_names(model):
            return f'{what} have a field of this name'
    return ''
