# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Attacks on a viewer that runs, with real HTTP and WebSocket clients."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
import time
from types import SimpleNamespace
from typing import Any

import pytest

from .served import Page, run, Served, served, Socket, TOKEN

httpx = pytest.importorskip('httpx')
pytest.importorskip('nicegui')
pytest.importorskip('aiohttp')
NotConnected = pytest.importorskip('socketio').exceptions.ConnectionError

HOSTILE = '"><img src=x onerror=alert(1)>${alert(1)}`]]>\u202e</script><script>alert(2)</script>'


@pytest.fixture(scope='module')
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run a viewer on the loopback address, with a token."""
    folder = tmp_path_factory.mktemp('private')
    with served(folder, str(folder / 'journal'), '127.0.0.1', '0') as viewer:
        yield viewer


@pytest.fixture(scope='module')
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run a viewer that other machines can reach."""
    folder = tmp_path_factory.mktemp('public')
    with served(folder, str(folder / 'journal'), '0.0.0.0', '0', 'robot.example') as viewer:
        yield viewer


@pytest.fixture
def client(private: Served) -> Iterator[Any]:
    with httpx.Client(base_url=private.address, timeout=10.0) as client:
        yield client


@pytest.fixture(scope='module')
def cookie(private: Served) -> str:
    """Return the Cookie header of a person who signed in."""
    with httpx.Client(base_url=private.address) as client:
        assert private.sign_in(client).status_code == 303
        return '; '.join(f'{name}={value}' for name, value in client.cookies.items())


def same(viewer: Served, cookie: str = '') -> dict[str, str]:
    return {'Origin': viewer.address, **({'Cookie': cookie} if cookie else {})}


def page(viewer: Served, path: str = '/order', cookie: str = '') -> Page:
    answer = httpx.get(viewer.address + path, headers={'Cookie': cookie} if cookie else {})
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


@pytest.mark.parametrize('host', [
    'evil.example', '127.0.0.1.evil.example', '', 'localhost.evil.example:80', '10.0.0.1',
    'user@localhost', '<b>'])
def test_a_page_is_not_served_by_a_name_that_dns_could_rebind(
    private: Served, client: Any, host: str,
) -> None:
    for path in ('/', '/sign-in', '/_nicegui/x/static/nicegui.js', '/viewer/shell.js'):
        answer = client.get(path, headers={'Host': host})
        assert answer.status_code == 403 and 'set-cookie' not in answer.headers
        assert len(answer.text) < 300 and '<b>' not in answer.text


def test_two_host_headers_are_refused(private: Served) -> None:
    async def ask() -> bytes:
        reader, writer = await asyncio.open_connection(*private.host.split(':'))
        writer.write(b'GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n'
                     b'Connection: close\r\n\r\n')
        answer = await reader.read()
        writer.close()
        return answer
    assert run(ask()).split()[1] in (b'400', b'403')


@pytest.mark.parametrize('origin', [
    'http://evil.example', 'null', 'https://localhost:1', '', 'http://localhost.evil.example'])
def test_a_form_of_another_page_is_refused(private: Served, client: Any, origin: str) -> None:
    for path in ('/sign-in', '/sign-out'):
        answer = client.post(path, data={'actor': 'a', 'token': TOKEN}, headers={'Origin': origin})
        assert answer.status_code == 403 and 'set-cookie' not in answer.headers
    assert client.post('/sign-in', data={'token': TOKEN}).status_code == 403  # without Origin


def test_the_form_needs_its_own_token(private: Served, client: Any) -> None:
    assert private.sign_in(client, form='0' * 64).status_code == 403
    client.cookies.clear()
    answer = client.post('/sign-in', data={'actor': 'anna', 'token': TOKEN, 'form': ''},
                         headers={'Origin': private.address})
    assert answer.status_code == 403 and 'out of date' in answer.text
    assert private.sign_in(client).status_code == 303


def test_a_session_cookie_is_for_this_server_only(private: Served, client: Any) -> None:
    answer = private.sign_in(client)
    cookie = next(value for value in answer.headers.get_list('set-cookie') if 'session' in value)
    assert 'HttpOnly' in cookie and 'SameSite=strict' in cookie and 'Domain' not in cookie
    assert TOKEN not in cookie and TOKEN not in answer.headers['location']


@pytest.mark.parametrize('place', [
    '//evil.example', 'https://evil.example', '/\\evil.example', 'evil', '/sign-out', '/%0d%0aX:1',
    '/\r\nSet-Cookie: a=b', '/\t/evil.example'])
def test_sign_in_leads_nowhere_else(private: Served, client: Any, place: str) -> None:
    found = private.sign_in(client, next=place).headers
    assert found['location'] in ('/', '/%0d%0aX:1')
    assert 'x' not in found and 'a=b' not in str(found)


def test_headers_of_pages(private: Served, client: Any) -> None:
    for path in ('/', '/timeline', '/now', '/runs', '/sign-in', '/none'):
        headers = client.get(path).headers
        policy = headers['content-security-policy']
        script = policy.split('script-src')[1].split(';')[0]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert 'unsafe-inline' not in script and "'nonce-" in script and '*' not in policy
        assert headers['x-frame-options'] == 'DENY' and headers['cache-control'] == 'no-store'
        assert headers['x-content-type-options'] == 'nosniff' and 'server' not in headers
        assert 'access-control-allow-origin' not in headers
    first, second = (client.get('/').headers['content-security-policy'] for _ in '12')
    assert first != second


def test_each_script_of_a_page_has_the_nonce(client: Any) -> None:
    answer = client.get('/')
    nonce = answer.headers['content-security-policy'].split("'nonce-")[1].split("'")[0]
    scripts = answer.text.split('<script')[1:]
    assert len(scripts) > 3
    for script in scripts:
        tag = script.split('>')[0]
        assert f'nonce="{nonce}"' in tag or 'src="/viewer/' in tag


@pytest.mark.parametrize('path', [
    '/viewer/../../setup.py', '/viewer/%2e%2e/%2e%2e/access.py', '/viewer/..%2faccess.py',
    '/_nicegui/{version}/static/../nicegui.py', '/_nicegui/{version}/static/%2e%2e/nicegui.py',
    '/_nicegui/{version}/static/..%2f..%2fnicegui%2fnicegui.py',
    '/_nicegui/{version}/static//etc/passwd',
    '/_nicegui/{version}/resources/x/../../../etc/passwd',
    '/_nicegui/auto/static/../../../etc/passwd', '/viewer/shell.css/../access.py'])
def test_no_other_file_is_served(private: Served, path: str) -> None:
    import nicegui

    async def ask() -> bytes:  # as it is: a client would tidy the path up
        reader, writer = await asyncio.open_connection(*private.host.split(':'))
        writer.write(f'GET {path.format(version=nicegui.__version__)} HTTP/1.1\r\n'
                     f'Host: localhost\r\nConnection: close\r\n\r\n'.encode())
        answer = await reader.read()
        writer.close()
        return answer
    answer = run(ask())
    assert answer.split()[1] in (b'404', b'403', b'401')
    assert b'SPDX' not in answer and b'root:' not in answer and b'import asyncio' not in answer


@pytest.mark.parametrize('path', ['/', '/timeline', '/now', '/runs'])
def test_hostile_names_in_the_address_stay_text(client: Any, path: str) -> None:
    for name in ('robot', 'flow', 'pick', 'at', 'other'):
        answer = client.get(path, params={name: HOSTILE})
        assert answer.status_code == 200
        assert '<img' not in answer.text and 'alert(2)</script>' not in answer.text
    assert client.get(path, params={'at': '9' * 5000}).status_code == 200
    form = client.get('/sign-in', params={'next': '/' + HOSTILE}).text
    assert '<img' not in form and '<script' not in form


@pytest.mark.parametrize('headers', [
    {'Origin': 'http://evil.example'}, {'Origin': 'null'}, {},
    {'Origin': 'http://evil.example', 'Host': 'evil.example'}])
def test_the_socket_of_another_page_is_refused(private: Served, headers: dict[str, str]) -> None:
    async def attempt() -> None:
        async with Socket(private, page(private), headers):
            pass
    with pytest.raises(NotConnected):
        run(attempt())


def test_there_is_no_transport_but_the_websocket(private: Served, client: Any) -> None:
    for method in ('GET', 'POST'):
        answer = client.request(method, '/_nicegui_ws/socket.io/?EIO=4&transport=polling',
                                headers={'Origin': private.address})
        assert answer.status_code == 400
        assert 'access-control-allow-origin' not in answer.headers


def test_an_order_without_a_session_is_not_sent(private: Served) -> None:
    async def attempt(cookie: str) -> None:
        got = page(private, cookie=cookie)
        assert 'allowed: False' in got.text
        async with Socket(private, got, same(private, cookie)) as socket:
            await socket.send('event', got.click('Pause'))
            await socket.until('sign in to give orders'.capitalize())
    before = private.orders()
    forged = private.sign_in(httpx.Client(base_url=private.address)).headers['set-cookie']
    name, _, value = forged.partition(';')[0].partition('=')
    for cookie in ('', f'{name}=WyJhIiwiYW5uYSJd.aaaaaa.AAAAAAAA', f'{name}={value[:-8]}AAAAAAAA',
                   f'{name}=', f'{name}; {name}=x', 'a=b; ;=;;' * 50):
        run(attempt(cookie))
    assert private.orders() == before


def test_an_order_of_a_session_has_its_name(private: Served, cookie: str) -> None:
    async def order() -> None:
        got = page(private, cookie=cookie)
        async with Socket(private, got, same(private, cookie)) as socket:
            await socket.send('event', got.click('Pause'))
            await socket.until('Done: pause pick: <b>done</b>')
    before = private.orders()
    run(order())
    assert private.orders() == [*before, ['pause', 'pick', '', 'anna']]


def test_a_socket_does_not_speak_for_the_page_of_another(private: Served, cookie: str) -> None:
    async def attempt() -> None:
        theirs, mine = page(private, cookie=cookie), page(private)
        async with Socket(private, theirs, same(private, cookie)) as owner, \
                Socket(private, mine, same(private)) as forger:
            await forger.send('event', theirs.click('Pause'))
            await forger.send('handshake', {**theirs.query, 'tab_id': 'tab', 'document_id': 'd'})
            await forger.send('event', theirs.click('Pause'))
            await forger.send('event', mine.click('Pause'))  # it is read after those
            await forger.until('Not sent')
            await owner.send('event', theirs.click('Pause'))
            await owner.until('Done')
        with pytest.raises(NotConnected):  # with the id of their client, but no cookie
            async with Socket(private, theirs, same(private)):
                pass
    before = private.orders()
    run(attempt())
    assert len(private.orders()) == len(before) + 1


def test_a_page_that_is_open_orders_nothing_after_sign_out(private: Served) -> None:
    async def attempt() -> None:
        with httpx.Client(base_url=private.address) as client:
            private.sign_in(client, 'bert')
            cookie = '; '.join(f'{name}={value}' for name, value in client.cookies.items())
            got = page(private, cookie=cookie)
            async with Socket(private, got, same(private, cookie)) as socket:
                await asyncio.to_thread(client.post, '/sign-out',
                                        headers={'Origin': private.address})
                await socket.send('event', got.click('Pause'))
                await socket.until('Not sent')
    run(attempt())
    assert 'bert' not in str(private.orders())


@pytest.mark.parametrize('message', [
    None, 5, 'x', [], {}, {'client_id': 7}, {'client_id': []}, {'id': 'x'}, {'id': 2 ** 60},
    {'id': 1, 'args': [{}]}, {'id': 1, 'args': ['{'], 'listener_id': 'x'}, {'level': 'x'}])
def test_messages_that_make_no_sense_are_dropped(private: Served, message: Any) -> None:
    async def attempt() -> None:
        got = page(private)
        async with Socket(private, got, same(private)) as socket:
            full = {'client_id': got.client_id, **message} \
                if isinstance(message, dict) else message
            for event in ('event', 'javascript_response', 'ack', 'log', 'handshake', 'nothing'):
                await socket.send(event, full)
            await socket.send('event', got.click('Pause'))
            await socket.until('Not sent')
    run(attempt())
    assert 'Traceback' not in private.text


def test_others_see_nothing_without_a_session(public: Served) -> None:
    with httpx.Client(base_url=public.address) as client:
        for path in ('/', '/timeline?flow=a&at=4', '/now', '/runs', '/order', '/none'):
            answer = client.get(path)
            assert answer.status_code == 303
            assert answer.headers['location'].startswith('/sign-in?next=%2F') \
                or answer.headers['location'].startswith('/sign-in?next=/')
        assert client.get('/_nicegui/auto/static/x').status_code == 401
        assert client.get('/viewer/shell.js').status_code == 303
        answer = public.sign_in(client, next='/timeline?flow=a&at=4')
        assert answer.headers['location'] == '/timeline?flow=a&at=4'
        assert client.get('/timeline?flow=a&at=4').status_code == 200
        assert client.get('/', headers={'Host': 'robot.example'}).status_code == 200
        assert client.get('/', headers={'Host': 'evil.example'}).status_code == 403
        theirs = Page(client.get('/order').text)

    async def attempt() -> None:
        async with Socket(public, theirs, same(public)):
            pass
    with pytest.raises(NotConnected):
        run(attempt())


def test_brute_force_is_stopped(public: Served) -> None:
    with httpx.Client(base_url=public.address) as client:
        found = [public.sign_in(client, token=f'wrong-wrong-wrong-{number}').status_code
                 for number in range(8)]
        assert found == [403] * 5 + [429] * 3
        client.headers['X-Forwarded-For'] = '10.1.2.3'  # anybody can write that
        answer = public.sign_in(client)
        assert answer.status_code == 429 and 1 <= int(answer.headers['retry-after']) <= 61
    assert TOKEN not in public.text and 'wrong-wrong' not in public.text


def test_a_large_form_is_not_read(private: Served, client: Any) -> None:
    before = time.monotonic()
    answer = client.post('/sign-in', headers={'Origin': private.address},
                         content=(b'x' * 65536 for _ in range(100)))
    assert answer.status_code == 413 and time.monotonic() - before < 5.0


def test_the_token_is_in_no_log(private: Served, cookie: str) -> None:
    assert TOKEN not in private.text
    assert "'anna' signed in" in private.text
    assert 'GET /' not in private.text


def test_a_page_to_which_no_browser_connects_is_freed(private: Served) -> None:
    async def load() -> None:
        shown = page(private)
        async with Socket(private, shown, same(private)) as socket:
            pages = [page(private) for _ in range(6)]
            for one in pages:  # to connect to one keeps it
                await asyncio.sleep(4.0)
                try:
                    async with Socket(private, one, same(private)):
                        pass
                except NotConnected:
                    break
            else:
                raise AssertionError('no page was freed')  # NiceGUI keeps it for a minute
            await socket.send('event', shown.click('Pause'))
            await socket.until('Not sent')
    asyncio.run(asyncio.wait_for(load(), 100.0))


def test_of_many_pages_without_a_socket_the_oldest_are_freed_first() -> None:
    from action_lifecycle.viewer import sockets

    def made(age: float, **storage: bool) -> Any:
        return SimpleNamespace(created=100.0 - age, storage=storage)

    def unused(*pages: Any) -> list[float]:
        return [100.0 - one.created for one in sockets._unused(pages, 100.0)]
    connected = made(50.0, **{sockets._CONNECTED: True})
    assert unused(connected, made(sockets.TO_CONNECT), made(11.0)) == [11.0]
    many = [made(1.0)] * (sockets.MANY - 1)
    assert unused(*many, made(9.0)) == []
    assert unused(*many, made(8.0), connected, made(9.0)) == [9.0]
    assert unused(*many, made(1.0), made(1.5)) == []
