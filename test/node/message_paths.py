# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Message paths of Foxglove, such as /world/facts.facts[:]{name==$fact}.numbers[0]."""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any, NamedTuple

from action_lifecycle.ros.interfaces.types import class_of, fields_of
from rosidl_parser.definition import AbstractNestedType, BasicType, NamespacedType

_TOPIC = re.compile(r'(/[A-Za-z_]\w*)+')
_STEP = re.compile(r'\.(?P<field>[a-z]\w*)|\[(?P<index>:|-?\d+)\]'
                   r'|\{(?P<name>\w+)==(?P<value>\$\w+|-?\d+|"[^"]*")\}')


class Step(NamedTuple):
    """A field, an index (`:` for all), or a filter by the value of a field."""

    kind: str
    name: str
    value: Any = None


class MessagePath(NamedTuple):
    """A topic and what is selected of its messages."""

    topic: str
    steps: tuple[Step, ...]

    def kind_in(self, cls: Any) -> Any:
        """Return the class of the messages or the rosidl type that it selects in `cls`."""
        kind: Any = cls
        for step in self.steps:
            if step.kind == 'index':
                assert isinstance(kind, AbstractNestedType), f'{self}: {step} of no list'
                kind = kind.value_type
                kind = class_of(kind) if isinstance(kind, NamespacedType) else kind
                continue
            fields = fields_of(kind)
            assert step.name in fields, f'{self}: {step.name}, expected one of {[*fields]}'
            found = fields[step.name]
            if step.kind == 'filter':
                assert isinstance(step.value, str) != isinstance(found, BasicType), f'{self}'
                continue
            kind = class_of(found) if isinstance(found, NamespacedType) else found
        return kind

    def select(self, message: Any) -> list[Any]:
        """Return what it selects of a message."""
        found = [message]
        for step in self.steps:
            if step.kind == 'filter':
                found = [one for one in found if getattr(one, step.name) == step.value]
            elif step.kind == 'field':
                found = [getattr(one, step.name) for one in found]
            elif step.name == ':':
                found = [part for one in found for part in one]
            else:
                index = int(step.name)
                found = [one[index] for one in found if -len(one) <= index < len(one)]
        return found


def parse(text: str, variables: Mapping[str, Any]) -> MessagePath:
    """Return a path; filters are compared with the values of the variables."""
    topic = _TOPIC.match(text)
    assert topic, f'{text}: expected a topic'
    steps, end = [], topic.end()
    while end < len(text):
        step = _STEP.match(text, end)
        assert step, f'{text}: expected .field, [index] or {{field==value}} at column {end + 1}'
        end = step.end()
        if step['field']:
            steps.append(Step('field', step['field']))
        elif step['index']:
            steps.append(Step('index', step['index']))
        else:
            value = step['value']
            steps.append(Step('filter', step['name'], (
                variables[value[1:]] if value[0] == '$' else
                value[1:-1] if value[0] == '"' else int(value))))
    return MessagePath(topic[0], tuple(steps))
