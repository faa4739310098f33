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

"""The end of nodes that live in the test's own process."""

from __future__ import annotations

from typing import Any


def destroy(*nodes: Any) -> None:
    """Destroy nodes with their action servers and clients, which destroy_node() leaves behind."""
    for node in nodes:
        for waitable in list(node.waitables):
            if hasattr(waitable, 'destroy'):
                waitable.destroy()
        node.destroy_node()
