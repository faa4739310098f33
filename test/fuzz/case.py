# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a class of input is to the workers: how inputs are made, and what is done with one."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
import random
from typing import Any

from action_lifecycle.documents.errors import LifecycleError

MODULES = {
    'flows': 'flows', 'templates': 'templates', 'schedules': 'schedules',
    'conditions': 'conditions', 'facts': 'facts', 'goals': 'goals', 'edits': 'edits',
    'journals': 'journals', 'messages': 'messages', 'requests': 'requests', 'files': 'files',
    'hostile': 'hostile',
}
"""The module of each class of input."""
NEED_ROS = ('facts', 'goals', 'messages', 'requests', 'files')
"""Classes that read message definitions."""


class Case:
    """
    One class of input.

    The input of an index follows from the seed, the class and the index alone: `begin` makes what
    a block of inputs shares, `make` returns the input, and `check` hands it to the package.
    `check` returns whether the input was accepted; what it raises beside `refused` is foreign.
    """

    refused: tuple[type[BaseException], ...] = (LifecycleError,)
    block = 64  #: inputs with consecutive indices that share what `begin` makes

    def prepare(self) -> None:
        """Import and make what all inputs need; called once, before the workers are forked."""

    def begin(self, rng: random.Random) -> None:
        """Make what the inputs of one block share."""

    def make(self, rng: random.Random) -> Any:
        """Return an input; its repr is what a record shows."""
        raise NotImplementedError

    def check(self, given: Any) -> bool:
        """Hand an input to the package; return whether it was accepted."""
        raise NotImplementedError


class Run:
    """The inputs of a class by their index."""

    def __init__(self, case: Case, name: str, seed: int) -> None:
        self.case = case
        self._stem = f'{seed}/{name}/'
        self._block = -1

    def input(self, index: int) -> Any:  # noqa: A003
        """Return the input with this index."""
        block = index // self.case.block
        if block != self._block:
            self._block = block
            self.case.begin(random.Random(f'{self._stem}block/{block}'))
        return self.case.make(random.Random(f'{self._stem}{index}'))


def load(name: str) -> Case:
    """Return the case of a class of input, ready to be forked."""
    case: Case = import_module(f'fuzz.{MODULES[name]}').CASE
    case.prepare()
    return case


Choice = Callable[[random.Random], Any]
