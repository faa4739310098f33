# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Expressions by the grammar of conditions, mostly well-formed."""

from __future__ import annotations

import random
from typing import Any

from .values import NUMBERS, spoilt, text

NAMES = {
    'gap': 'number', 'force': 'number', 'count_of': 'number', 'tool': 'vector', 'q': 'vector',
    'target': 'vector', 'ranges': 'vector', 'done': 'truth', 'flags': 'truths', 'mode': 'text',
    'names': 'texts', 'thing': 'any',
}
"""Names that expressions read, and the kind of each."""
_COMPARE = ('<', '<=', '>', '>=', '==', '!=')
_OF_VECTOR = ('norm', 'mean', 'sum', 'min', 'max', 'len')
_OF_NUMBER = ('abs', 'round', 'sqrt', 'sin', 'cos')


def condition(rng: random.Random) -> str:
    """Return a condition; a few have something wrong in them."""
    made = truth(rng, rng.randrange(4))
    if rng.random() < 0.15:
        made = spoilt(rng, made)
    elif rng.random() < 0.01:
        made = _long(rng)
    return made


def expression(rng: random.Random) -> str:
    """Return an expression of any kind."""
    depth = rng.randrange(4)
    made = rng.choice((truth, number, vector))(rng, depth)
    return spoilt(rng, made) if rng.random() < 0.15 else made


def truth(rng: random.Random, depth: int) -> str:
    """Return what is true or false."""
    kind = rng.random()
    if depth > 0 and kind < 0.35:
        word = rng.choice((' and ', ' or '))
        return word.join(_bracketed(truth(rng, depth - 1)) for _ in range(rng.randrange(2, 4)))
    if depth > 0 and kind < 0.45:
        return f'not {_bracketed(truth(rng, depth - 1))}'
    if kind < 0.55:
        return rng.choice(('done', 'true', 'false', 'any(flags)', 'all(flags)', 'done == true',
                           'thing', 'thing == thing', 'any(ranges < 1.0)'))
    if kind < 0.65:
        return rng.choice((f"mode {rng.choice(('==', '!=', '<'))} 'auto'", "mode in ['a', 'b']",
                           "'a' in names", 'mode in names', "'x' in mode", 'len(mode) > 2',
                           'names[0] == mode', "mode[0] == 'a'", "names == 'a'"))
    if kind < 0.7:
        return f'{number(rng, depth)} in {vector(rng, depth)}'
    if kind < 0.8:
        some = rng.choice(('any', 'all'))
        return f'{some}({vector(rng, depth)} {rng.choice(_COMPARE)} {number(rng, depth)})'
    first, second = number(rng, depth), number(rng, depth)
    made = f'{first} {rng.choice(_COMPARE)} {second}'
    return f'{made} {rng.choice(_COMPARE)} {number(rng, 0)}' if kind > 0.95 else made


def number(rng: random.Random, depth: int) -> str:
    """Return a number."""
    kind = rng.random()
    if depth <= 0 or kind < 0.3:
        return rng.choice(('gap', 'force', 'count_of', 'tool[0]', 'q[-1]', 'pi', 'inf',
                           literal(rng), literal(rng), 'thing'))
    if kind < 0.55:
        operator = rng.choice(('+', '-', '*', '/', '//', '%', '-'))
        return f'({number(rng, depth - 1)} {operator} {number(rng, depth - 1)})'
    if kind < 0.6:
        return f'({number(rng, depth - 1)})**{rng.choice((2, 3, -1, 0.5, 16, 17, -16, 0))}'
    if kind < 0.75:
        return f'{rng.choice(_OF_NUMBER)}({number(rng, depth - 1)})'
    if kind < 0.9:
        return f'{rng.choice(_OF_VECTOR)}({vector(rng, depth - 1)})'
    if kind < 0.95:
        two = rng.choice(('dist', 'angle', 'atan2', 'min', 'max'))
        return f'{two}({vector(rng, depth - 1)}, {vector(rng, depth - 1)})'
    return f'-{number(rng, depth - 1)}'


def vector(rng: random.Random, depth: int) -> str:
    """Return a list of numbers."""
    kind = rng.random()
    if depth <= 0 or kind < 0.5:
        name = rng.choice(('tool', 'q', 'target', 'ranges', 'thing', 'flags'))
        return name + rng.choice(('', '', '', '[:2]', '[1:]', '[::-1]', '[5:2]', '[:, 0]', '[0]',
                                  '[-9]', '[0, 1]'))
    if kind < 0.8:
        return f'({vector(rng, depth - 1)} {rng.choice("+-*/%")} {vector(rng, depth - 1)})'
    if kind < 0.9:
        return f'[{", ".join(number(rng, depth - 1) for _ in range(rng.randrange(4)))}]'
    return f'{rng.choice(("abs", "round", "sqrt"))}({vector(rng, depth - 1)})'


def literal(rng: random.Random) -> str:
    """Return a number as it is written."""
    kind = rng.random()
    if kind < 0.6:
        return repr(round(rng.uniform(-2.0, 2.0), 3))
    if kind < 0.9:
        return str(rng.randrange(-3, 12))
    return repr(rng.choice(NUMBERS))


def _bracketed(made: str) -> str:
    return f'({made})'


def _long(rng: random.Random) -> str:
    return rng.choice((
        '(' * 70 + 'gap' + ')' * 70 + ' > 0', 'not ' * 70 + 'done', '-' * 200 + 'gap > 0',
        ' and '.join(['gap > 0'] * 300), ' + '.join(['gap'] * 400) + ' > 0', 'gap > ' + '9' * 300,
        'tool' + '[0]' * 60 + ' > 0', '[' * 60 + 'gap' + ']' * 60, f'mode == {"a" * 3000!r}',
        f'mode == {text(rng)!r}', 'gap > 1' + '0' * 5000, '2**16**16**16 > gap',
        'tool[' + '9' * 30 + '] > 0', 'gap > 1e999', 'gap > 1_000', 'gap > 0x10', 'gap > 1j'))


def value_of(rng: random.Random, kind: str) -> Any:
    """Return a value that a fact of this kind may have; None: unknown."""
    from action_lifecycle.world.expressions.functions import Text, Texts
    import numpy as np
    if rng.random() < 0.05:
        return None
    if kind == 'any':
        kind = rng.choice(('number', 'vector', 'truth', 'truths', 'text', 'texts', 'matrix'))
    if kind == 'number':
        return rng.choice((
            rng.uniform(-1.0, 1.0), rng.choice((0.0, -0.0, 1e308, 5e-324)), rng.randrange(-5, 6),
            float('inf'), -float('inf'), float('nan'), 2 ** 63, 10 ** 30))
    if kind == 'truth':
        return rng.random() < 0.5
    if kind == 'text':
        return Text(rng.choice(('', 'a', 'auto', 'é', text(rng))))
    if kind == 'texts':
        return Texts(Text(rng.choice(('a', 'b', ''))) for _ in range(rng.randrange(1, 4)))
    if kind == 'truths':
        return np.array([rng.random() < 0.5 for _ in range(rng.randrange(4))], dtype=bool)
    size = rng.choice((0, 1, 2, 3, 3, 3, 4, 6, 7, 100))
    made = np.array([rng.uniform(-1.0, 1.0) for _ in range(size)])
    if size and rng.random() < 0.2:
        made[rng.randrange(size)] = rng.choice((np.nan, np.inf, -np.inf, 0.0, 1e308))
    if kind == 'matrix':
        shape = rng.choice(((2, 2), (0, 3), (3, 0), (1, 1, 1), ()))
        return np.zeros(shape, dtype=rng.choice((float, np.uint8, np.int32, bool, '>f4')))
    if rng.random() < 0.15:
        return made.astype(rng.choice((np.float32, np.uint8, np.int64, bool)))
    return made
