# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks motions, calls and publications against the installed message packages and facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from ...documents.errors import DocumentError, Fault
from ...documents.templates.template import has_template
from ...flow.files.alternatives import strategies
from ...flow.files.flow import LoadedFlow, with_nested
from ...lifecycle.spec import ActionSpec
from ...work.call import CallSpec
from ...work.standstill import standstill_key
from ...world.facts.facts import FactSet


def motion_faults(
    flow: LoadedFlow, limits: Mapping[str, Mapping[str, tuple[float, float]]]
) -> Iterator[Fault]:
    """
    Yield wrong types, fields, values and names of goals, requests and messages.

    Packages that are not installed are skipped.
    """
    try:
        from ...ros.interfaces.control_names import control_fault
        from ...ros.interfaces.message_fields import fill, limit_faults
        from ...ros.interfaces.responses import ResponseCondition
        from ...ros.interfaces.types import sent_class, UnknownType
        from ...work.goal_values import LATER, resolve
    except ImportError:
        return

    def faults(step: Any, parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if '/' in step.type and not find_spec(step.type.split('/')[0]):
            return
        try:
            kind = sent_class(step.kind, step.type)
        except UnknownType as error:
            yield 'type', str(error)
            return
        refused = '' if step.has_id else control_fault(step.name, step.type)
        if refused:
            yield step.name_field, refused
        last = getattr(step, 'last', None)
        for label, data in ((step.data_field, step.data), ('finally', last)):
            if data is None:
                continue
            message = kind()
            wrong = list(fill(message, resolve(data, lambda text, path: LATER, label), label))
            yield from wrong
            if not wrong:
                for name in (step.type, step.name):
                    yield from limit_faults(message, limits.get(name) or {}, label)
        if isinstance(step, CallSpec) and not has_template(step.success):
            try:  # the value of a template is a number here, as in the check of the bridge
                ResponseCondition(step.type, step.success, {
                    name: 0.0 if has_template(value) else value
                    for name, value in parameters.items()})
            except DocumentError as error:
                for entry in error.faults:
                    yield 'success', f"'{step.success}', column {entry.column}: {entry.message}"

    for one in with_nested(flow):
        for action_id, action in one.actions.items():
            for step in action.checked_steps:
                for path, message in faults(step, action.parameters):
                    where: tuple[Any, ...] = ('actions', action_id, *step.path,
                                              *(int(key) if key.isdigit() else key
                                                for key in path.split('.')))
                    yield one.document.fault(where, f'{path}: {message}')


def unjudged_stops(flow: LoadedFlow, facts: FactSet) -> Iterator[Fault]:
    """Yield the physical steps of which neither the flow nor the facts file says what stands."""
    def unjudged(action: ActionSpec) -> Iterator[Any]:
        for step in action.bridge_steps if action.stopped is None else ():
            if not standstill_key(facts, step.name, step.type, lambda name: name.lstrip('/')):
                yield step

    for one in with_nested(flow):
        for action_id, action in one.actions.items():
            told: set[str] = set()
            for below, changed in ((), action), *(
                    (path, one.render(action_id, strategy.parameters, strategy.fields))
                    for path, strategy in strategies(action) if strategy.fields):
                for step in unjudged(changed):
                    if step.name not in told:
                        told.add(step.name)
                        yield one.document.fault(
                            ('actions', action_id, *(below or step.path)),
                            f"action '{action_id}', {step.kind}: no 'stopped', so it can't be "
                            f"known whether what '{step.name}' moves stands when it has ended, "
                            'and its word counts; write `stopped: {condition: …, hold: 0.2}` in '
                            f'the action, or `{step.type}: {{condition: …, hold: 0.2}}` in '
                            "'stopped' of the facts file")
