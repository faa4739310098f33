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

"""Texts for faults about Python syntax that expressions do not have."""

from __future__ import annotations

import re
from typing import Any

_ELSEWHERE = (
    ('&&', "'{}' is not known here: write 'and'"), (r'\|\|', "'{}' is not known here: write 'or'"),
    ('===|!==|=>|=<|<>', "'{}' is not known here: compare with ==, !=, <=, >="),
    ('!(?!=)', "'{}' is not known here: write 'not'"),
    ('(?<![=!<>])=(?!=)', "'{}' is not known here: compare with =="))


def syntax_hint(text: str) -> str:
    """Return a hint for an operator of another language, such as '&&'; '' if there is none."""
    bare = re.sub(r"\'[^\']*\'|\"[^\"]*\"", '', text)
    for pattern, words in _ELSEWHERE:
        if found := re.search(pattern, bare):
            return words.format(found[0])
    return ''


def describe(node: Any) -> str:
    """Return the name of a syntax node for messages."""
    names = {
        'Attribute': "access to an attribute ('.')", 'Lambda': 'lambda', 'IfExp': 'if … else',
        'ListComp': 'a comprehension', 'GeneratorExp': 'a comprehension',
        'SetComp': 'a comprehension', 'DictComp': 'a comprehension', 'Dict': 'a dictionary',
        'Set': 'a set', 'JoinedStr': 'a formatted text', 'NamedExpr': "':='",
        'Starred': "'*'", 'Await': 'await', 'Yield': 'yield', 'Slice': 'a slice',
    }
    return names.get(type(node).__name__, type(node).__name__)
