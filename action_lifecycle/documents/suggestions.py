# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Suggests the nearest known name for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
import difflib
from itertools import islice

from .budget import afford

MAX_CANDIDATES = 500
"""Maximum number of names that are searched for the nearest one."""
NEAREST_STEPS = 20
"""Budget steps for the comparison of two names."""
MAX_NAME = 100
"""Maximum length of a name that is compared, in characters."""


def nearest(name: object, candidates: Iterable[str]) -> str:
    """
    Return `; did you mean 'x'?` for the candidate nearest to `name`, or ''.

    To bound the time, there is no search among very many candidates, for a very long name, or with
    too few steps left in the current budget.
    """
    wanted = str(name)
    names = [candidate for candidate in islice(candidates, MAX_CANDIDATES)
             if len(candidate) <= MAX_NAME]
    if len(wanted) > MAX_NAME or len(names) >= MAX_CANDIDATES or not afford(
            NEAREST_STEPS * len(names)):
        return ''
    found = difflib.get_close_matches(wanted, names, 1, 0.6)
    return f"; did you mean '{found[0]}'?" if found else ''
