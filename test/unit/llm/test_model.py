# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A model that answers, and one that misbehaves in every way an endpoint can."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
import time
from typing import Any

from action_lifecycle.agents.chooser import one_of
from action_lifecycle.agents.llm.model import _pause, MAX_BODY, MAX_PROMPT
from action_lifecycle.llm import LanguageModel, ModelError, ModelSettings
import pytest

from .endpoint import bomb, completion, Cut, Endpoint, Huge, Raw, Slow

pytest.importorskip('openai')

SCHEMA = one_of('next_state', ['left', 'right'])
RIGHT = {'next_state': 'right'}
ASK = [{'role': 'user', 'content': 'Wohin? 🤖'}]


def ask(check: Any = lambda answer: (), messages: Any = ASK, **settings: Any) -> Any:
    async def main() -> Any:
        model = LanguageModel(ModelSettings(**{'time_limit': 20.0, **settings}))
        try:
            return await model.ask(messages, SCHEMA, check)
        finally:
            await model.close()

    return asyncio.run(main())


def test_the_answer_is_limited_to_the_schema_and_the_key_comes_from_the_environment(
    endpoint: Endpoint
) -> None:
    endpoint.answers = [RIGHT]
    assert ask() == RIGHT
    request, = endpoint.requests
    assert request['model'] == 'small' and request['messages'] == ASK
    assert request['response_format']['json_schema']['schema'] == SCHEMA
    assert endpoint.keys == ['Bearer secret']
    assert 'secret' not in repr(ModelSettings())


@pytest.mark.parametrize('answer, told', [
    ('to the right, I think', 'it is no JSON'),
    ('{"next_state": "right"', 'it is no JSON'),
    ('{"next_state": "left", "next_state": "right"}', "duplicate key 'next_state'"),
    ('{"next_state": NaN}', 'NaN is not in JSON'),
    ({'next_state': 'up'}, ".next_state: 'up' is not one of ['left', 'right']"),
    ({'next_state': 'right', 'then': 'stop'}, "'then' was unexpected"),
    ([RIGHT], "is not of type 'object'"),
    ('', 'it is empty'), ('[' * 100_000, 'it is no JSON'),
    (Raw(json.dumps(completion('{"next_', 'length')).encode()), 'it was cut off (length)'),
    (Raw(json.dumps(completion(None)).encode()), 'it is empty'),
    (Raw(b'no JSON at all'), 'the response is no chat completion'),
    (Raw(b'[' * 100_000), 'the response is no chat completion'),
    (Raw(b'[]'), 'the response is no chat completion'),
    (Raw(b'{"choices": []}'), 'the response is no chat completion'),
    (Raw(b'{"choices": [{"message": "x"}]}'), 'the response is no chat completion'),
])
def test_an_answer_that_can_not_be_used_is_refused_and_the_model_is_told(
    endpoint: Endpoint, answer: Any, told: str
) -> None:
    endpoint.answers = [answer, RIGHT]
    assert ask() == RIGHT
    last = endpoint.requests[1]['messages'][-1]
    assert last['role'] == 'user' and told in last['content']
    assert endpoint.requests[1]['messages'][0] == ASK[0]


def test_after_three_refused_answers_it_is_over(endpoint: Endpoint) -> None:
    endpoint.always = {'next_state': 'up'}
    with pytest.raises(ModelError, match="in 3 tries; the last was refused: .*'up' is not one of"):
        ask()
    assert len(endpoint.requests) == 3
    assert [len(request['messages']) for request in endpoint.requests] == [1, 3, 5]


def test_faults_of_the_callers_check_are_shown_too(endpoint: Endpoint) -> None:
    endpoint.answers = [{'next_state': 'left'}, RIGHT]
    assert ask(lambda answer: ['not left!'] if answer != RIGHT else []) == RIGHT
    assert 'not left!' in endpoint.requests[1]['messages'][-1]['content']


@pytest.mark.parametrize('trouble', [
    Raw(b'{"error": {"message": "slow down"}}', 429, retry_after='0.2'),
    Raw(b'{"error": {"message": "overloaded"}}', 500), Raw(b'<html>', 503),
    Cut(b'{"choices": ['), Cut(b'')])
def test_trouble_of_the_endpoint_is_waited_out(endpoint: Endpoint, trouble: Raw) -> None:
    endpoint.answers = [trouble, trouble, RIGHT]
    started = time.monotonic()
    assert ask() == RIGHT
    assert len(endpoint.requests) == 3 and time.monotonic() - started >= 0.4
    assert all(request['messages'] == ASK for request in endpoint.requests)


@pytest.mark.parametrize('trouble, limit, told', [
    (Slow(), 1, 'no usable answer within 1 s'),
    (Slow(drip=True), 1, 'no usable answer within 1 s'),
    (Slow(drip=True, status=500), 4, 'the endpoint says 500'),
    (Huge(500), 4, 'the endpoint says 500'),
    (Raw(b'{}', 429, retry_after='nan'), 4, 'the endpoint says 429'),
    (Raw(b'{}', 500), 4, 'the endpoint says 500'),
    (Raw(b'{}', 429, retry_after='100000'), 4, 'the endpoint says 429'),
    (Cut(b'{'), 4, 'the endpoint can not be reached')])
def test_the_time_limit_holds_for_all_tries_together(
    endpoint: Endpoint, trouble: Any, limit: float, told: str
) -> None:
    endpoint.always = trouble
    started = time.monotonic()
    with pytest.raises(ModelError, match=f'no usable answer within {limit} s') as caught:
        ask(time_limit=float(limit))
    assert told in str(caught.value) and time.monotonic() - started < limit + 7


@pytest.mark.parametrize('status', [400, 401, 403, 404])
def test_what_no_second_try_mends_is_told_at_once(endpoint: Endpoint, status: int) -> None:
    endpoint.always = Raw(b'{"error": {"message": "no such model"}}', status)
    with pytest.raises(ModelError, match=f'the endpoint says {status}.*no such model'):
        ask()
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize('huge', [Huge(), Raw(b' ' * (MAX_BODY + 1))])
def test_a_response_that_is_too_long_is_not_read_to_its_end(endpoint: Endpoint, huge: Any) -> None:
    endpoint.answers = [huge, RIGHT]
    assert ask() == RIGHT
    assert f'longer than {MAX_BODY} bytes' in endpoint.requests[1]['messages'][-1]['content']


@pytest.mark.parametrize('encoding', ['gzip', 'deflate', 'zstd'])
@pytest.mark.parametrize('status, told', [
    (200, "the endpoint sends its answers as '{}'"), (307, 'the endpoint says 307'),
    (400, 'the endpoint says 400'), (500, 'within 2 s .the endpoint says 500')])
def test_a_compressed_answer_of_any_status_is_not_unpacked(
    endpoint: Endpoint, encoding: str, status: int, told: str
) -> None:
    endpoint.always = bomb(encoding, status)
    Path('/proc/self/clear_refs').write_text('5')  # the peak begins anew
    before, started = peak_of_memory(), time.monotonic()
    with pytest.raises(ModelError, match=told.format(encoding)):
        ask(time_limit=2.0)
    assert peak_of_memory() - before < 64 * 2**10 and time.monotonic() - started < 9


def peak_of_memory() -> int:
    """Return the largest resident size, in kB."""
    return int(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])


@pytest.mark.parametrize('status', [400, 404])
def test_the_words_of_an_error_are_read_in_part_and_not_for_long(
    endpoint: Endpoint, status: int
) -> None:
    for endpoint.always in (Huge(status), Slow(drip=True, status=status)):
        started = time.monotonic()
        with pytest.raises(ModelError, match=f'the endpoint says {status}'):
            ask(time_limit=60.0)
        assert time.monotonic() - started < 30


def test_an_endpoint_that_has_moved_is_told_and_not_followed_with_the_key(
    endpoint: Endpoint
) -> None:
    endpoint.always = Raw(b'', 307, location='http://elsewhere/v1')
    with pytest.raises(ModelError, match='says 307: it has moved to http://elsewhere/v1; set'):
        ask()
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize('wanted, least, most', [
    ('-5', 0.5, 0.5), ('0', 0.5, 0.5), ('-inf', 0.5, 0.5), ('7', 7.0, 7.0),
    ('1e300', 3600.0, 3600.0), ('inf', 3600.0, 3600.0), ('nan', 0.4, 0.6), ('', 0.4, 0.6),
    ('Wed, 21 Oct 2026 07:28:00 GMT', 0.4, 0.6)])
def test_a_wish_to_wait_is_limited_on_both_sides(wanted: str, least: float, most: float) -> None:
    assert least <= _pause(1, wanted) <= most


def test_a_request_that_is_too_long_is_not_sent(endpoint: Endpoint) -> None:
    with pytest.raises(ModelError, match='at most'):
        ask(messages=[{'role': 'user', 'content': 'x' * (MAX_PROMPT + 1)}])
    assert not endpoint.requests


def test_an_endpoint_that_is_not_there_is_an_error_in_time() -> None:
    with pytest.raises(ModelError, match='within 4 s .*can not be reached'):
        ask(base_url='http://127.0.0.1:9/v1', model='m', time_limit=4.0)


def test_what_is_missing_in_the_settings_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('OPENAI_BASE_URL', 'OPENAI_MODEL'):
        monkeypatch.delenv(name, raising=False)
    for settings in ({}, {'base_url': 'http://x/v1'}, {'model': 'm'}):
        with pytest.raises(ModelError, match='set OPENAI_BASE_URL and OPENAI_MODEL'):
            LanguageModel(ModelSettings(**settings))
    with pytest.raises(ModelError, match='the key belongs into OPENAI_API_KEY'):
        LanguageModel(ModelSettings(base_url='http://me:pass@x/v1', model='m'))
    with pytest.raises(ModelError, match='time limit'):
        LanguageModel(ModelSettings(base_url='http://x', model='m', time_limit=0.0))


def test_halves_of_characters_are_replaced_on_the_way_out_and_refused_on_the_way_in(
    endpoint: Endpoint
) -> None:
    endpoint.answers = ['{"next_state": "\\ud800"}', RIGHT]
    assert ask(messages=[{'role': 'user', 'content': 'a\ud800b'}]) == RIGHT
    assert endpoint.requests[0]['messages'][0]['content'] == 'a?b'
    assert 'a lone surrogate' in endpoint.requests[1]['messages'][-1]['content']


def test_a_context_of_anything_becomes_messages(endpoint: Endpoint) -> None:
    endpoint.answers = [RIGHT, {'answer': 'Grüße'}]

    async def main() -> Any:
        model = LanguageModel()
        return (await model.call_llm(
            [{'role': 'system', 'content': 'choose'}, 'plain',
             {'role': 'tool', 'name': 'lamp', 'content': {'on': True}}], SCHEMA),
            await model.call_llm({'facts': 1}))

    assert asyncio.run(main()) == (RIGHT, {'role': 'assistant', 'content': 'Grüße'})
    assert [message['role'] for message in endpoint.requests[0]['messages']] == [
        'system', 'user', 'user']
    assert '"name": "lamp"' in endpoint.requests[0]['messages'][2]['content']
