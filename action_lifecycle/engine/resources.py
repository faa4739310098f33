# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The configuration files of the package, in a checkout or installed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from .errors import LifecycleError
from .graph import Graph
from .loader import load_graph


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
