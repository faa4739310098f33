# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Conditions: an expression over facts with a hold time and a time limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
import re
from typing import Any

from .evidence import Evidence
from .expressions.compiler import UNKNOWN_NAME
from .expressions.constant_values import ConditionParameters
from .expressions.expression import certain_fault, compile_expression, Expression
from .facts.facts import FactSet
from ..documents.errors import DocumentError, Fault
from ..lifecycle.ports import Condition

EVIDENCE = ('confirm', 'stopped', 'until')
"""Names of conditions that show something; they must depend on what is measured."""


class WatchOutcome(IntEnum):
    """The outcome of a watch; 1 to 4 are the numbers of ConfirmOutcome."""

    CONFIRMED = 1
    REFUTED = 2  #: the condition is false, with fresh facts
    TIMED_OUT = 3  #: not true for `hold` in time, or no sample
    STALE = 4  #: the samples of a fact are too old
    VIOLATED = 5  #: a maintained condition was broken
    JUDGED = 6  #: evaluated once; the verdicts are in the evidence


@dataclass(frozen=True)
class WatchResult:
    """The result of a watch."""

    outcome: WatchOutcome
    evidence: tuple[Evidence, ...]
    stamp: float  #: ROS time in s

    @property
    def note(self) -> str:
        """Why conditions are unknown although their facts are known; '' if none is."""
        return '; '.join(f'{entry.condition}: {entry.note}'
                         for entry in self.evidence if entry.note)


def compile_condition(
    text: str, facts: FactSet, parameters: Mapping[str, Any] | None = None
) -> Expression:
    """
    Compile a condition over facts and `parameters`.

    Raises DocumentError; the columns of its faults count in `text`.
    """
    values = ConditionParameters.of(parameters)
    expression = compile_over(text, facts, values, condition=True)
    for name in expression.names:
        if name in facts and name in values:
            raise _wrong_name(text, name, f"'{name}' is both a fact and a parameter")
    return expression


def compile_over(
    text: str, facts: FactSet, values: ConditionParameters, *, condition: bool = False
) -> Expression:
    """Compile an expression over facts and parameters; parameters hide facts of the same name."""
    kinds = {**facts.kinds, **values.kinds} if values else facts.kinds
    refused = {**facts.constants.unclear, **{
        name: f"parameter '{name}' has no value that an expression can read: {why}"
        for name, why in values.unusable.items()}}
    try:
        expression = compile_expression(
            text, {*kinds, *refused} if refused else kinds, condition=condition,
            source='condition' if condition else 'expression', kinds=kinds, ordered=facts.ordered)
    except DocumentError as error:
        raise _with_file(error, facts) from error.__cause__
    for name in expression.names:
        if name not in kinds:
            raise _wrong_name(text, name, refused[name])
    return expression


def _with_file(error: DocumentError, facts: FactSet) -> DocumentError:
    """Return an error that says, of an unknown name, if the facts file was changed since."""
    unknown = any(fault.message.startswith(UNKNOWN_NAME) for fault in error.faults)
    since = facts.file.since() if unknown and facts.file is not None else ''
    return DocumentError([
        fault._replace(message=f'{fault.message}; {since}')
        if fault.message.startswith(UNKNOWN_NAME) else fault
        for fault in error.faults]) if since else error


def _wrong_name(text: str, name: str, message: str) -> DocumentError:
    found = re.search(rf'\b{name}\b', text)
    return DocumentError([Fault('condition', 1, found.start() + 1 if found else 1, message)])


def condition_faults(
    conditions: Iterable[Condition], facts: FactSet, parameters: Mapping[str, Any] | None = None,
    known: Mapping[str, Any] = {},
) -> Iterable[tuple[int, str]]:
    """Yield (index of the condition, fault); `known`: parameters that have their last value."""
    for index, condition in enumerate(conditions):
        for fault in condition.faults():
            yield index, fault
        try:
            expression = compile_condition(condition.expression, facts, parameters)
            if condition.name in EVIDENCE and (
                    fault := certain_fault(expression, {**facts.fixed, **known})):
                yield index, fault
        except DocumentError as error:
            for entry in error.faults:
                yield index, f'column {entry.column}: {entry.message}'
