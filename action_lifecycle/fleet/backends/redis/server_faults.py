# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Says in one sentence what is wrong with a Redis server, and what to do.

redis-py reports a fault by the class of an exception, by the code of the server's reply or by the
error of the system that caused it, and differently in each version. The table `_FAULTS` recognizes
all three. The sentence names the server, never the password; the reply of the server is appended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
import contextlib
import errno
import inspect
import os
import re
import socket
import ssl
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

from ...errors import LedgerForbidden, LedgerUnavailable

USERNAME = 'ACTION_LEDGER_REDIS_USERNAME'
PASSWORD = 'ACTION_LEDGER_REDIS_PASSWORD'
PASSWORD_FILE = 'ACTION_LEDGER_REDIS_PASSWORD_FILE'
SENTINEL_USERNAME = 'ACTION_LEDGER_SENTINEL_USERNAME'
SENTINEL_PASSWORD = 'ACTION_LEDGER_SENTINEL_PASSWORD'
SENTINEL_PASSWORD_FILE = 'ACTION_LEDGER_SENTINEL_PASSWORD_FILE'
_OF_SENTINELS = {USERNAME: SENTINEL_USERNAME, PASSWORD: SENTINEL_PASSWORD,
                 PASSWORD_FILE: SENTINEL_PASSWORD_FILE}

_URLS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
_TYPED = re.compile(r'key (.+) is of type \w+, expected \w+')  # of lua/types.lua
_NO_MASTER = re.compile(r'^No master found for .*?(?= : |$)', re.DOTALL)
_SCRIPT = re.compile(r',? (?:and )?script: f?_?\w+, on @user_script:\d+\.?')


def name_server(client: Any, url: str) -> Any:
    """Note which server a client of redis-py is for, and return the client."""
    _URLS[client] = url
    return client


def note_errors(sentinel: Any) -> None:
    """
    Let a client of a Sentinel note why it could not ask it.

    redis-py reports only that no master is known, in some versions with the password.
    """
    ask = sentinel.sentinel_masters

    @contextlib.contextmanager
    def noted() -> Iterator[None]:
        try:
            yield
        except Exception as error:
            sentinel.ledger_error = error
            raise

    async def awaited(answer: Awaitable[Any]) -> Any:
        with noted():
            return await answer

    def asked(*args: Any, **kwargs: Any) -> Any:
        sentinel.ledger_error = None
        with noted():
            answer = ask(*args, **kwargs)
        return awaited(answer) if inspect.isawaitable(answer) else answer
    sentinel.sentinel_masters = asked


def _error_of_sentinels(error: BaseException, client: Any) -> BaseException | None:
    """Return why no Sentinel could be asked; None if that is not what `error` is about."""
    manager = getattr(getattr(client, 'connection_pool', None), 'sentinel_manager', None)
    found = [getattr(one, 'ledger_error', None) for one in manager.sentinels] if manager else []
    if any(one is error for one in found):
        return error
    return found[0] if found and all(found) and _NO_MASTER.search(str(error)) else None


def server_name(url: str) -> str:
    """Return `host:port` (or the path of the Unix socket) of a URL without a password."""
    parts = urlsplit(url)
    if parts.scheme == 'unix':
        return unquote(parts.path)
    hosts = parts.netloc.rpartition('@')[2] or 'localhost'
    if parts.scheme in ('redis', 'rediss') and not re.search(r':\d+$', hosts):
        hosts += ':6379'
    service = parts.path.strip('/')
    return f"{hosts} (service '{service}')" if 'sentinel' in parts.scheme and service else hosts


class _Fault(NamedTuple):
    """
    A fault of a server: how it is recognized, and the sentence about it.

    `said`: matches the reply of the server, with or without its code. `caused`: whether an
    exception is its cause; `broken`: see LedgerUnavailable. The sentence continues 'the server at
    HOST:PORT'.
    """

    said: str
    sentence: str
    caused: Callable[[BaseException], bool] = lambda error: False
    forbidden: bool = False
    broken: bool = False


def _has_errno(*numbers: int) -> Callable[[BaseException], bool]:
    texts = re.compile('|'.join(rf'\[Errno {number}\]|Error {number} ' for number in numbers))
    return lambda error: isinstance(error, OSError) and (
        error.errno in numbers or bool(texts.search(str(error))))


_GIVE_CERTIFICATE = 'give one of this client by ?ssl_certfile=FILE&ssl_keyfile=FILE in the URL'
_CHANGE_LOGIN = f'correct {USERNAME} and {PASSWORD} (or {PASSWORD_FILE}) and restart this process'

_FAULTS = (
    _Fault(
        r'WRONGPASS|invalid username-password|invalid password|user is disabled',
        f"does not accept user '{{user}}' with the given password: {_CHANGE_LOGIN}, or correct "
        'the user on the server'),
    _Fault(
        r'AUTH .*called without any password|AUTH, but no password is set',
        f"has no password for user 'default', but one is given: set {USERNAME}, or remove "
        f'{PASSWORD} and {PASSWORD_FILE}, and restart this process'),
    _Fault(
        r'NOAUTH|Authentication required|client already authenticated',
        f'requires a password: set {USERNAME} and {PASSWORD} (or {PASSWORD_FILE}) and restart '
        'this process'),
    _Fault(
        r'(?i)(no permissions|can.t|cannot) (to )?(access|use) .*\b(keys?|channels?)\b',
        "does not permit user '{user}' to use {keys}: allow it in the ACL of the server, "
        'see config/redis-acl.example', forbidden=True),
    _Fault(
        r"(?i)NOPERM|no permissions to run|can't run this command|ACL failure",
        "does not permit user '{user}' a command: allow it in the ACL of the server, see "
        'config/redis-acl.example', forbidden=True),
    _Fault(
        r"READONLY|(?i:You can't write against a read.?only)",
        'is a read-only replica: use the address of its master, or of the Sentinels'),
    _Fault(
        r'\bOOM\b|command not allowed when used memory',
        'is out of memory: raise its maxmemory or remove keys that it does not need'),
    _Fault(
        r'MISCONF|unable to persist to disk|Errors writing to the AOF',
        "can't save its data, so it refuses changes: make room on its disk and read its log"),
    _Fault(
        r'NOREPLICAS|Not enough good replicas',
        'has fewer replicas than its min-replicas-to-write: start its replicas'),
    _Fault(
        r'\bLOADING\b|is loading the dataset',
        'was just started and loads its data: wait'),
    _Fault(
        r'^BUSY |busy running a script',
        'is blocked by a script of another client: wait, or end the script by `redis-cli SCRIPT '
        'KILL`'),
    _Fault(
        r'MASTERDOWN|Link with MASTER is down',
        'is a replica that has lost its master: restore the master or the connection to it'),
    _Fault(
        r'CLUSTERDOWN|cluster is down|slot not served|[Ss]lot .*not covered',
        'belongs to a cluster that is down: start the missing nodes; `redis-cli --cluster check` '
        'names them'),
    _Fault(
        r"^MOVED |^ASK |^\d+ \S+:\d+$|CROSSSLOT|Keys in request don't hash",
        'is one node of a cluster: use a URL that begins with redis+cluster:// or '
        'rediss+cluster://'),
    _Fault(
        r'max number of clients reached',
        'has reached its maxclients: raise it or end other clients'),
    _Fault(
        r'DENIED|protected mode',
        'accepts local connections only, because it is in protected mode: give its users '
        'passwords, then set protected-mode no'),
    _Fault(
        r'DB index is out of range|invalid DB index|SELECT is not allowed',
        'does not have the database of the URL: correct the number at the end of the URL'),
    _Fault(
        r"(?i)unknown (sub)?command '?SENTINEL",
        'is not a Sentinel: use the host and port of one, or a URL that begins with redis:// or '
        'rediss://'),
    _Fault(
        r'Cluster mode is not enabled|cluster support disabled',
        'is not a node of a cluster: use a URL that begins with redis:// or rediss://'),
    _Fault(
        r'unknown (sub)?command',
        'does not know a command: use redis-server 7.0 or newer, or Valkey'),
    _Fault(
        r'WRONGTYPE|^key .* is of type|wrong kind of value',
        'has {keys} with another type than expected: something else wrote to it; remove or '
        'rename it'),
    _Fault(
        r'Protocol Error|Invalid RESP version|unknown RESP',
        'is not a Redis server: correct host and port of the URL'),
    _Fault(
        r'certificate verify failed|CERTIFICATE_VERIFY_FAILED|certificate is not valid for',
        'has a certificate that is not trusted: give the certificate authority by '
        '?ssl_ca_certs=FILE in the URL, and use the name in the certificate as host',
        lambda error: isinstance(error, ssl.SSLCertVerificationError)),
    _Fault(
        r'WRONG_VERSION_NUMBER|wrong version number|RECORD_LAYER_FAILURE',
        'does not answer in TLS: use redis:// instead of rediss://, or its TLS port'),
    _Fault(
        r'ALERT_CERTIFICATE_REQUIRED|alert certificate required',
        f'requires a certificate of its clients: {_GIVE_CERTIFICATE}'),
    _Fault(
        r'SSL handshake|\[SSL',
        f'fails the TLS handshake: correct its certificate, or {_GIVE_CERTIFICATE}',
        lambda error: isinstance(error, ssl.SSLError)),
    _Fault(
        r'Name or service not known|Temporary failure in name resolution|nodename nor servname',
        "can't be found, as its name is unknown: correct the host of the URL, or the DNS",
        lambda error: isinstance(error, socket.gaierror)),
    _Fault(
        r'No such file or directory',
        "can't be reached, as the socket file does not exist: start the server, or correct the "
        'path of the URL',
        _has_errno(errno.ENOENT)),
    _Fault(
        r'Permission denied',
        "can't be reached, as this user may not use the socket: correct the permissions of the "
        'socket file',
        _has_errno(errno.EACCES, errno.EPERM)),
    _Fault(
        r'Connection refused|Connect call failed',
        'refuses the connection: start the server, or correct host and port of the URL',
        _has_errno(errno.ECONNREFUSED)),
    _Fault(
        r'No route to host|Network is unreachable',
        "can't be reached: connect this computer to the network of the server",
        _has_errno(errno.EHOSTUNREACH, errno.ENETUNREACH)),
    _Fault(
        r'No master found',
        'has no master that the Sentinels know: start it, or correct the name of the service in '
        'the URL'),
    _Fault(
        r'Cluster cannot be connected|reachable node',
        "can't be reached by any of its nodes: start the nodes, or correct the hosts and ports "
        'of the URL{tls}'),
    _Fault(
        r'(?i)timed? ?out|timeout',
        'does not respond in time: check its load and the network{tls}',
        lambda error: isinstance(error, (TimeoutError, asyncio.TimeoutError, socket.timeout))),
    _Fault(
        r'(?i)connection (was )?(closed|reset|lost|aborted)|broken pipe|while reading from|'
        r'bytes read on a total',
        'closes the connection: if it runs, use the host and port of a Redis server, and '
        '{closes}',
        lambda error: isinstance(error, (ConnectionError, EOFError, asyncio.IncompleteReadError)),
        broken=True),
)


def unavailable(error: BaseException, client: Any = None, key: str = '') -> LedgerUnavailable:
    """
    Return the error of the ledger for an error of redis-py or of the system.

    `client`: the client of `name_server`; `key`: the keys of the command, for the sentence.
    """
    url = _URLS.get(client, '') if client is not None else ''
    where = f'the server at {server_name(url)}' if url else 'the server'
    tls = url.startswith('rediss')
    of_sentinels = _error_of_sentinels(error, client)
    if of_sentinels is not None:
        error, where = of_sentinels, f'the Sentinel of {server_name(url)}'
    reply = _SCRIPT.sub('', str(error)).strip() or type(error).__name__
    if found_none := _NO_MASTER.search(reply):
        reply = found_none.group()  # the rest may have a password
    for fault in _FAULTS:
        if re.search(fault.said, reply):
            break
    else:
        causes = list(_causes(error))
        found = next((fault for fault in _FAULTS if any(map(fault.caused, causes))), None)
        if found is None:
            return LedgerUnavailable(f'ledger: {where} reports an error: {reply}')
        fault = found
    if typed := _TYPED.search(reply):
        key = typed.group(1)
    sentence = fault.sentence
    for name, of_sentinel in _OF_SENTINELS.items() if of_sentinels is not None else ():
        sentence = re.sub(rf'\b{name}\b', of_sentinel, sentence)
    sentence = sentence.format(
        user=os.environ.get(SENTINEL_USERNAME if of_sentinels is not None else USERNAME, '')
        or 'default', keys=f'key {key}' if key else 'a key',
        tls='; with rediss://, check the certificates and that the port is one for TLS'
        if tls else '',
        closes=f'if it requires a certificate, {_GIVE_CERTIFICATE}' if tls
        else 'rediss:// if it expects TLS')
    kind = LedgerForbidden if fault.forbidden else LedgerUnavailable
    cause = f'ledger: {where} {sentence}'
    return kind(f'{cause} ({reply})', cause, fault.broken)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and those that led to it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
