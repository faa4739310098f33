# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""A service of any type as a verifier: request from a template, verdict by an expression."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rosidl_runtime_py.convert import message_to_ordereddict

from ....documents.errors import LifecycleError
from ....documents.suggestions import nearest
from ....documents.templates.template import names_read, render, TemplateError
from ....lifecycle.verifier_kinds import ServiceVerify
from ....lifecycle.verifiers import Verdict, VerifyRequest
from ....ros.interfaces.message_fields import fill
from ....ros.interfaces.names import name_fault
from ....ros.interfaces.types import fields_of, service_class, UnknownType
from ....work.goal_values import LATER

VERIFY = 'action_lifecycle_msgs/srv/Verify'
DEFAULT = 'success'
"""Default field of the response that is the verdict, for types other than Verify."""


def filled_request(
    spec: ServiceVerify, request: VerifyRequest, facts: Mapping[str, Any]
) -> Any:
    """Return the request message; raises `LifecycleError` with the fields that do not fit."""
    names = {
        **request.parameters, 'flow': request.flow_id, 'action': request.action_id,
        'attempt': request.attempt, 'description': request.description, 'error': '',
        'evidence': list(request.evidence), 'facts': dict(facts), 'history': []}
    message = service_class(spec.type).Request()
    try:
        faults = list(fill(message, render(spec.request, names), 'request'))
    except TemplateError as error:
        raise LifecycleError(f'request: {error}') from error
    if faults:
        raise LifecycleError('; '.join(map(str, faults)))
    return message


def judged(spec: ServiceVerify, request: VerifyRequest, response: Any, actor: str) -> Verdict:
    """Return the verdict of a response; its `verdict` is '' if the response is not usable."""
    fields = message_to_ordereddict(response)
    names = {**request.parameters, 'response': fields, **fields}
    try:
        found = render(_expression(spec.verdict or DEFAULT), names)
        reason = render(_expression(spec.reason), names) if spec.reason \
            else fields.get('message', '')
    except TemplateError as error:
        return Verdict('', str(error), actor=actor)
    words = {True: 'completed', False: 'error'}
    verdict = words[found] if isinstance(found, bool) else found
    if not isinstance(verdict, str):
        return Verdict('', f'{spec.verdict} is {found!r}', actor=actor)
    return Verdict(verdict, str(reason), actor=actor)


def service_faults(
    spec: ServiceVerify, parameters: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield (key, fault) of a service verifier, as far as the types show them."""
    fault = name_fault(spec.service)
    if fault:
        yield 'service', fault
    try:
        kind = service_class(spec.type)
    except UnknownType as error:
        yield 'type', str(error)
        return
    if spec.type == VERIFY:
        return
    known = _later(spec.request)
    for wrong in fill(kind.Request(), known, 'request'):
        yield 'request', str(wrong)
    fields = fields_of(kind.Response)
    names = {*fields, *parameters, 'response'}
    for key, text in (('verdict', spec.verdict or DEFAULT), ('reason', spec.reason)):
        try:
            for name in names_read(_expression(text)) if text else ():
                if name not in names:
                    yield key, (f"'{name}' is no field of the response" + nearest(name, names)
                                + f" (fields: {', '.join(fields) or 'none'})")
        except TemplateError as error:
            yield key, str(error)


def _expression(text: str) -> str:
    return '{{ ' + text + ' }}'


def _later(data: Any) -> Any:
    """Return the data with LATER in place of each template."""
    if isinstance(data, dict):
        return {key: _later(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_later(value) for value in data]
    return LATER if isinstance(data, str) and '{{' in data else data
