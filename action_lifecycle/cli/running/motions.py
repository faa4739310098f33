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
from ...flow.files.checks import parameter_kinds
from ...flow.files.flow import LoadedFlow, with_nested
from ...lifecycle.spec import ActionSpec
from ...lifecycle.verifier_kinds import ServiceVerify
from ...work.call import CallSpec
from ...work.standstill import standstill_key
from ...world.expressions.expression import compile_expression
from ...world.expressions.value_types import Kind
from ...world.facts.facts import FactSet


def motion_faults(
    flow: LoadedFlow, limits: Mapping[str, Mapping[str, tuple[float, float]]],
    kinds: Mapping[str, Kind] = {},
) -> Iterator[Fault]:
    """
    Yield wrong types, fields, values and names of goals, requests, messages and verifiers.

    Those of fallbacks, too.

    Packages that are not installed are skipped. `kinds`: of the facts.
    """
    try:
        from ...nodes.action.verifiers.service_verifier import service_faults
        from ...ros.interfaces.control_names import control_fault
        from ...ros.interfaces.message_fields import fill, kind_faults, limit_faults
        from ...ros.interfaces.responses import ResponseCondition
        from ...ros.interfaces.types import sent_class, UnknownType
        from ...work.goal_values import LATER, resolve
    except ImportError:
        return

    def faults(step: Any, parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if not _installed(step.type):
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
            wrong += kind_faults(kind(), data, lambda text: _kind(
                text, {**kinds, **parameter_kinds(parameters)}), label)
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

    def places(action: ActionSpec) -> Iterator[tuple[tuple[Any, ...], str, str]]:
        for step in action.checked_steps:
            for path, message in faults(step, action.parameters):
                yield step.path, path, message
        for index, verifier in enumerate(action.verify):
            if isinstance(verifier, ServiceVerify) and _installed(verifier.type):
                for path, message in service_faults(verifier, action.parameters):
                    yield ('verify', index), path, message

    for one in with_nested(flow):
        for action_id, action in one.actions.items():
            told: set[tuple[str, str]] = set()
            for below, changed in _variants(one, action_id, action):
                for where, path, message in places(changed):
                    if (path, message) not in told:
                        told.add((path, message))
                        yield one.document.fault(
                            ('actions', action_id, *(below or (*where, *(
                                int(key) if key.isdigit() else key for key in path.split('.'))))),
                            f'{path}: {message}')


def _installed(type_name: str) -> bool:
    return '/' not in type_name or find_spec(type_name.split('/')[0]) is not None


def _variants(
    flow: LoadedFlow, action_id: str, action: ActionSpec
) -> Iterator[tuple[tuple[Any, ...], ActionSpec]]:
    """Yield an action, and what its fallbacks make of it, with their paths."""
    yield (), action
    for path, strategy in strategies(action):
        if strategy.fields or strategy.parameters:
            yield path, flow.render(action_id, strategy.parameters, strategy.fields)


def _kind(text: str, kinds: Mapping[str, Kind]) -> Kind:
    try:
        return compile_expression(text, None, kinds=kinds).kind
    except DocumentError:  # reported as a separate fault
        return Kind.ANY


def unjudged_stops(flow: LoadedFlow, facts: FactSet) -> Iterator[Fault]:
    """Yield the physical steps of which neither the flow nor the facts file says what stands."""
    def unjudged(action: ActionSpec) -> Iterator[Any]:
        for step in action.bridge_steps if action.stopped is None else ():
            if not standstill_key(facts, step.name, step.type, lambda name: name.lstrip('/')):
                yield step

    for one in with_nested(flow):
        for action_id, action in one.actions.items():
            told: set[str] = set()
            for below, changed in _variants(one, action_id, action):
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
