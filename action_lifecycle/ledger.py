# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public names of journal/ and fleet/."""

from __future__ import annotations

from typing import Any

from . import fleet, journal

__all__ = [*journal.__all__, *fleet.__all__]


def __getattr__(name: str) -> Any:
    """Return a name of `journal` or `fleet`."""
    return getattr(journal if name in journal.__all__ else fleet, name)
