# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Services of any type as verifiers: requests from templates, verdicts by expression."""

from __future__ import annotations

import threading
import time
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.lifecycle.checkers import check, register_checker
from action_lifecycle.lifecycle.ports import Verdict, VerifyRequest
from action_lifecycle.lifecycle.verifier_kinds import ServiceVerify
from action_lifecycle.nodes.action.verifiers.service_verifier import (
    filled_request,
    judged,
    service_faults,
)
from action_lifecycle.nodes.shared.in_thread import InThread
import pytest
from std_srvs.srv import SetBool, Trigger

REQUEST = VerifyRequest('f', 'pick', 1, 'Pick', (), {'part': 'cup', 'force': 2.0})


def service(**fields: Any) -> ServiceVerify:
    return ServiceVerify(**{'by': 'service', 'service': 'judge', 'type': 'std_srvs/srv/SetBool',
                         **fields})


@pytest.mark.parametrize(('verdict', 'success', 'message', 'expected'), [
    ('', True, 'fine', 'completed'), ('', False, 'no', 'error'),
    ('success', True, '', 'completed'),
    ('not success', True, '', 'error'), ('message', True, 'pending', 'pending'),
    ("'completed' if success else 'pending'", False, '', 'pending'),
    ("message.startswith('ok') and force > 1", True, 'ok!', 'completed'),
    ('response.success', True, '', 'completed'),
    ('message', True, 'nonsense', 'nonsense'),  # asked again until the time is up
])
def test_the_verdict_is_an_expression_over_the_response(
    verdict: str, success: bool, message: str, expected: str
) -> None:
    found = judged(service(verdict=verdict), REQUEST,
                   SetBool.Response(success=success, message=message), 'judge')
    assert (found.verdict, found.actor, found.reason) == (expected, 'judge', message)


@pytest.mark.parametrize('verdict', [
    'succes', 'message.__class__', '1 / 0', "'x' * 99999999", 'message.nothing', '3', '[success]'])
def test_what_is_no_verdict_is_nonsense_never_completed(verdict: str) -> None:
    found = judged(service(verdict=verdict), REQUEST, SetBool.Response(success=True), 'judge')
    assert found.verdict == '' and found.reason


def test_the_reason_may_be_an_expression_too() -> None:
    found = judged(service(reason="part ~ ': ' ~ message"), REQUEST,
                   SetBool.Response(success=False, message='{{ 7 * 7 }}'), 'judge')
    assert found.reason == 'cup: {{ 7 * 7 }}'


def test_the_request_is_filled_in_from_facts_and_parameters() -> None:
    spec = service(request={'data': '{{ facts.gap > 0.1 and force > 1 }}'})
    assert filled_request(spec, REQUEST, {'gap': 0.2}).data is True
    with pytest.raises(LifecycleError, match='request'):
        filled_request(spec, REQUEST, {})
    with pytest.raises(LifecycleError, match=r'request.data: expected true or false'):
        filled_request(service(request={'data': '{{ part }}'}), REQUEST, {})


@pytest.mark.parametrize(('fields', 'message'), [
    ({'type': 'std_srvs/srv/SetBol'}, "did you mean 'std_srvs/srv/SetBool'"),
    ({'type': 'nonsense'}, 'expected a name such as'),
    ({'request': {'dta': True}}, "did you mean 'data'"),
    ({'request': {'data': 3}}, 'expected true or false'),
    ({'verdict': 'sucess'}, "did you mean 'success'"), ({'verdict': 'success and'}, 'template'),
    ({'reason': 'mesage'}, "did you mean 'message'"), ({'service': 'a b'}, 'a b'),
    ({'type': 'std_srvs/srv/Empty'}, "'success' is no field of the response"),
])
def test_what_does_not_fit_is_told_before_anything_moves(
    fields: dict[str, Any], message: str
) -> None:
    assert message in ' '.join(text for _, text in service_faults(service(**fields), {'part'}))


def test_a_good_service_has_no_faults() -> None:
    assert not list(service_faults(service(
        request={'data': '{{ facts.gap > 0 }}'}, verdict='success and part'), {'part'}))
    assert not list(service_faults(service(type='std_srvs/srv/Trigger'), ()))
    assert judged(service(type='std_srvs/srv/Trigger'), REQUEST, Trigger.Response(success=True),
                  'judge') == Verdict('completed', '', (), 'judge')


def test_a_checker_that_hangs_holds_nothing_up() -> None:
    leave = threading.Event()
    heard: list[Verdict] = []

    @register_checker('hangs')
    def hangs(request: VerifyRequest) -> Verdict:
        leave.wait(10)
        return Verdict('completed')

    started = time.monotonic()
    call = InThread('hangs', lambda: check('hangs', REQUEST), heard.append,
                    lambda callback: callback())
    assert time.monotonic() - started < 5  # it hangs for 10 s
    call.cancel()
    leave.set()
    time.sleep(0.05)
    assert not heard


@pytest.mark.parametrize(('found', 'expected'), [
    (Verdict('completed', 'yes'), 'completed'), (None, ''), ('completed', ''), ({}, ''),
    (Verdict('yes'), ''), (Verdict('completed', evidence=['a']), '')])
def test_what_a_checker_returns_is_its_verdict_or_none(found: Any, expected: str) -> None:
    @register_checker('says')
    def says(request: VerifyRequest) -> Any:
        return found

    done = threading.Event()
    heard: list[Verdict] = []

    def take(verdict: Verdict) -> None:
        heard.append(verdict)
        done.set()

    InThread('says', lambda: check('says', REQUEST), take, lambda callback: callback())
    assert done.wait(5) and heard[0].verdict == expected


def test_what_a_checker_raises_is_its_verdict() -> None:
    @register_checker('raises')
    def raises(request: VerifyRequest) -> Verdict:
        raise ZeroDivisionError('by nought')

    assert check('raises', REQUEST) == Verdict(
        'error', 'ZeroDivisionError: by nought', (), 'raises')
