# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The server of the viewer beside other threads, and the verb `view`."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

from action_lifecycle.cli import main
from action_lifecycle.journal import Journal
from action_lifecycle.viewer.server import Server, ServerError, Tls
import pytest

httpx = pytest.importorskip('httpx')
starlette = pytest.importorskip('starlette.applications')
pytest.importorskip('uvicorn')


def app(**given: Any) -> Any:
    from starlette.responses import PlainTextResponse
    found = starlette.Starlette(**given)

    async def hello(_: Any) -> Any:
        return PlainTextResponse('hello')
    found.add_route('/', hello)
    return found


def test_it_runs_in_a_thread_and_leaves_the_port_free() -> None:
    server = Server(app(), port=0)
    server.start()
    port = server.port
    try:
        assert httpx.get(server.address).text == 'hello'
        called = threading.Event()
        assert server.loop is not None
        server.loop.call_soon_threadsafe(called.set)
        assert called.wait(5.0)
        with pytest.raises(ServerError, match=rf"can't use port {port} at '127.0.0.1': .* --port"):
            Server(app(), port=port)
    finally:
        server.stop()
        server.stop()
    Server(app(), port=port).stop()


def test_an_app_that_does_not_start_is_an_error() -> None:
    class Fails:
        async def __aenter__(self) -> None:
            raise RuntimeError('no')

        async def __aexit__(self, *_: object) -> None: ...

    server = Server(app(lifespan=lambda _: Fails()), port=0)
    with pytest.raises(ServerError, match='did not start'):
        server.start()
    server.stop()


@pytest.mark.parametrize('host', ['no.such.host.invalid', '203.0.113.7', '127.0.0.1.1'])
def test_an_address_that_is_not_of_this_machine_is_named(host: str) -> None:
    with pytest.raises(ServerError, match=f"at '{host}'"):
        Server(app(), host, 0)


def test_a_certificate_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / 'certificate.pem'
    for text in (None, 'nonsense'):
        if text:
            path.write_text(text)
        with pytest.raises(ServerError, match=f'certificate {path}'):
            Server(app(), port=0, tls=Tls(str(path), str(path)))


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / 'journal'
    Journal(path).close()
    return path


def test_view_says_what_is_wrong(
    tmp_path: Path, journal: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv('ACTION_LIFECYCLE_WEB_TOKEN', raising=False)
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    text = tmp_path / 'text'
    text.write_text('no journal\n' * 100)
    for arguments, code, words in (
            ([], 3, f'{tmp_path}/action_lifecycle/robot.journal: there is no journal at this '
             f'path: there is no folder {tmp_path}/action_lifecycle'),
            ([str(tmp_path / 'none')], 3, 'none: there is no journal at this path'),
            ([str(text)], 2, str(text)),
            ([str(journal), '--host', '0.0.0.0'], 2, 'a token is needed'),
            ([str(journal), '--token-file', str(text)], 2, 'chmod 600')):
        assert main(['view', *arguments]) == code
        assert words in capsys.readouterr().err


def test_view_serves_until_ctrl_c(journal: Path) -> None:
    pytest.importorskip('nicegui')
    command = [sys.executable, '-c', 'import sys\nfrom action_lifecycle.cli import main\n'
               'sys.exit(main())', 'view', str(journal)]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    process = subprocess.Popen([*command, '--port', '0'], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.STDOUT, env=environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split()[1]
        assert line == f'{journal}: {address} (Ctrl-C ends it)\n'
        assert 'Read-only' in httpx.get(address).text
        port = address.rstrip('/').rpartition(':')[2]
        other = subprocess.run([*command, '--port', port], capture_output=True, text=True,
                               env=environment, timeout=60)
        assert other.returncode == 2 and f"can't use port {port}" in other.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(15.0) == 0
        assert process.stdout.read() == ''
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(('127.0.0.1', int(port)))
    finally:
        process.kill()
        process.wait()
