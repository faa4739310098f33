# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Evidence in words for people."""

from __future__ import annotations

from typing import Any

from action_lifecycle.lifecycle.text_format import evidence_in_words
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
    assert evidence_in_words({'expression': 'x > 1', 'verdict': 'false', 'facts': [
        {'name': 'x', **fact}]}) == f'x > 1 is false (x={told})'
