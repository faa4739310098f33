# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A real mosquitto on a port of its own, to be hurt by tests.

Where none is installed a test that wants one is skipped, and it is said why.
"""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

from ..fleet.redis_server import free_port

PLACES = (os.environ.get('PATH', ''), '/usr/sbin', '/usr/local/sbin')  # Debian's is in sbin
SERVER = shutil.which('mosquitto', path=os.pathsep.join(PLACES))


class Mosquitto:
    """
    A broker that keeps nothing over a restart.

    `users`: passwords by name, none: anybody. `tls`: with a certificate of its own for localhost.
    """

    def __init__(self, users=None, tls=False):
        if SERVER is None:
            pytest.skip('mosquitto is not installed (Debian, Ubuntu: apt install mosquitto)')
        self.folder = Path(tempfile.mkdtemp(prefix='al-mqtt-'))
        self.port = free_port()
        self.url = f'mqtts://localhost:{self.port}' if tls else f'mqtt://127.0.0.1:{self.port}'
        lines = [f'listener {self.port} 127.0.0.1', 'persistence false',
                 f"allow_anonymous {'false' if users else 'true'}"]
        if os.getuid() == 0:  # else it gives up root, and can't read files in folders of root
            lines.append('user root')
        if users:
            passwords = self.folder / 'passwords'
            passwords.touch(mode=0o600)
            for name, password in users.items():
                subprocess.run(['mosquitto_passwd', '-b', passwords, name, password], check=True,
                               capture_output=True)
            lines.append(f'password_file {passwords}')
        if tls:
            lines += self._make_certificate()
        (self.folder / 'mosquitto.conf').write_text('\n'.join(lines) + '\n')
        self.process = None
        self.start()

    def _make_certificate(self):
        if shutil.which('openssl') is None:
            pytest.skip('openssl is not installed')
        self.certificate, key = self.folder / 'certificate', self.folder / 'key'
        own = {name: value for name, value in os.environ.items() if name != 'LD_LIBRARY_PATH'}
        subprocess.run(
            ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj',
             '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', str(key),
             '-out', str(self.certificate)], check=True, capture_output=True, env=own)
        return [f'certfile {self.certificate}', f'keyfile {key}']

    def start(self):
        with open(self.folder / 'mosquitto.log', 'ab') as log:
            self.process = subprocess.Popen(
                [SERVER, '-c', str(self.folder / 'mosquitto.conf'), '-v'],
                stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(('127.0.0.1', self.port), 1.0).close()
                return
            except OSError:
                assert time.monotonic() < deadline and self.process.poll() is None, self.log
                time.sleep(0.02)

    @property
    def log(self):
        return (self.folder / 'mosquitto.log').read_text(errors='replace')[-4000:]

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def restart(self):
        self.kill()
        self.start()

    def close(self):
        self.kill()
        shutil.rmtree(self.folder)
