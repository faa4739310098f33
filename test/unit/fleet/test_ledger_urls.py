# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""URLs of ledgers that can't be used are refused in one sentence that never has a password."""

from __future__ import annotations

from action_lifecycle.cli import main
from action_lifecycle.fleet import LedgerError
from action_lifecycle.fleet.backends.redis.connection import (
    close_blocking,
    connect_blocking,
    PASSWORD,
)
from action_lifecycle.fleet.ledger import check_url
import pytest

SECRET = [
    'redis://h/0?pass%77ord=secret', 'redis://h/0?PASSWORD=secret', 'redis://h?username=secret',
    'rediss://h?ssl_password=secret', 'redis://user:secret%40h/0', 'redis://u:/secret@h/0',
    'redis://u:#secret@h/0', 'redis://u:?secret@h/0', 'redis://h/0?db=secret@h',
    'redis+sentinel://u:secret@h/svc', 'redis+cluster://u:secret%40h',
]
BAD = [
    ('redis://h:abc/0', 'expected HOST, HOST:PORT or'),
    ('redis://user:secret/0', 'expected HOST, HOST:PORT or'),
    ('redis://h:99999/0', 'with a port from 0 to 65535'),
    ('redis://[::1/0', r'\[IPV6\]:PORT'),
    ('redis+sentinel://[::1/svc', r'\[IPV6\]:PORT'),
    ('redis+sentinel://h:abc/svc', 'expected HOST, HOST:PORT or'),
    ('redis+cluster://h:1,u:secret', 'expected HOST, HOST:PORT or'),
    ('redis://h/abc', "the database is 'abc', expected a number from 0"),
    ('redis://h/0?db=x', "db is 'x', expected a number from 0"),
    ('redis://h/0?socket_timeout=abc', "socket_timeout is 'abc', expected a time in s above 0"),
    ('redis://h/0?socket_timeout=nan', 'expected a time in s above 0'),
    ('redis://h/0?socket_keepalive=maybe', 'expected true or false'),
    ('redis+cluster://h:1?db=x', "db is 'x', expected a number from 0"),
    ('redis+cluster://h:1?db=1', 'a cluster has no databases but 0'),
    ('redis+cluster://h:1?max_connections=abc', "max_connections is 'abc', expected a number"),
    ('redis://h?replicas=99999999999999999999', 'replicas is .*, expected a number from 0'),
    ('rediss://h?ssl_cert_reqs=bogus', 'expected none, optional or required'),
    ('redis://h/0?foo=bar', "unknown parameter 'foo': expected one of replicas, db, "),
    ('redis://h/0?socket_timeot=1', "did you mean 'socket_timeout'"),
    ('redis+sentinel://h:1/svc?foo=1', "unknown parameter 'foo'"),
    ('redis://h?ssl_ca_certs=/ca.pem', "unknown parameter 'ssl_ca_certs'"),
    ('unix:///s?socket_keepalive=1', "unknown parameter 'socket_keepalive'"),
    ('unix:///s?db=x', "'unix:///s': db is 'x'"),
    ('unix://', 'expected unix:///PATH'),
    ('redis:user:secret@h/0', 'expected redis:// at its beginning'),
    ('REDIS://h/0', 'expected redis:// at its beginning'),
    ('redis://h/0#secret', 'expected %23 instead of #'),
    ('memory://x?password=secret', 'expected memory://NAME'),
    ('memory:secret', 'expected memory://NAME'),
    *((url, f'user or a password.*{PASSWORD}') for url in SECRET),
]


@pytest.mark.parametrize('url, said', BAD)
def test_bad_url_is_refused_without_what_may_be_a_password(url, said):
    with pytest.raises(LedgerError, match=said) as caught:
        check_url(url)
    assert 'secret' not in str(caught.value)


@pytest.mark.parametrize('url', [
    'redis://localhost', 'redis://[::1]:6379/0', 'redis://h/3?db=4',
    'rediss://h:1/0?socket_timeout=0.5&socket_connect_timeout=2&socket_keepalive=yes'
    '&health_check_interval=9&client_name=a%40b'
    '&max_connections=4&ssl_check_hostname=false&ssl_cert_reqs=none&ssl_ca_certs=/a%40b&'
    'ssl_certfile=/c&ssl_keyfile=/k&replicas=1',
    'unix:///tmp/a@b?db=1&socket_timeout=1&health_check_interval=0&client_name=a'
    '&max_connections=1', 'unix:///tmp/a?replicas=1',
    'redis+sentinel://h,[::1]:2/svc?db=1&socket_keepalive=0&max_connections=4&client_name=x',
    'rediss+sentinel://h/svc?ssl_ca_certs=/a', 'redis+cluster://h:1,h:2/0?db=0&socket_timeout=1'])
def test_parameters_that_are_known_are_accepted_by_redis_py(url):
    assert check_url(url) == url
    client = connect_blocking(url)
    if hasattr(client, 'connection_pool'):  # a client of a cluster connects as soon as it is made
        client.connection_pool.make_connection()
    close_blocking(client)


@pytest.mark.parametrize('url', [
    'redis://[::1/0', 'redis://h/0?pass%77ord=secret', 'redis:user:secret@h/0',
    'redis+cluster://h:1?max_connections=abc'])
@pytest.mark.parametrize('command', [
    ('ledger', 'rebuild', 'journal', '--robot', 'robot'), ('fleet',)])
def test_commands_refuse_a_bad_url_in_one_line(capsys, command, url):
    assert main([*command, '--url', url]) == 2
    told = capsys.readouterr()
    assert 'ledger URL' in told.err and told.err.count('\n') == 1
    assert 'secret' not in told.out + told.err and 'Traceback' not in told.err
