# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The URL of a ledger in Redis: one server, a service of Sentinels, or a cluster.

A password does not belong into a URL, since URLs are visible in parameters and logs.
"""

from __future__ import annotations

from collections.abc import Callable
import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, SplitResult, unquote, urlencode, urlsplit

from .server_faults import PASSWORD, PASSWORD_FILE, USERNAME
from ...errors import LedgerError
from ....documents.suggestions import nearest

SERVER_SCHEMES = ('redis', 'rediss', 'unix')
SENTINEL_SCHEMES = ('redis+sentinel', 'rediss+sentinel')
CLUSTER_SCHEMES = ('redis+cluster', 'rediss+cluster')
SCHEMES = (*SERVER_SCHEMES, *SENTINEL_SCHEMES, *CLUSTER_SCHEMES)

SENTINEL_PORT, SERVER_PORT = 26379, 6379
REPLICAS = 'replicas'
"""The parameter of a URL with the number of replicas that must acknowledge claims."""

_HOSTS = 'expected HOST, HOST:PORT or [IPV6]:PORT, with a port from 0 to 65535, as host'


class _Kind(NamedTuple):
    """The values that a parameter may have."""

    pattern: str
    expected: str


_NUMBER = _Kind('[0-9]{1,9}', 'a number from 0')
_TIME = _Kind(r'(?=.*[1-9])[0-9]{1,9}(\.[0-9]{1,9})?', 'a time in s above 0')
_TRUTH = _Kind('(?i:true|yes|1|false|no|0)', 'true or false')
_TEXT = _Kind('(?s:.+)', 'a text')

_PARAMETERS = {
    REPLICAS: _NUMBER, 'db': _NUMBER,
    'socket_timeout': _TIME, 'socket_connect_timeout': _TIME, 'socket_keepalive': _TRUTH,
    'health_check_interval': _NUMBER, 'client_name': _TEXT,
    'max_connections': _Kind('[1-9][0-9]{0,8}', 'a number from 1'),
    'ssl_ca_certs': _TEXT, 'ssl_certfile': _TEXT, 'ssl_keyfile': _TEXT,
    'ssl_cert_reqs': _Kind('none|optional|required', 'none, optional or required'),
    'ssl_check_hostname': _TRUTH,
}
"""Parameters of URLs that all versions of redis-py know; those of TLS begin with `ssl_`."""

_NOT_OF_SOCKETS = ('socket_connect_timeout', 'socket_keepalive')


class Host(NamedTuple):
    """The address of one server, as in a URL."""

    name: str
    port: int

    def __str__(self) -> str:
        return f'[{self.name}]:{self.port}' if ':' in self.name else f'{self.name}:{self.port}'


class Address(NamedTuple):
    """
    The parts of a URL.

    `hosts`: of the Sentinels, or of some nodes of the cluster; () for one server. `service`: the
    name that the Sentinels give to the master. `url`: the URL of the server, or of the first of
    `hosts` as one server, without the parameters that redis-py does not know. `replicas`: number
    of replicas that must acknowledge claims.
    """

    url: str
    hosts: tuple[Host, ...] = ()
    service: str = ''
    replicas: int = 0

    @property
    def is_cluster(self) -> bool:
        return bool(self.hosts) and not self.service

    def url_of(self, host: Host) -> str:
        """Return the URL of one server, with the parameters of this one."""
        return urlsplit(self.url)._replace(netloc=str(host)).geturl()


def address(url: str) -> Address:
    """Return the parts of a URL; raises LedgerError if it can't be used or has a password."""
    parts = _split(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    if _has_login(parts, options):
        raise LedgerError(
            f'the ledger URL has a user or a password, and URLs end up in parameters and logs: '
            f'leave them out and set {USERNAME} and {PASSWORD} (or {PASSWORD_FILE}) instead')
    shown = f'{parts.scheme}://{parts.netloc}{parts.path}'  # geturl() gives unix:/PATH
    if parts.fragment:
        raise LedgerError(f"ledger URL '{shown}#…': expected %23 instead of #")
    _check_parameters(shown, parts.scheme, options)
    given = [value for name, value in options if name == REPLICAS]
    needed = int(given[-1]) if given else int('+' in parts.scheme)
    rest = urlencode([(name, value) for name, value in options if name != REPLICAS])
    if parts.scheme in SERVER_SCHEMES:
        _check_server(parts)
        if given:
            url = shown + (f'?{rest}' if rest else '')
        return Address(url, replicas=needed)
    is_cluster = parts.scheme in CLUSTER_SCHEMES
    hosts = tuple(_host(parts.scheme, text, SERVER_PORT if is_cluster else SENTINEL_PORT)
                  for text in parts.netloc.split(','))
    service = unquote(parts.path.strip('/'))
    if is_cluster and (service not in ('', '0') or any(
            name == 'db' and int(value) for name, value in options)):
        raise LedgerError(f"ledger URL '{shown}': a cluster has no databases but 0: expected "
                          f'{parts.scheme}://HOST:PORT,HOST:PORT')
    if not is_cluster and (not service or '/' in service):
        raise LedgerError(
            f"ledger URL '{shown}': the name of the service after the hosts is missing: expected "
            f'{parts.scheme}://HOST:PORT,HOST:PORT/SERVICE, as after `sentinel monitor` in the '
            'configuration of the Sentinels')
    scheme = parts.scheme.partition('+')[0]
    return Address(f'{scheme}://{hosts[0]}/' + (f'?{rest}' if rest else ''), hosts,
                   '' if is_cluster else service, needed)


def url_options(found: Address) -> dict[str, Any]:
    """Return the parameters of a URL of Sentinels or a cluster, as redis-py takes them."""
    from redis.connection import parse_url
    parse: Callable[[str], dict[str, Any]] = parse_url  # redis-py does not say it
    options = parse(found.url)
    for name in ('host', 'port'):
        options.pop(name)
    if options.pop('connection_class', None) is not None:
        options['ssl'] = True
    return options


def check_url(url: str) -> str:
    """Return `url`; raises LedgerError if it can't be used or has a password."""
    address(url)
    return url


def _split(url: str) -> SplitResult:
    """Return the parts of a URL that begins with one of SCHEMES; raises LedgerError."""
    try:
        parts = urlsplit(url)
    except ValueError:  # its text names what may be a password
        raise LedgerError(f'ledger URL: {_HOSTS}') from None
    if parts.scheme not in SCHEMES:
        raise LedgerError(f"ledger URL {parts.scheme + '://…'!r}: expected one of "
                          + ', '.join(f'{scheme}://' for scheme in SCHEMES)
                          + nearest(parts.scheme, SCHEMES))
    if not url.startswith(f'{parts.scheme}://'):
        raise LedgerError(f"ledger URL '{parts.scheme}:…': expected {parts.scheme}:// at its "
                          'beginning')
    return parts


def _has_login(parts: SplitResult, options: list[tuple[str, str]]) -> bool:
    """Return whether a URL has a user or a password, also one with characters of a URL in it."""
    where = [unquote(parts.netloc), parts.fragment]
    if parts.scheme != 'unix':  # the path of a socket may have an @
        where.append(unquote(parts.path))
    for name, value in options:
        if name.lower().endswith(('password', 'username')):
            return True
        where.append(name if _PARAMETERS.get(name) is _TEXT else name + value)
    return any('@' in text for text in where)


def _check_parameters(shown: str, scheme: str, options: list[tuple[str, str]]) -> None:
    """Raise LedgerError for a parameter that is not known or has a value of another type."""
    known = [name for name in _PARAMETERS
             if (scheme.startswith('rediss') or not name.startswith('ssl_'))
             and (scheme != 'unix' or name not in _NOT_OF_SOCKETS)]
    for name, value in options:
        if name not in known:
            raise LedgerError(f"ledger URL '{shown}': unknown parameter '{name}': expected one of "
                              + ', '.join(known) + nearest(name, known))
        kind = _PARAMETERS[name]
        if not re.fullmatch(kind.pattern, value):
            raise LedgerError(
                f"ledger URL '{shown}': {name} is '{value}', expected {kind.expected}")


def _check_server(parts: SplitResult) -> None:
    """Raise LedgerError if the address of one server is not valid."""
    if parts.scheme == 'unix':
        if not parts.path:
            raise LedgerError("ledger URL 'unix://': the path is missing: expected unix:///PATH")
        return
    try:
        parts.port  # noqa: B018
    except ValueError:
        raise LedgerError(f'ledger URL of {parts.scheme}://: {_HOSTS}') from None
    database = unquote(parts.path).strip('/')
    if database and not re.fullmatch(_NUMBER.pattern, database):
        raise LedgerError(f"ledger URL of {parts.scheme}://: the database is '{database}', "
                          f'expected {_NUMBER.expected}')


def _host(scheme: str, text: str, port: int) -> Host:
    try:
        parts = urlsplit(f'//{text}')
        if parts.hostname:
            return Host(parts.hostname, port if parts.port is None else parts.port)
    except ValueError:
        pass
    raise LedgerError(f'ledger URL of {scheme}://: {_HOSTS}') from None
