# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The connection to a real broker: passwords, last will, restarts."""

from __future__ import annotations

import json
import time

from action_lifecycle.vda5050.broker import (
    Broker,
    BrokerError,
    check_url,
    PASSWORD,
    PASSWORD_FILE,
    USERNAME,
)
from action_lifecycle.vda5050.identity import Identity
import pytest

from .fleet_manager import make_client, mqtt
from .mosquitto import Mosquitto

IDENTITY = ('uagv', 'acme', '0001')


@pytest.mark.parametrize(('url', 'expected'), [
    ('redis://host', 'expected mqtt:// or mqtts://'), ('mqt://host', "did you mean 'mqtt'?"),
    ('mqtt://me:secret@host', USERNAME), ('mqtts://host?password=secret', USERNAME),
    ('mqtt://', 'expected mqtt://HOST'), ('mqtt://host/path', 'expected mqtt://HOST'),
    ('mqtt://host:99999', 'Port'), ('mqtt://host?ca_certs=x', "unknown option 'ca_certs'"),
    ('mqtts://host?ca=x', "unknown option 'ca'")])
def test_urls_that_are_refused(url, expected):
    with pytest.raises(BrokerError) as failed:
        check_url(url)
    assert expected in str(failed.value) and 'secret' not in str(failed.value)


@pytest.mark.parametrize('url', [
    'mqtt://host', 'mqtt://10.0.0.1:1884', 'mqtts://host:8883?ca_certs=/etc/ca.pem'])
def test_urls_that_are_taken(url):
    assert check_url(url) == url


class Client:
    """A robot's connection, and what it was told."""

    def __init__(self, url):
        self.told, self.received = [], []
        self.broker = Broker(url, Identity(*IDENTITY),
                             lambda *message: self.received.append(message),
                             lambda connected, why: self.told.append((connected, why)))
        self.broker.open()


def until(done, what):
    end = time.monotonic() + 20.0
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@pytest.fixture
def listener():
    """Yield a function that returns the newest message `connection` of a broker."""
    clients = []

    def listen(server, **credentials):
        seen = []
        client = make_client('listener')
        if credentials:
            client.username_pw_set(**credentials)
        client.on_connect = lambda *_: client.subscribe('uagv/v2/acme/0001/connection', 1)
        client.on_message = lambda _, data, message: seen.append(
            (json.loads(message.payload)['connectionState'], message.retain))
        client.connect('127.0.0.1', server.port)
        client.loop_start()
        clients.append(client)
        return seen
    yield listen
    for client in clients:
        client.disconnect()
        client.loop_stop()


@pytest.fixture
def server():
    server = Mosquitto()
    yield server
    server.close()


def test_it_connects_again_after_a_restart_of_the_broker(server, listener):
    client = Client(server.url)
    until(lambda: (True, '') in client.told, 'it connects')
    server.kill()
    until(lambda: client.told[-1][0] is False, 'it notices')
    assert client.broker.publish('state', {}) is None
    server.start()
    until(lambda: client.told[-1] == (True, ''), 'it connects again')
    client.broker.publish(
        'connection', {'connectionState': 'ONLINE'}, retain=True).wait_for_publish(10.0)
    seen = listener(server)
    until(lambda: seen == [('ONLINE', True)], 'retained')
    client.broker.close()
    until(lambda: seen[-1][0] == 'OFFLINE', 'its farewell')


def test_what_was_sent_before_it_subscribed_is_told_as_retained_or_is_gone(server):
    def session(clean):
        versions = [mqtt.CallbackAPIVersion.VERSION2] if hasattr(
            mqtt, 'CallbackAPIVersion') else []
        client = mqtt.Client(*versions, client_id=f'action_lifecycle/{"/".join(IDENTITY[1:])}',
                             clean_session=clean)
        subscribed = []
        client.on_subscribe = lambda *_: subscribed.append(True)
        client.connect('127.0.0.1', server.port)
        client.loop_start()
        client.subscribe('uagv/v2/acme/0001/order', 1)
        until(lambda: subscribed, 'it is subscribed')
        client.disconnect()
        client.loop_stop()
    session(clean=False)  # an earlier robot with this name, for which the broker keeps what comes
    fleet = make_client('fleet')
    fleet.connect('127.0.0.1', server.port)
    fleet.loop_start()
    try:
        def send(topic, payload, retain=False):
            fleet.publish(f'uagv/v2/acme/0001/{topic}', payload, 1, retain).wait_for_publish(10.0)
        send('order', 'kept for the session')
        send('order', 'retained', True)
        client = Client(server.url)
        until(lambda: (True, '') in client.told, 'it connects')
        send('instantActions', 'new', True)  # not retained for who is subscribed already
        until(lambda: ('instantActions', b'new', False) in client.received, client.received)
        assert client.received == [
            ('order', b'retained', True), ('instantActions', b'new', False)]
        client.broker.close()
    finally:
        fleet.disconnect()
        fleet.loop_stop()


def test_the_password_comes_from_the_environment(monkeypatch, tmp_path, listener):
    server = Mosquitto({'robot': 'right'})
    try:
        monkeypatch.setenv(USERNAME, 'robot')
        monkeypatch.setenv(PASSWORD, 'wrong')
        wrong = Client(server.url)
        until(lambda: any('refuses' in why for _, why in wrong.told), wrong.told)
        assert not any(connected for connected, _ in wrong.told)
        wrong.broker.close()
        (tmp_path / 'password').write_text('right\n')
        monkeypatch.setenv(PASSWORD_FILE, str(tmp_path / 'password'))
        right = Client(server.url)
        until(lambda: (True, '') in right.told, right.told)
        right.broker.close()
        monkeypatch.setenv(PASSWORD_FILE, str(tmp_path / 'nothing'))
        with pytest.raises(BrokerError, match='nothing'):
            Client(server.url)
    finally:
        server.close()


def test_tls_needs_a_certificate_that_is_right():
    server = Mosquitto(tls=True)
    try:
        doubtful = Client(server.url)
        until(lambda: any('certificate' in why for _, why in doubtful.told), doubtful.told)
        doubtful.broker.close()
        sure = Client(f'{server.url}?ca_certs={server.certificate}')
        until(lambda: (True, '') in sure.told, sure.told)
        sure.broker.close()
        with pytest.raises(BrokerError, match='ca_certs'):
            Client(f'{server.url}?ca_certs=/nothing')
    finally:
        server.close()


def test_a_broker_that_is_not_there_is_named():
    client = Client('mqtt://127.0.0.1:9')
    until(lambda: any('127.0.0.1:9 can not be reached' in why for _, why in client.told),
          client.told)
    client.broker.close()
