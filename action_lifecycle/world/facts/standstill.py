# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads and checks `stopped` of a facts file."""

from __future__ import annotations

from collections.abc import Iterator

from .facts import FactSet
from .facts_checks import FieldKind, receiver_faults
from .facts_file import FactsFile, is_type, NO_STANDSTILL, StandstillSpec
from ..expressions.expression import certain_fault, compile_expression
from ...documents.errors import DocumentError, Fault, LifecycleError
from ...documents.yaml_document import Document
from ...lifecycle.ports import Condition


def standstill(file: FactsFile) -> dict[str, Condition | None]:
    """Return what shows a standstill, by type or name; see `FactSet.stopped`."""
    found: dict[str, Condition | None] = {}
    for key, given in file.stopped.items():
        spec = given if isinstance(given, StandstillSpec) else StandstillSpec(
            condition=given, hold=0.0, max_age=0.0)
        found[key] = None if given == NO_STANDSTILL else Condition(
            'stopped', spec.condition, spec.hold, spec.hold, spec.max_age)
    return found


def standstill_faults(
    document: Document, facts: FactSet, field_kind: FieldKind
) -> Iterator[Fault]:
    """Yield the faults of what shows a standstill: names, types, conditions that show nothing."""
    unclear = facts.constants.unclear
    for key, condition in facts.stopped.items():
        where: tuple[str, ...] = ('stopped', key)
        yield from receiver_faults(document, where)
        if is_type(key):
            try:
                field_kind(key, '')
            except LifecycleError as error:
                yield document.fault(where, str(error))
        if condition is None:
            continue
        where = (*where, 'condition')
        try:
            expression = compile_expression(
                condition.expression, {*facts.kinds, *unclear}, condition=True, kinds=facts.kinds,
                ordered=facts.ordered)
        except DocumentError as error:
            for entry in error.faults:
                yield document.fault(
                    where, f"'{condition.expression}', column {entry.column}: {entry.message}")
            continue
        for name in expression.names:
            if name in unclear:
                yield document.fault(where, f"'{condition.expression}': {unclear[name]}")
        if fault := certain_fault(expression, facts.fixed):
            yield document.fault(where, f"'{condition.expression}': {fault}")
