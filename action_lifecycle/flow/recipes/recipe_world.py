# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compares the facts in a recipe with the current facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .recipe_file import FactThen, TOLERANCE
from ..files.flow import LoadedFlow
from ...documents.models import as_written
from ...documents.templates.template import parts_read
from ...lifecycle.ports import Evidence, gaps
from ...world.expressions.expression import compile_expression


def facts_of_goals(flow: LoadedFlow) -> list[str]:
    """Return the names of the facts that goals and templates read, sorted."""
    found: set[str] = set()
    for name, action in flow.actions.items():
        for _, text in flow.late[name]:
            found |= {fact for fact, _ in parts_read(text, 'facts')}
        for step in action.steps:
            for text in gaps(as_written(step)):
                found |= set(compile_expression(text, None).names) - set(action.parameters)
    return sorted(found)


def world_then(evidence: Sequence[Evidence]) -> dict[str, Any]:
    """Return facts in the format of recipes, from evidence; unknown facts are left out."""
    return {
        fact['name']: {'unit': fact.get('unit', ''), 'tolerance': TOLERANCE, **(
            {'numbers': fact['numbers']} if 'numbers' in fact else {'value': fact.get('value')})}
        for item in evidence for fact in item.get('facts', ()) if fact['validity'] == 'valid'
        and not any(isinstance(number, str) for number in fact.get('numbers', ()))}


def world_differences(
    world: Mapping[str, FactThen], evidence: Sequence[Evidence]
) -> list[str]:
    """Return the differences between `world` and the evidence, and conditions not met."""
    facts = {fact['name']: fact for item in evidence for fact in item.get('facts', ())}
    found = []
    for name, then in world.items():
        fact = facts.get(name, {})
        was = then.value if then.numbers is None else then.numbers
        now = fact.get('value') if then.numbers is None else fact.get('numbers')
        if fact.get('validity') != 'valid':
            found.append(f"fact '{name}': {was} then, {fact.get('validity', 'unknown')} now")
        elif not _near(was, now, then.tolerance):
            found.append(f"fact '{name}': {was} then, {now} now"
                         + (f' (tolerance {then.tolerance:g} {then.unit})'.replace(' )', ')')
                            if then.numbers else ''))
    return found + [
        f"{item['condition']}: {item['expression']} is {item['verdict']}"
        for item in evidence if item['condition'] != 'world' and item['verdict'] != 'true']


def _near(was: Any, now: Any, tolerance: float) -> bool:
    if not isinstance(was, list):
        return bool(was == now)
    return isinstance(now, list) and len(was) == len(now) and all(
        isinstance(number, (int, float)) and abs(number - old) <= tolerance
        for old, number in zip(was, now, strict=True))
