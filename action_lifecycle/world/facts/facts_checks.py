# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks of a facts file: names, types, limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .facts_file import FactsFile, is_type, SafetySpec, TF_TOPICS, TF_TYPE, TOPIC
from .message_constants import TypeConstants
from ..expressions.field_paths import ConvertStep, parse_path, PathError
from ..expressions.value_types import Kind
from ...documents.errors import Fault, LifecycleError
from ...documents.yaml_document import Document


class FieldKind:
    """
    Looks up fields and constants of message types.

    The base class accepts any field of any type; it is used without ROS.
    """

    def __call__(self, type_name: str, path: str) -> Kind:
        """
        Return the kind of the field at `path` of a message, an action's goal or a request.

        An empty path only checks the type. Raises PathError for the path, LifecycleError for the
        type.
        """
        return Kind.ANY

    def constants(self, type_name: str, path: str) -> TypeConstants:
        """Return the constants of the message types along the path."""
        return {}


def no_topic(name: str) -> str:
    """Return the message for an invalid topic name."""
    return f"'{name}' is no name of a topic: letters, digits, _ and /, no digit after a /"


def wrong_key(error: Exception) -> str:
    """Return the key of a fact's mapping that is at fault, given the error of its field."""
    return {PathError: 'field', TypeError: 'reduce'}.get(type(error), 'type')


def safety_specs(file: FactsFile) -> Iterator[tuple[tuple[str | int, ...], SafetySpec]]:
    """Yield the e-stop and the other safety topics with their paths in the file."""
    if isinstance(file.estop, SafetySpec):
        yield ('estop',), file.estop
    for index, spec in enumerate(file.safety):
        yield ('safety', index), spec


def clashes(document: Document, file: FactsFile) -> Iterator[Fault]:
    """Yield the faults of topics that are used with several types."""
    used: dict[str, dict[str, list[tuple[str | int, ...]]]] = {}
    entries: list[tuple[tuple[str | int, ...], Any]] = [
        *((('facts', name), spec) for name, spec in file.facts.items()), *safety_specs(file)]
    for path, spec in entries:
        if spec.topic is not None and spec.type is not None:
            used.setdefault(spec.topic, {}).setdefault(spec.type, []).append(path)
    if any(spec.tf is not None for spec in file.facts.values()):
        for topic in set(TF_TOPICS) & set(used):
            used[topic] = {TF_TYPE: [], **used[topic]}
    for topic, types in used.items():
        likely = max(types, key=lambda name: (name == TF_TYPE, len(types[name])))
        for name, paths in types.items():
            if name != likely:
                for path in paths:
                    yield document.fault(
                        (*path, 'type'), f"topic '{topic}' is {likely} elsewhere in this file, "
                        f'{name} here')


def limits_faults(document: Document, file: FactsFile, field_kind: FieldKind) -> Iterator[Fault]:
    """Yield the faults of limits: empty ranges, unknown fields, fields without numbers."""
    for goal, fields in file.limits.items():
        yield from receiver_faults(document, ('limits', goal))
        for path, (low, high) in fields.items():
            where = ('limits', goal, path)
            if not low <= high:
                yield document.fault(where, f'limits [{low}, {high}]: expected [least, greatest]')
            try:
                if any(isinstance(step, ConvertStep) for step in parse_path(path)):
                    yield document.fault(where, f"'{path}': limits are of numbers of a goal")
                if is_type(goal):
                    kind = field_kind(goal, path)
                    if kind not in (Kind.NUMBER, Kind.VECTOR, Kind.NUMBERS, Kind.ANY):
                        yield document.fault(where, f"'{path}' is {kind.value}: no limits")
            except LifecycleError as error:
                yield document.fault(where, str(error))


def receiver_faults(document: Document, where: tuple[str, ...]) -> Iterator[Fault]:
    """Yield a fault if the last key is neither a type nor a name of what receives goals."""
    key = where[-1]
    if not (is_type(key) or TOPIC.match(key)):
        yield document.fault(
            where, f"'{key}' is neither the type of an action nor a server's name, nor type or "
            'name of a service or topic')
