# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The names of the packages `journal` and `fleet`, which were this one before."""

from __future__ import annotations

from typing import Any

from . import fleet, journal

__all__ = [*journal.__all__, *fleet.__all__]


def __getattr__(name: str) -> Any:
    """Return the name from the package that has it now."""
    return getattr(journal if name in journal.__all__ else fleet, name)
