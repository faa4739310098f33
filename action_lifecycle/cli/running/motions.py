# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks a flow's motions against the message packages that are installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from ...documents.errors import Fault
from ...flow.files.flow import Flow, with_nested


def motion_faults(
    flow: Flow, limits: Mapping[str, Mapping[str, tuple[float, float]]]
) -> Iterator[Fault]:
    """Yield wrong types, fields and values of goals; skips packages that are not installed."""
    try:
        from ...ros.interfaces.message_fields import fill, LATER, limit_faults, resolve
        from ...ros.interfaces.types import action_class, UnknownType
    except ImportError:
        return

    def faults(step: Any) -> Iterator[tuple[str, str]]:
        if '/' in step.type and not find_spec(step.type.split('/')[0]):
            return
        try:
            goal = action_class(step.type).Goal()
        except UnknownType as error:
            yield 'type', str(error)
            return
        wrong = list(fill(goal, resolve(step.goal, lambda text, path: LATER)))
        yield from wrong
        if not wrong:
            for name in (step.type, step.server):
                yield from limit_faults(goal, limits.get(name) or {})

    for one in with_nested(flow):
        for action_id, action in one.actions.items():
            for step in action.motion:
                for path, message in faults(step):
                    where: tuple[Any, ...] = ('actions', action_id, *step.path,
                                              *(int(key) if key.isdigit() else key
                                                for key in path.split('.')))
                    yield one.document.fault(where, f'{path}: {message}')
