# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The error of bags, and how the libraries of the extra `bags` are imported."""

from __future__ import annotations

import importlib
from typing import Any

from ..documents.errors import LifecycleError


class BagError(LifecycleError):
    """A bag can't be read or written; the message names the file and what was expected."""


def library(name: str) -> Any:
    """Import a module of the extra `bags`; raises BagError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise BagError(
            f"bags need {name.partition('.')[0]}: pip install 'action_lifecycle[bags]', or "
            'python3 -m pip install mcap rosbags') from error
