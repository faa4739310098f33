# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What shows that the steps of a motion stand: `stopped` of its action, or of the facts file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..lifecycle.ports import Condition, MotionRequest
from ..world.facts.facts import FactSet
from ..world.facts.facts_file import is_type


@dataclass(frozen=True)
class Standstill:
    """The conditions that must all be true when a motion stands."""

    conditions: tuple[Condition, ...] = ()
    names: Mapping[str, Any] = field(default_factory=dict)  #: parameters that they may read
    whole: bool = False  #: they show it for all steps; else the servers' words count, too


def standstill_of(
    request: MotionRequest, facts: FactSet, full_name: Callable[[str], str]
) -> Standstill:
    """Return what shows that the steps of a request stand; see `standstill_key`."""
    if request.stopped is not None:
        return Standstill((request.stopped,), request.parameters, True)
    found = [facts.stopped.get(standstill_key(facts, step.server, step.type, full_name))
             for step in request.steps]
    given = tuple(dict.fromkeys(condition for condition in found if condition is not None))
    return Standstill(given, {}, bool(given) and None not in found)


def standstill_key(
    facts: FactSet, name: str, type_name: str, full_name: Callable[[str], str]
) -> str:
    """
    Return under which key `stopped` of the facts file has a server, service or topic.

    A name goes before a type; '' if there is neither.
    """
    if facts.stopped:
        wanted = full_name(name)
        for key in facts.stopped:
            if not is_type(key) and full_name(key) == wanted:
                return key
    return type_name if type_name in facts.stopped else ''
