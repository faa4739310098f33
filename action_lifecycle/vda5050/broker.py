# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The connection to the MQTT broker, in a thread of its own, which connects again by itself.

User and password come from the environment variables ACTION_VDA5050_MQTT_USERNAME and
ACTION_VDA5050_MQTT_PASSWORD, or from the file named by ACTION_VDA5050_MQTT_PASSWORD_FILE, since
URLs are visible in parameters and logs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import contextlib
import importlib
import json
import os
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .identity import Identity
from ..documents.errors import LifecycleError
from ..documents.input_file import read_text
from ..documents.suggestions import nearest

SCHEMES = {'mqtt': 1883, 'mqtts': 8883}
"""The schemes of URLs, with their default ports."""
USERNAME = 'ACTION_VDA5050_MQTT_USERNAME'
PASSWORD = 'ACTION_VDA5050_MQTT_PASSWORD'
PASSWORD_FILE = 'ACTION_VDA5050_MQTT_PASSWORD_FILE'
KEEPALIVE = 15
"""Period (s) of the heartbeat with the broker, as the specification suggests."""
FIRST_DELAY, LAST_DELAY = 1, 10
"""Delays (s) between two tries to connect: the first one, doubled up to the last one."""
FAREWELL = 1.0
"""Maximum time (s) until the broker has the message that this robot goes offline."""
MAX_MESSAGE = 1024 * 1024
"""Maximum size of a message, in bytes."""
READ = ('order', 'instantActions')
_OPTIONS = ('ca_certs',)


class BrokerError(LifecycleError):
    """The broker can't be used as it is configured."""


def check_url(url: str) -> str:
    """Return `url`; raises BrokerError if it has a password or is not that of a broker."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise BrokerError(f"broker URL {parts.scheme + '://…'!r}: expected "
                          + ' or '.join(f'{scheme}://' for scheme in SCHEMES)
                          + nearest(parts.scheme, SCHEMES))
    if '@' in parts.netloc or 'password' in parts.query.lower():
        raise BrokerError(
            'the broker URL has a user or a password, and URLs end up in parameters and logs: '
            f'leave them out and set {USERNAME} and {PASSWORD} (or {PASSWORD_FILE}) instead')
    try:
        port = parts.port
    except ValueError as error:
        raise BrokerError(f'broker URL: {error}') from error
    if not parts.hostname or parts.path.strip('/') or port == 0:
        raise BrokerError(f'broker URL: expected {parts.scheme}://HOST or '
                          f'{parts.scheme}://HOST:PORT')
    for name in parse_qs(parts.query):
        if name not in _OPTIONS or parts.scheme != 'mqtts':
            raise BrokerError(f"broker URL: unknown option '{name}' (known: ca_certs of mqtts://)")
    return url


class Broker:
    """
    A client of the broker of a fleet.

    `received(topic, payload, retained)` and `connected(is_connected, why)` are called in the
    network thread; `topic` is the last level, `retained`: the broker had the message from before
    the robot subscribed. What is sent while the robot is not connected does not come later. It
    counts as connected when it is subscribed, so that an order that answers the first message of
    the robot is not lost. Raises BrokerError.
    """

    def __init__(
        self, url: str, identity: Identity, received: Callable[[str, bytes, bool], None],
        connected: Callable[[bool, str], None],
    ) -> None:
        try:
            mqtt = importlib.import_module('paho.mqtt.client')  # here: few robots need it
        except ImportError as error:
            raise BrokerError('the node needs paho-mqtt: apt install python3-paho-mqtt, or '
                              "pip install 'action_lifecycle[vda5050]'") from error
        self._words: Callable[[Any], str] = lambda code: str(
            mqtt.connack_string(code) if isinstance(code, int) else code)
        parts = urlsplit(check_url(url))
        self._identity = identity
        self._received = received
        self._connected = connected
        self._is_connected = False
        self._last_word = json.dumps(identity.message(
            'connection', {'connectionState': 'CONNECTIONBROKEN'}))
        name = f'action_lifecycle/{identity.name}'
        # paho 1 (of Ubuntu 24.04) has neither these versions nor their further arguments
        versions = [mqtt.CallbackAPIVersion.VERSION2] if hasattr(
            mqtt, 'CallbackAPIVersion') else []
        # clean: nothing that an earlier session was sent while the robot was off
        self._client: Any = mqtt.Client(*versions, client_id=name, clean_session=True)
        client = self._client
        client.on_connect, client.on_subscribe = self._on_connect, self._on_subscribe
        client.on_disconnect, client.on_message = self._on_disconnect, self._on_message
        host, port = parts.hostname or '', parts.port or SCHEMES[parts.scheme]
        doubt = ', or its certificate is not valid' if parts.scheme == 'mqtts' else ''
        client.on_connect_fail = lambda *_: connected(
            False, f'the broker {host}:{port} can not be reached{doubt}')
        client.will_set(identity.topic('connection'), self._last_word, qos=1, retain=True)
        client.reconnect_delay_set(FIRST_DELAY, LAST_DELAY)
        if username := os.environ.get(USERNAME, ''):
            client.username_pw_set(username, _password())
        if parts.scheme == 'mqtts':
            try:
                client.tls_set(ca_certs=parse_qs(parts.query).get('ca_certs', [None])[0])
            except OSError as error:
                raise BrokerError(f'broker URL: ca_certs: {error}') from error
        client.connect_async(host, port, KEEPALIVE)

    def open(self) -> None:  # noqa: A003
        """Connect, and stay connected."""
        self._client.loop_start()

    def close(self) -> None:
        """Say that the robot goes offline, and disconnect."""
        farewell = self.publish('connection', {'connectionState': 'OFFLINE'}, retain=True)
        if farewell is not None:
            with contextlib.suppress(ValueError, RuntimeError):  # it is not connected
                farewell.wait_for_publish(FAREWELL)
        self._client.disconnect()
        self._client.loop_stop()

    def publish(self, topic: str, fields: Mapping[str, Any], *, retain: bool = False) -> Any:
        """Send a message, if connected; `connection` with QoS 1, others with QoS 0."""
        if not self._is_connected:
            return None
        return self._client.publish(
            self._identity.topic(topic), json.dumps(self._identity.message(topic, fields)),
            qos=int(topic == 'connection'), retain=retain)

    def _on_connect(self, client: Any, data: Any, flags: Any, code: Any, *more: Any) -> None:
        if _has_failed(code):
            self._connected(False, f'the broker refuses the connection: {self._words(code)}')
            return
        client.subscribe([(self._identity.topic(name), 1) for name in READ])

    def _on_subscribe(
        self, client: Any, data: Any, number: Any, granted: Any, *more: Any
    ) -> None:
        if any(_has_failed(code, 128) for code in granted):
            self._connected(False, 'the broker refuses the topics of this robot')
        else:
            self._is_connected = True
            self._connected(True, '')

    def _on_disconnect(self, client: Any, data: Any, *details: Any) -> None:
        self._is_connected = False
        code = details[min(1, len(details) - 1)]
        self._connected(False, 'the connection to the broker is lost' if _has_failed(code) else '')

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        self._received(self._identity.short(message.topic), bytes(message.payload),
                       bool(message.retain))


def _has_failed(code: Any, least: int = 1) -> bool:
    """Return whether a code of paho is an error; `least`: the smallest one that is, in paho 1."""
    return bool(getattr(code, 'is_failure', isinstance(code, int) and code >= least))


def _password() -> str | None:
    name = os.environ.get(PASSWORD_FILE, '')
    if not name:
        return os.environ.get(PASSWORD)
    try:
        return read_text(name).strip()
    except OSError as error:
        raise BrokerError(f'{PASSWORD_FILE}: {error}') from error
