# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The safety topics, with the values that stop or permit motions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .facts_checks import FieldKind, no_topic, safety_specs, wrong_key
from .facts_file import FactsFile, SafetySpec, TOPIC
from .message_constants import collect
from .selectors import compile_path, Reader
from ..expressions.value_types import Kind
from ...documents.errors import Fault, LifecycleError
from ...documents.models import as_written
from ...documents.suggestions import nearest
from ...documents.yaml_document import Document

_ALLOWED: dict[Kind, tuple[type, ...]] = {
    Kind.TRUTH: (bool,), Kind.NUMBER: (bool, int, float), Kind.TEXT: (str,),
    Kind.ANY: (bool, int, float, str)}


@dataclass(frozen=True)
class SafetyTopic:
    """A safety topic; its `values` stop motions; if `permits`, all other values stop them."""

    label: str
    spec: SafetySpec
    values: tuple[Any, ...]
    permits: bool
    read: Reader | None  #: None: only the arrival of messages counts

    def stops(self, message: Any) -> bool:
        """Whether a message stops motions; a NaN and an unreadable value always do."""
        if self.read is None:
            return False
        try:
            value = self.read(message)
            if value != value:  # a NaN
                return True
            listed = any(bool(value) is one if isinstance(one, bool) else bool(value == one)
                         for one in self.values)
        except (LookupError, AttributeError, ValueError, TypeError):
            return True
        return listed is not self.permits


def add_safety_topics(
    document: Document, file: FactsFile, field_kind: FieldKind, found: list[SafetyTopic]
) -> Iterator[Fault]:
    """Add the e-stop and the other safety topics; yields the faults of their fields and values."""
    for path, spec in safety_specs(file):
        label = 'e-stop' if path == ('estop',) else 'safety'
        if spec.field is None and path == ('estop',):
            yield document.fault(path, "the e-stop needs a 'field'")
            continue
        if not TOPIC.match(spec.topic):
            yield document.fault((*path, 'topic'), no_topic(spec.topic))
        key = 'stop_when' if spec.ok_when is None else 'ok_when'
        given = getattr(spec, key)
        values = list(given) if isinstance(given, list) else [given]
        if key == 'ok_when' and 'stop_when' in as_written(spec):
            yield document.fault(path, "expected 'stop_when' or 'ok_when', got both")
        if not values or (key == 'ok_when' and spec.field is None):
            yield document.fault((*path, key), 'expected at least one value' if not values
                                 else "'ok_when' needs a 'field'")
        try:
            read = None if spec.field is None else compile_path(spec.field, spec.type)[0]
            kind = field_kind(spec.type, spec.field or '')
            constants = collect([field_kind.constants(spec.type, spec.field or '')]).values
        except LifecycleError as error:
            yield document.fault((*path, wrong_key(error)), str(error))
            continue
        allowed = _ALLOWED.get(kind, ())
        if kind is Kind.NUMBER:
            values = [constants.get(value, value) if isinstance(value, str) else value
                      for value in values]
        for value in values:
            if not isinstance(value, allowed):
                yield document.fault(
                    (*path, key if allowed else 'field'), f"field '{spec.field}' is {kind.value}: "
                    + (f'it is never {value!r}' + nearest(str(value), constants) if allowed
                       else 'expected one value'))
        found.append(SafetyTopic(label, spec, tuple(values), key == 'ok_when', read))
