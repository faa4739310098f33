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

"""The parser of the verb `watch`."""

from __future__ import annotations

from typing import Any

from .arguments import add_nodes, add_verb, lazily


def add_parser(commands: Any) -> None:
    """Add the verb."""
    watch = add_verb(
        commands, 'watch', lazily('live', 'watch'), help='show flows and actions live',
        example='watch --namespace robot1\nwatch --flow pick-1f2e3d4c')
    watch.add_argument('--flow', default='', metavar='FLOW_ID', help='only this flow')
    add_nodes(watch)
