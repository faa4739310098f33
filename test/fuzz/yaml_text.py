# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Data as YAML in many styles, and YAML texts with something wrong in them."""

from __future__ import annotations

import json
import math
import random
import re
from typing import Any

from .values import spoilt, TEXTS

_PLAIN = re.compile(r'[A-Za-z_][A-Za-z0-9_/-]*\Z')
_WORDS = frozenset(('null', 'true', 'false', 'yes', 'no', 'on', 'off'))


class Writer:
    """Writes data as YAML: block or flow style, quoted or plain, with anchors and merge keys."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._anchors: dict[str, str] = {}
        self._flow = rng.random() < 0.3
        self._anchored = rng.random() < 0.2

    def write(self, data: Any) -> str:
        """Return the whole document."""
        return self._value(data, 0, self._flow).lstrip('\n') + '\n'

    def _value(self, data: Any, indent: int, flow: bool) -> str:
        if isinstance(data, (dict, list)) and data:
            if self._anchored:
                return self._aliased(data, indent, flow)
            return self._container(data, indent, flow)
        return ' ' + self.scalar(data)

    def _aliased(self, data: Any, indent: int, flow: bool) -> str:
        key = repr(data)
        if key in self._anchors:
            return f' *{self._anchors[key]}'
        text = self._container(data, indent, flow)
        if self._rng.random() < 0.5:
            name = f'a{len(self._anchors)}'
            self._anchors[key] = name
            return f' &{name}{text}'
        return text

    def _container(self, data: Any, indent: int, flow: bool) -> str:
        if flow or indent > 40 or self._rng.random() < 0.15:
            return ' ' + self._in_flow(data, 0)
        lead = '\n' + ' ' * indent
        if isinstance(data, dict):
            return ''.join(
                f'{lead}{self.key(key)}:{self._value(item, indent + 2, flow)}'
                for key, item in data.items())
        return ''.join(f'{lead}-{self._value(item, indent + 2, flow)}' for item in data)

    def _in_flow(self, data: Any, depth: int) -> str:
        if isinstance(data, dict):
            return '{' + ', '.join(f'{self.key(key)}: {self._in_flow(item, depth + 1)}'
                                   for key, item in data.items()) + '}'
        if isinstance(data, list):
            return '[' + ', '.join(self._in_flow(item, depth + 1) for item in data) + ']'
        return self.scalar(data)

    def key(self, key: Any) -> str:
        """Return a key as it is written."""
        return key if isinstance(key, str) and _PLAIN.match(key) else self.scalar(key)

    def scalar(self, data: Any) -> str:
        """Return a scalar, or something empty, as it is written."""
        if data is None:
            return self._rng.choice(('null', '~', '')) if self._rng.random() < 0.3 else 'null'
        if isinstance(data, bool):
            return 'true' if data else 'false'
        if isinstance(data, float):
            if math.isnan(data):
                return '.nan'
            return repr(data) if math.isfinite(data) else '.inf' if data > 0 else '-.inf'
        if isinstance(data, str):
            if _PLAIN.match(data) and data.lower() not in _WORDS and self._rng.random() < 0.8:
                return data
            if "'" not in data and data.isprintable() and self._rng.random() < 0.5:
                return f"'{data}'"
            if self._rng.random() < 0.95:  # YAML has neither surrogates nor their escapes
                return json.dumps(data.encode('utf-8', 'replace').decode(), ensure_ascii=False)
        return json.dumps(data, default=str)


_FAULTS = (
    '\t', '  ', '\n', '---\n', '...\n', '? ', ': ', '- ', '&a ', '*a ', '*a0', '<<: *a0\n',
    '!!str ', '!!binary ', '!!python/object:os.system ', '!x ', '%YAML 9.9\n',
    '{', '}', '[', ']', ',', '"', "'", '|\n', '>-\n', '# ', '\\', '"\\ud800"',
    '"\\x00"', '\x00', '\ufeff', '\u2028', '\x85',
    'flow: again\n', '? [a, b] : c\n', '[' * 70, '{a: ' * 70, '- ' * 70, '1' * 70, '0x' + 'f' * 80,
    '1e999', '1_000', '0o9', '- - - -', 'a: &x [*x]\n')


def damaged(rng: random.Random, given: str) -> str:
    """Return a text with something put in, taken out, doubled or moved."""
    lines = given.split('\n')
    place = rng.randrange(len(lines))
    change = rng.random()
    if change < 0.15:
        lines.insert(place, lines[rng.randrange(len(lines))])
    elif change < 0.25:
        del lines[place]
    elif change < 0.35:
        lines[place] = ' ' * rng.randrange(1, 6) + lines[place]
    elif change < 0.45:
        lines[place] = lines[place].lstrip() if rng.random() < 0.5 else '\t' + lines[place]
    elif change < 0.75:
        where = rng.randrange(len(given) + 1)
        return given[:where] + rng.choice(_FAULTS) + given[where:]
    elif change < 0.8:
        return given[:rng.randrange(len(given) + 1)]
    elif change < 0.85:
        other = rng.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
    elif change < 0.9:
        where = rng.randrange(len(given) + 1)
        return given[:where] + rng.choice(TEXTS) + given[where:]
    else:
        return spoilt(rng, given)
    return '\n'.join(lines)


def bombs(rng: random.Random) -> str:
    """Return a text that is small and stands for much."""
    levels, width = rng.choice(((5, 9), (9, 9), (22, 2), (30, 3), (62, 2)))
    lines = ['flow: f', 'x0: &x0 [1, 2]']
    for level in range(1, levels):
        lines.append(f"x{level}: &x{level} [{', '.join([f'*x{level - 1}'] * width)}]")
    lines.append(f'parameters: {{p: {{default: *x{levels - 1}}}}}')
    lines.append("actions: {a: {confirm: 'x > 0', parameters: {q: '{{ p }}'}}}")
    return '\n'.join(lines)
