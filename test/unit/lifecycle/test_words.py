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

"""Evidence in words for people."""

from __future__ import annotations

from typing import Any

from action_lifecycle.lifecycle.words import describe
import pytest


@pytest.mark.parametrize(('fact', 'told'), [
    ({'numbers': [0.25]}, '0.25'),
    ({'numbers': [1, 2, 3, 4, 5, 6]}, '[1, 2, 3, 4, 5, 6]'),
    ({'numbers': [1, 2, 3, 4, 5, 6, 7]}, '[1, 2, 3, 4, 5, 6, 7]'),
    ({'numbers': list(range(8))}, '[0, 1, 2, 3, 4, 5, 6, …]'),
    ({'numbers': [0.5, 1.0], 'validity': 'stale'}, '[0.5, 1] (stale)'),
    ({'value': 'open'}, 'open'),
    ({'validity': 'unknown'}, 'never seen'),
])
def test_a_list_of_numbers_is_shown_with_a_mark_for_what_is_left_out(
    fact: dict[str, Any], told: str,
) -> None:
    assert describe({'expression': 'x > 1', 'verdict': 'false', 'facts': [
        {'name': 'x', **fact}]}) == f'x > 1 is false (x={told})'
