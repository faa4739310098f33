# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages about Python syntax that expressions do not support."""

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


def node_text(node: Any) -> str:
    """Return the name of a syntax node for messages."""
    names = {
        'Attribute': "access to an attribute ('.')", 'Lambda': 'lambda', 'IfExp': 'if … else',
        'ListComp': 'a comprehension', 'GeneratorExp': 'a comprehension',
        'SetComp': 'a comprehension', 'DictComp': 'a comprehension', 'Dict': 'a dictionary',
        'Set': 'a set', 'JoinedStr': 'a formatted text', 'NamedExpr': "':='",
        'Starred': "'*'", 'Await': 'await', 'Yield': 'yield', 'Slice': 'a slice',
    }
    return names.get(type(node).__name__, type(node).__name__)
