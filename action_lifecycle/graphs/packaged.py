# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The configuration files of the package, in a checkout or installed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from .graph import Graph
from .loader import load_graph
from ..documents.errors import LifecycleError


def config_file(name: str) -> Path:
    """Return the path of a file or folder below `config/`, such as `graphs/action.yaml`."""
    for folder in Path(__file__).resolve().parents:
        for config in (folder / 'config', folder / 'share' / 'action_lifecycle' / 'config'):
            if (config / name).exists():
                return config / name
    raise LifecycleError(f"'{name}' is not among the configuration files of action_lifecycle")


@cache
def packaged_graph(name: str) -> Graph:
    """Return a graph of `config/graphs`, such as `action`; it is loaded once."""
    return load_graph(config_file(f'graphs/{name}.yaml'))
