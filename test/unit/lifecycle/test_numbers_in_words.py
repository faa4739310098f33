# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Numbers as people read them in reasons, pages and reports."""

from __future__ import annotations

from action_lifecycle.lifecycle.text_format import number_in_words, value_in_words
import pytest


@pytest.mark.parametrize(('number', 'words'), [
    (95012.3, '95012'), (-101325.0, '-101325'), (9999.6, '10000'), (9999.4, '9999'),
    (0.0123456, '0.01235'),
    (-0.0, '0'), (1.5e12, '1.5e+12'), (True, '1'), (float('nan'), 'nan'), (float('inf'), 'inf')])
def test_usual_numbers_have_no_exponent(number: float, words: str) -> None:
    assert number_in_words(number) == words
    assert value_in_words({'numbers': [number]}) == words
