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
"""The lines of the operator's terminal."""

from __future__ import annotations

import os

from action_lifecycle.cli.answering import split_answer
from action_lifecycle.cli.terminal import _Lines
import pytest

OPTIONS = ['retry', 'retry softly', 'leave it']


@pytest.mark.parametrize(('line', 'expected'), [
    ('1', ('retry', '')), ('2 it is wet', ('retry softly', 'it is wet')),
    ('retry', ('retry', '')), ('retry now', ('retry', 'now')),
    ('retry softly', ('retry softly', '')), ('retry softly 3', ('retry softly', '3')),
    ('leave it', ('leave it', '')), ('leave', ('leave', '')), ('0', ('0', '')), ('4', ('4', '')),
    ('²', ('²', '')),
])
def test_an_answer_is_a_number_or_a_name_and_the_rest_a_comment(
    line: str, expected: tuple[str, str]
) -> None:
    assert split_answer(line, OPTIONS) == expected


def test_free_text_is_the_answer_as_a_whole() -> None:
    assert split_answer('2 cups, please', []) == ('2 cups, please', '')


def test_lines_are_taken_one_by_one_and_the_last_needs_no_end(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr('sys.stdin', stdin)
        lines = _Lines()
        lines.read()
        assert lines.take() is None and not lines.ended
        os.write(writer, 'retry\n\nÜnal'.encode())
        lines.read()
        assert (lines.take(), lines.take(), lines.take()) == ('retry', '', None)
        os.close(writer)
        lines.read()
        assert not lines.ended and lines.take() == 'Ünal'
        assert lines.ended and lines.take() is None
