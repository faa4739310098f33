# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A language model at an endpoint with the OpenAI protocol (chat completions).

Each answer is validated by a JSON Schema and by a check of the caller. The faults of an answer are
sent to the model, up to a maximum number of tries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
import contextlib
from dataclasses import dataclass, field
import json
import logging
import math
import os
import random
from typing import Any

from ...documents.errors import LifecycleError
from ...documents.json_schema import object_schema, schema_faults
from ...documents.json_text import read_json
from ...lifecycle.back_off import back_off

URL, MODEL, KEY = 'OPENAI_BASE_URL', 'OPENAI_MODEL', 'OPENAI_API_KEY'
"""The environment variables of the endpoint, the model's name and the key."""
MAX_BODY = 4 * 2**20
"""Maximum size of a response of the endpoint, in bytes."""
MAX_PROMPT = 2**20
"""Maximum length of a request, in characters of all messages."""
MAX_SHOWN = 4000  # maximum length of a refused answer that is sent back
_MAX_WORDS, _WORDS_TIME = 4096, 2.0  # what is read of the text of an error: bytes, s
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0  # s, after the endpoint failed
_LONGEST_WISH = 3600.0  # s; maximum of Retry-After that is obeyed
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)

Message = Mapping[str, str]
Check = Callable[[Any], Sequence[str]]

_LOG = logging.getLogger(__name__)


class ModelError(LifecycleError):
    """A language model gave no usable answer."""


class _Refused(Exception):
    """An answer is refused; `faults` are sent to the model."""

    def __init__(self, answer: str, faults: Sequence[str]) -> None:
        self.answer = answer
        self.faults = faults


class _Status(Exception):
    """The endpoint answered with a status that is no success, and with these words."""

    def __init__(self, code: int, words: str, retry_after: str | None) -> None:
        super().__init__(f'the endpoint says {code}')
        self.code = code
        self.words = words
        self.retry_after = retry_after


@dataclass(frozen=True)
class ModelSettings:
    """
    The endpoint, the model and its limits; the key is read from OPENAI_API_KEY only.

    If empty, `base_url` and `model` come from OPENAI_BASE_URL and OPENAI_MODEL. `time_limit`:
    timeout (s) of all tries together; `tries`: maximum number of answers of the model.
    """

    base_url: str = ''
    model: str = ''
    time_limit: float = 30.0
    tries: int = 3
    key: str = field(default_factory=lambda: os.environ.get(KEY, ''), repr=False)

    def resolved(self) -> ModelSettings:
        """Return the settings completed from the environment; raises `ModelError`."""
        url = self.base_url or os.environ.get(URL, '')
        model = self.model or os.environ.get(MODEL, '')
        if not url or not model:
            raise ModelError('a language model needs the URL of its endpoint and its name: '
                             f'set {URL} and {MODEL}')
        if '@' in url.partition('://')[2].partition('/')[0]:
            raise ModelError(f'the URL of the endpoint holds a login; the key belongs into {KEY}')
        if self.time_limit <= 0 or self.tries < 1:
            raise ModelError('a language model needs a time limit > 0 and at least one try')
        return ModelSettings(url, model, self.time_limit, self.tries, self.key)


class LanguageModel:
    """
    Asks a model for JSON that is valid by a schema; provides an agent's `call_llm`.

    All calls must come from one asyncio loop. Requests are repeated within the time limit after
    rate limits, failures and timeouts of the endpoint.
    """

    def __init__(self, settings: ModelSettings | None = None) -> None:
        self.settings = (settings or ModelSettings()).resolved()
        try:
            import openai
        except ImportError as error:
            raise ModelError(
                'a language model needs openai: pip install action_lifecycle[openai]') from error
        self._openai = openai
        self._client: Any = openai.AsyncOpenAI(
            api_key=self.settings.key or 'none', base_url=self.settings.base_url, max_retries=0,
            default_headers={'Accept-Encoding': 'identity'},
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks={'response': [_require_success]}))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def call_llm(self, context: Any, json_schema: Mapping[str, Any] | None = None) -> Any:
        """Return the answer to a context: data by `json_schema`, or a message if that is None."""
        messages = [_message(item) for item in
                    (context if isinstance(context, list) else [context])]
        if json_schema is None:
            answer = await self.ask(messages, object_schema({'answer': {'type': 'string'}}))
            return {'role': 'assistant', 'content': answer['answer']}
        return await self.ask(messages, json_schema)

    async def ask(
        self, messages: Sequence[Message], schema: Mapping[str, Any],
        check: Check = lambda answer: (),
    ) -> Any:
        """
        Return an answer that is valid by the schema and by `check`; raises `ModelError`.

        `check` returns the faults of an answer; it runs in a separate thread.
        """
        messages = [{**message, 'content': whole_characters(message['content'])}
                    for message in messages]
        size = sum(len(message['content']) for message in messages)
        if size > MAX_PROMPT:
            raise ModelError(f'the request has {size} characters, at most {MAX_PROMPT} are sent')
        failed: list[str] = []
        try:
            return await asyncio.wait_for(
                self._ask(list(messages), schema, check, failed), self.settings.time_limit)
        except asyncio.TimeoutError:
            raise ModelError(f'no usable answer within {self.settings.time_limit:g} s'
                             + (f' ({failed[-1]})' if failed else '')) from None

    async def _ask(
        self, messages: list[Message], schema: Mapping[str, Any], check: Check, failed: list[str],
    ) -> Any:
        tries = failures = 0
        while True:
            try:
                text = await self._complete(messages, schema)
                return await _judged(text, schema, check)
            except _Refused as refused:
                tries += 1
                faults = whole_characters('\n'.join(refused.faults))
                failed.append(f'refused: {faults:.500}')
                _LOG.info('an answer of the model is refused: %.500s', faults)
                if tries >= self.settings.tries:
                    raise ModelError(f'no usable answer in {tries} tries; the last was refused: '
                                     f'{faults:.1000}') from None
                messages = [
                    *messages,
                    {'role': 'assistant', 'content': whole_characters(refused.answer[:MAX_SHOWN])},
                    {'role': 'user', 'content': f'This answer is refused:\n{faults[:MAX_SHOWN]}\n'
                     'Answer again, with JSON of the schema and nothing else.'}]
            except (self._openai.APIError, _Status, OSError) as error:
                cause = error.__cause__ or error  # some versions of openai wrap _Status
                failures += 1
                wanted = None
                if isinstance(cause, _Status):
                    failed.append(str(cause))
                    if cause.code not in _AGAIN:
                        raise ModelError(f'{cause}: {cause.words:.300}') from None
                    wanted = cause.retry_after
                else:
                    failed.append(f'the endpoint can not be reached: {cause!s:.200}')
                await asyncio.sleep(_pause(failures, wanted))

    async def _complete(self, messages: list[Message], schema: Mapping[str, Any]) -> str:
        """Return the content of one completion; raises _Refused for one longer than MAX_BODY."""
        body = bytearray()
        async with self._client.chat.completions.with_streaming_response.create(
            model=self.settings.model, messages=messages,
            response_format={'type': 'json_schema', 'json_schema': {
                'name': 'answer', 'schema': dict(schema), 'strict': True}},
            timeout=self.settings.time_limit,
        ) as response:
            if encoding := _encoding(response):
                raise ModelError(f'the endpoint sends its answers as {encoding!r:.50}; expected '
                                 'no Content-Encoding, as it was asked for')
            try:
                complete = await _read(response.http_response, body, MAX_BODY)
            except Exception as error:  # HTTP library errors, which openai does not convert here
                raise ConnectionError(f'cut off: {error}') from error
            if not complete:
                raise _Refused('', [f'the response is longer than {MAX_BODY} bytes'])
        try:
            choice = read_json(bytes(body), 'the response', most=MAX_BODY)['choices'][0]
            text, why = choice['message'].get('content'), choice.get('finish_reason')
        except (LifecycleError, LookupError, TypeError, AttributeError):
            raise _Refused('', ['the response is no chat completion']) from None
        if why in ('length', 'content_filter'):
            raise _Refused(str(text or ''), [f'it was cut off ({why}); answer shorter'])
        if not isinstance(text, str) or not text.strip():
            raise _Refused('', ['it is empty'])
        return text


async def _require_success(response: Any) -> None:
    """Raise _Status before the client reads an error, which it would do without a limit."""
    if 200 <= response.status_code < 300:
        return
    words = bytearray()
    with contextlib.suppress(Exception):  # too slow, or cut off: the status is what counts
        await asyncio.wait_for(_read(response, words, _MAX_WORDS), _WORDS_TIME)
    text = '' if _encoding(response) else ' '.join(words.decode('utf-8', 'replace').split())
    if moved := response.headers.get('location'):
        text = f'it has moved to {moved}; set the URL of the endpoint to that'
    raise _Status(response.status_code, text, response.headers.get('retry-after'))


async def _read(response: Any, body: bytearray, most: int) -> bool:
    """Append at most `most` bytes of a response to `body`, not decoded; return if that is all."""
    async for chunk in response.aiter_raw():
        body += chunk[:most - len(body) + 1]
        if len(body) > most:
            return False
    return True


def _encoding(response: Any) -> str:
    """Return the Content-Encoding of a response, '' if it has none."""
    found = str(response.headers.get('content-encoding', '')).strip().lower()
    return '' if found == 'identity' else found


async def _judged(text: str, schema: Mapping[str, Any], check: Check) -> Any:
    try:
        answer = read_json(text, 'it is no JSON', finite=True)
    except LifecycleError as error:
        raise _Refused(text, [str(error)]) from None
    faults: Sequence[str] = await asyncio.to_thread(schema_faults, answer, schema)
    if not faults:
        faults = await asyncio.to_thread(check, answer)
    if faults:
        raise _Refused(text, faults)
    return answer


def whole_characters(text: str) -> str:
    """Return a string with lone surrogates replaced, which can't be encoded."""
    return text.encode('utf-8', 'replace').decode()


def _pause(failures: int, wanted: str | None) -> float:
    """Return the delay (s): the value from the endpoint, else one that grows with `failures`."""
    with contextlib.suppress(ValueError):
        seconds = float(wanted or '')
        if not math.isnan(seconds):
            return min(max(seconds, _FIRST_PAUSE), _LONGEST_WISH)
    return back_off(failures, _FIRST_PAUSE, _LONGEST_PAUSE) * random.uniform(0.8, 1.2)


def _message(item: Any) -> Message:
    """Return an item of a context as a message; an item that is none becomes a user message."""
    if isinstance(item, Mapping) and item.get('role') in ('system', 'user', 'assistant') \
            and isinstance(item.get('content'), str):
        return {'role': item['role'], 'content': item['content']}
    return {'role': 'user', 'content': item if isinstance(item, str) else as_json(item)}


def as_json(value: Any) -> str:
    """Return a value as JSON text; raises `ModelError` if it can't be serialized."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(f'the context can not be sent: {error}') from error
