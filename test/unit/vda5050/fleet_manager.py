# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A simulated fleet manager: it sends orders, and reads and checks what robots send."""

from __future__ import annotations

from collections import defaultdict
import json
import os
from pathlib import Path
import threading
import time

from action_lifecycle.vda5050.fields import faults
import jsonschema
import pytest

from .orders import HEADER, INTERFACE, line, MANUFACTURER

mqtt = pytest.importorskip('paho.mqtt.client')
SCHEMAS = os.environ.get('VDA5050_SCHEMAS', '')
"""The folder json_schemas of a checkout of the specification, 2.1; empty: there is none."""
KNOWN_GAP = 'PAUSED'  # an actionStatus of the text of 2.1 that its schema lacks


def make_client(name):
    """Return a client of paho 1 or 2; their callbacks have different arguments."""
    versions = [mqtt.CallbackAPIVersion.VERSION2] if hasattr(mqtt, 'CallbackAPIVersion') else []
    return mqtt.Client(*versions, client_id=name)


def published_faults(topic, message):
    """Return what the published schema says of a message; nothing without a checkout."""
    if not SCHEMAS:
        return []
    schema = json.loads((Path(SCHEMAS) / f'{topic}.schema').read_text())
    return [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(message)
            if KNOWN_GAP not in error.message]


class FleetManager:
    """A client of the broker; messages by robot (serial number) and topic, the newest last."""

    def __init__(self, port):
        self.messages = defaultdict(lambda: defaultdict(list))
        self.faults = []
        self.connections = 0
        self._subscribed = threading.Event()
        self._headers = 0
        self._client = make_client('fleet_manager')
        self._client.on_connect = self._connected
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.on_message = self._take
        self._client.reconnect_delay_set(1, 1)
        self._client.connect_async('127.0.0.1', port)
        self._client.loop_start()
        assert self._subscribed.wait(20.0)

    def _connected(self, client, *_):
        self.connections += 1
        client.subscribe(f'{INTERFACE}/v2/{MANUFACTURER}/#', 1)

    def _take(self, client, data, received):
        *_, robot, topic = received.topic.split('/')
        if topic in ('order', 'instantActions'):
            return
        message = json.loads(received.payload)
        self.faults += [f'{topic}: {fault}: {message}' for fault in (
            *faults(topic, message), *published_faults(topic, message))]
        if message['serialNumber'] != robot:
            self.faults.append(f'{topic}: {message["serialNumber"]} on the topic of {robot}')
        self.messages[robot][topic].append(message)

    def send(self, robot, topic, message, *, retain=False):
        """Send a message as it is: a text, or fields that get a header."""
        if isinstance(message, dict):
            self._headers += 1
            message = json.dumps(
                {**HEADER, **message, 'headerId': self._headers, 'serialNumber': robot})
        self._client.publish(f'{INTERFACE}/v2/{MANUFACTURER}/{robot}/{topic}', message, qos=1,
                             retain=retain)

    def instant(self, robot, *actions):
        self.send(robot, 'instantActions', {'actions': list(actions)})

    def last(self, robot, topic='state'):
        """Return the newest message; {} if none has come."""
        found = self.messages[robot][topic]
        return found[-1] if found else {}

    def status(self, robot, action_id):
        """Return the actionStatus of an action in the newest state; '' if it is not there."""
        return next((one['actionStatus'] for one in self.last(robot).get('actionStates', ())
                     if one['actionId'] == action_id), '')

    def errors(self, robot):
        return [one['errorType'] for one in self.last(robot).get('errors', ())]

    def is_done(self, robot, order, update=0):
        """Return whether the robot says that the order is done."""
        state = self.last(robot)
        return (state.get('orderId'), state.get('orderUpdateId')) == (order, update) \
            and not state['nodeStates'] and not state['driving'] and all(
                one['actionStatus'] in ('FINISHED', 'FAILED') for one in state['actionStates'])

    def close(self):
        self._client.disconnect()
        self._client.loop_stop()


class Journey:
    """
    One order that sends a robot along the line, a few nodes at a time, with updates.

    `stops`: the nodes up to which each message releases; `first`: where it begins; `actions` by
    node. A message that the robot does not take over is sent again, as after a restart of the
    broker.
    """

    def __init__(self, fleet, robot, order, stops, actions, first=0):
        self._fleet = fleet
        self.robot = robot
        self.order = order
        self._stops = stops
        self._actions = actions
        self._first = first
        self._sent, self._sent_at = -1, 0.0
        self.repeated = 0

    def go_on(self):
        """Send what is due; returns whether the robot has done all."""
        state = self._fleet.last(self.robot)
        taken = state.get('orderUpdateId', -1) if state.get('orderId') == self.order else -1
        last = len(self._stops) - 1
        if taken == last:
            return self._fleet.is_done(self.robot, self.order, last)
        if taken >= 0 and sum(one['released'] for one in state['nodeStates']) > 1:
            return False  # it has enough to do
        if time.monotonic() > self._sent_at + 3.0 or self._sent != taken + 1:
            self.repeated += self._sent_at > 0 and self._sent == taken + 1
            self._sent, self._sent_at = taken + 1, time.monotonic()
            first = self._first if self._sent == 0 else self._stops[self._sent - 1]
            self._fleet.send(self.robot, 'order', line(
                first, self._stops[self._sent], min(self._stops[self._sent] + 2, self._stops[-1]),
                order=self.order, update=self._sent, actions=self._actions))
        return False
