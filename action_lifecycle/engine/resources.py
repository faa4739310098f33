# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the package's own configuration files are, in a checkout or installed."""

from __future__ import annotations

from pathlib import Path

from .errors import LifecycleError


def config_file(name: str) -> Path:
    """Return the path of a file below `config/`, such as `graphs/action.yaml`."""
    for folder in Path(__file__).resolve().parents:
        for config in (folder / 'config', folder / 'share' / 'action_lifecycle' / 'config'):
            if (config / name).is_file():
                return config / name
    raise LifecycleError(f"'{name}' is not among the configuration files of action_lifecycle")
