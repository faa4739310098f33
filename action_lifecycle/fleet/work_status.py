# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The requests of a stream as people see them: those that wait, that run, and dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import re
from typing import Any, NamedTuple

from .errors import LedgerError
from .operation_states import OperationState
from ..documents.errors import LifecycleError
from ..documents.json_text import read_json

LISTED = 100
"""Maximum number of requests of each sort that are listed."""
COUNTED = 1000
"""
Maximum number of requests that are counted one by one: those that failed and are tried again, and
those that wait, if the server does not know their number.
"""
RESENT_KEPT = 30 * 86_400
"""Time (s) for which it is known who has sent a dead letter again."""
MAX_ACTOR = 256
"""Maximum length of the name of a person who sends a request again."""


class Failure(NamedTuple):
    """
    Why the last try of a request failed; another one follows.

    `max_tries`: after so many it becomes a dead letter, 0: not known; `wait`: time (s) until a
    worker can take it again, None: not known.
    """

    error: str
    max_tries: int = 0
    wait: float | None = None


class Request(NamedTuple):
    """
    A request in its stream.

    `worker`: who holds it, '' if it waits; `idle`: time (s) since the last sign of life of that
    worker; `tries`: how often it was taken; `failure`: if its last try failed, so that nobody
    works on it until the next one.
    """

    request_id: str
    data: Mapping[str, str]
    worker: str = ''
    idle: float = 0.0
    tries: int = 0
    failure: Failure | None = None

    @property
    def trace_id(self) -> str:
        """Return its trace id."""
        return self.data.get('trace_id') or self.request_id

    @property
    def submitted(self) -> float:
        """Return the time (s since 1970) of its submission, by the server's clock."""
        return id_time(self.request_id)


class StreamWork(NamedTuple):
    """
    The requests of a stream for one group of workers.

    `waiting`, `running`, `failed` (those that failed and are tried again, of the COUNTED oldest
    that are held) and `dead` are the numbers of requests; the lists have LISTED at most, the
    oldest first.
    """

    stream: str
    group: str
    waiting: int
    running: int
    dead: int
    waits: tuple[Request, ...] = ()
    runs: tuple[Request, ...] = ()
    failed: int = 0
    fails: tuple[Request, ...] = ()


class DeadLetter(NamedTuple):
    """A request that failed for good; `time`: s since 1970, by the server's clock."""

    letter_id: str
    stream: str
    request_id: str
    trace_id: str
    error: str
    attempt: int
    data: Mapping[str, str]
    time: float


class Resent(NamedTuple):
    """
    A dead letter that was sent again as a new request.

    `by`, `time`: who did it, and when (s since 1970, by the server's clock); `again`: it had been
    sent before this call, so nothing was done.
    """

    letter_id: str
    request_id: str
    trace_id: str
    by: str
    time: float
    again: bool = False


class LetterMissing(LedgerError):
    """There is no such dead letter."""


TRACE_FIELDS = ('state', 'msg_id', 'attempt', 'error', 'max_tries', 'min_idle')
"""What `stream_work` needs of the trace of a request, see OperationConsumer."""


def stream_work(
    stream: str, group: str, waiting: int, held: int, dead: int, waits: Sequence[Request],
    taken: Iterable[tuple[Request, Mapping[str, str | None]]],
) -> StreamWork:
    """
    Return the requests of a stream; `held`: number of those that workers hold.

    `taken`: the oldest of those, at most COUNTED, with the TRACE_FIELDS of their traces.
    """
    runs: list[Request] = []
    fails: list[Request] = []
    for request, trace in taken:
        failure = _failure(request, trace)
        (runs if failure is None else fails).append(request._replace(failure=failure))
    return StreamWork(
        stream, group, waiting, max(0, held - len(fails)), dead, tuple(waits[:LISTED]),
        tuple(runs[:LISTED]), len(fails), tuple(fails[:LISTED]))


def _failure(request: Request, trace: Mapping[str, str | None]) -> Failure | None:
    """Return why the last try of a request failed; None if a worker works on it."""
    state, owner, attempt, error, *limits = (str(trace.get(name) or '') for name in TRACE_FIELDS)
    if state.upper() != OperationState.ERRORED.value or attempt != str(request.tries) \
            or owner not in ('', request.request_id):
        return None
    try:
        tries, idle = int(limits[0]), float(limits[1])
    except ValueError:  # of a worker of an older version
        return Failure(error)
    return Failure(error, tries, max(0.0, idle - request.idle))


def missing_letter(stream: str, letter_id: str) -> LetterMissing:
    """Return the error for a letter that is not there."""
    return LetterMissing(f"stream '{stream}' has no dead letter '{letter_id}'")


def dead_letter(stream: str, letter_id: str, fields: Mapping[str, Any]) -> DeadLetter:
    """Return the letter of a worker (see OperationConsumer); what can't be read is empty."""
    try:
        data = read_json(fields.get('data') or '{}', 'data')
    except LifecycleError:
        data = None
    attempt = str(fields.get('attempt', ''))
    return DeadLetter(
        letter_id, stream, str(fields.get('original_id', '')), str(fields.get('trace_id', '')),
        str(fields.get('error', '')), int(attempt) if re.fullmatch('[0-9]{1,18}', attempt) else 0,
        {str(name): str(value) for name, value in data.items()} if isinstance(data, dict) else {},
        id_time(letter_id))


def new_request(letter: DeadLetter, actor: str) -> dict[str, str]:
    """
    Return the fields of the request that replaces a dead letter; raises LedgerError.

    Its trace id follows from the letter, since the old trace has ended: so one letter can't run
    twice, even if a server that was restored from a backup offers it again.
    """
    if not actor.strip() or len(actor) > MAX_ACTOR or not actor.isprintable():
        raise LedgerError('to send a request again, give your name (at most '
                          f'{MAX_ACTOR} printable characters): it is recorded')
    data = {name: value for name, value in letter.data.items() if name != 'trace_id'}
    if not data:
        raise LedgerError(f"dead letter '{letter.letter_id}' of stream '{letter.stream}' can't be "
                          f'sent again: its content is lost ({letter.error})')
    first = data.get('resent_of') or letter.trace_id or letter.request_id
    return {**data, 'trace_id': f'{first}-{letter.letter_id}', 'resent_of': first,
            'resent_letter': letter.letter_id, 'resent_by': actor}


def is_entry_id(text: str) -> bool:
    """Return whether a text is the complete id of an entry of a stream."""
    return re.fullmatch(r'[0-9]{1,20}-[0-9]{1,20}', text) is not None


def id_time(entry_id: str) -> float:
    """Return the time (s since 1970) in the id of an entry of a stream; 0.0 if it has none."""
    number = entry_id.partition('-')[0]
    return int(number) / 1000 if number.isdecimal() else 0.0
