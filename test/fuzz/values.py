# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Values that nobody expects, and mutations of data that keep most of its shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
import random
from typing import Any

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 7, 10, 63, 64, 65, 100, 1000, 2**31 - 1, 2**31, -2**31, 2**32, 2**53 + 1,
    2**63 - 1, 2**63, -2**63, 2**64, 10**18, 10**30, 10**60, -10**30,
    0.0, -0.0, 0.1, 0.5, 1.5, -1.5, 1e-9, 1e-320, 5e-324, 1e9, 1e15, -1e15, 1e18, -1e18, 1e22,
    3.5e38, 1e300, 1e308, -1e308, math.inf, -math.inf, math.nan)
TEXTS = (
    '', ' ', 'a', 'x', '0', '1', '-1', '1e5', '1e999', 'null', 'true', '~', '*', '&a', '*a', '!!x',
    '|', '>', '-', '- a', 'a: b', '#', "'", '"', '\\', '{', '}', '[', ']', '{{', '}}', '{%', '%}',
    '{{ x }}', '{{ force }}', '{{ facts.gap }}', '{% if x %}', '{{ x|tojson }}', '{{ [1]*9 }}',
    '%s%n', '../../etc/passwd', '/', '//', 'a/b', '/a/', '~/a', 'a' * 65, 'a' * 300, 'é', 'ß',
    '日本語', '🤖', '\u202e', '\u200b', '\ufeff', '\x00', '\x1b[31m', '\x85', '\u2028', '\uffff',
    '\ud800', '\udfff', '٣', 'Ⅻ', '²', 'İ', 'ﬁ', '\t', '\n', '\r\n', 'a\nb', ' a ', '1:30',
    '2027-01-31', '0x10', '0o7', '.inf', '.nan', 'on', 'None', 'self', '__class__', 'lambda',
    'finger_gap > 0.01', 'x and y', 'not x', 'nan', 'inf', '1.0e-400', 'x' * 5000)


def number(rng: random.Random) -> Any:
    """Return a number of any size."""
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(NUMBERS)
    if kind < 0.7:
        return rng.randrange(-10, 100)
    if kind < 0.95:
        return rng.uniform(-100.0, 100.0)
    return rng.uniform(-1.0, 1.0) * 10.0 ** rng.randrange(-300, 300)


def text(rng: random.Random) -> str:
    """Return a text."""
    kind = rng.random()
    if kind < 0.6:
        return rng.choice(TEXTS)
    if kind < 0.8:
        return rng.choice(TEXTS) + rng.choice(TEXTS)
    return ''.join(rng.choices('abcxyz_019-./ :{}[]%"\'é🤖', k=rng.randrange(1, 12)))


def scalar(rng: random.Random) -> Any:
    """Return a value that is neither a list nor a mapping."""
    kind = rng.random()
    if kind < 0.4:
        return number(rng)
    if kind < 0.8:
        return text(rng)
    return rng.choice((None, True, False))


def value(rng: random.Random, depth: int = 3) -> Any:
    """Return a value of any shape that JSON has."""
    kind = rng.random()
    if depth <= 0 or kind < 0.6:
        return scalar(rng)
    if kind < 0.8:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind < 0.98:
        return {text(rng): value(rng, depth - 1) for _ in range(rng.randrange(4))}
    return nested(rng)


def nested(rng: random.Random) -> Any:
    """Return something deep."""
    inner: Any = scalar(rng)
    for _ in range(rng.choice((5, 30, 61, 62, 63, 64, 65, 70, 200))):
        inner = [inner] if rng.random() < 0.5 else {'a': inner}
    return inner


def mutated(rng: random.Random, data: Any, times: int = 1) -> Any:
    """Return a copy with some places of it changed."""
    for _ in range(times):
        data = _mutated_once(rng, data, data)
    return data


def _mutated_once(rng: random.Random, data: Any, whole: Any) -> Any:
    if isinstance(data, dict) and data and rng.random() < (0.98 if data is whole else 0.85):
        key = rng.choice(list(data))
        change = rng.random()
        if change < 0.08:
            return {name: item for name, item in data.items() if name != key}
        if change < 0.14:
            return {(misspelt(rng, name) if name == key else name): item
                    for name, item in data.items()}
        if change < 0.18:
            return {**data, text(rng): value(rng, 1)}
        return {**data, key: _mutated_once(rng, data[key], whole)}
    if isinstance(data, list) and data and rng.random() < (0.98 if data is whole else 0.85):
        place = rng.randrange(len(data))
        change = rng.random()
        if change < 0.1:
            return data[:place] + data[place + 1:]
        if change < 0.2:
            return data[:place] + [data[place]] * rng.choice((2, 3, 20)) + data[place + 1:]
        return [*data[:place], _mutated_once(rng, data[place], whole), *data[place + 1:]]
    return _replaced(rng, data, whole)


def _replaced(rng: random.Random, data: Any, whole: Any) -> Any:
    change = rng.random()
    if isinstance(data, (int, float)) and not isinstance(data, bool) and change < 0.6:
        return number(rng)
    if isinstance(data, str) and change < 0.5:
        return text(rng) if change < 0.2 else spoilt(rng, data)
    if change < 0.7:
        return scalar(rng)
    if change < 0.8:
        return [data]
    if change < 0.86:
        return part_of(rng, whole)
    return value(rng, 2)


def part_of(rng: random.Random, whole: Any) -> Any:
    """Return some part of the data, to be put elsewhere."""
    while isinstance(whole, (dict, list)) and whole and rng.random() < 0.75:
        whole = rng.choice(list(whole.values()) if isinstance(whole, dict) else whole)
    return whole


def misspelt(rng: random.Random, name: Any) -> Any:
    """Return a name that is nearly the same."""
    if not isinstance(name, str) or not name or rng.random() < 0.2:
        return text(rng)
    place = rng.randrange(len(name))
    return name[:place] + name[place + 1:]


def spoilt(rng: random.Random, given: str) -> str:
    """Return a text with something put in, taken out, doubled or exchanged."""
    place = rng.randrange(len(given) + 1)
    length = rng.choice((0, 1, 1, 2, 5, 20))
    change = rng.random()
    if change < 0.4:
        return given[:place] + rng.choice(TEXTS) + given[place + length:]
    if change < 0.7:
        return given[:place] + given[place + length:]
    if change < 0.9:
        return given[:place] + given[place:place + length] * 2 + given[place + length:]
    return given[::-1] if change < 0.92 else given[:place]


def how_many(rng: random.Random) -> int:
    """Return how often to mutate: often not at all, so that most inputs are accepted."""
    return rng.choice((0, 0, 0, 1, 1, 2, 4))


def pick(rng: random.Random, *choices: Callable[[random.Random], Any]) -> Any:
    """Return what one of these makes."""
    return rng.choice(choices)(rng)


def some(rng: random.Random, options: Sequence[Any], most: int) -> list[Any]:
    """Return a few of these, in any order."""
    return rng.sample(options, rng.randrange(min(most, len(options)) + 1))
