# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The names of a robot in topics, and the headers of its messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
import datetime
import re
from typing import Any

from .fields import MAJOR, VERSION

_LEVEL = re.compile(r'[^/+#$\x00-\x1f]{1,100}\Z')
_SERIAL = re.compile(r'[A-Za-z0-9_.:-]{1,100}\Z')


def level_fault(text: str) -> str:
    """Return why a string is no level of a topic; '' if it is."""
    return '' if _LEVEL.match(text) else (
        f'{text!r}: expected 1 to 100 characters without /, +, # and $')


def serial_fault(text: str) -> str:
    """Return why a string is no serial number; '' if it is."""
    return '' if _SERIAL.match(text) else (
        f'{text!r}: expected 1 to 100 letters, digits, _, ., : and -')


class Identity:
    """The names of a robot, and the version it speaks; headers are counted from 1 by topic."""

    def __init__(
        self, interface: str, manufacturer: str, serial_number: str, version: str = VERSION
    ) -> None:
        self.version = version
        self.manufacturer = manufacturer
        self.serial_number = serial_number
        self._prefix = f'{interface}/v{MAJOR}/{manufacturer}/{serial_number}/'
        self._sent: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """Return manufacturer and serial number."""
        return f'{self.manufacturer}/{self.serial_number}'

    def topic(self, name: str) -> str:
        """Return the full name of a topic."""
        return self._prefix + name

    def short(self, topic: str) -> str:
        """Return the last level of a full name."""
        return topic.removeprefix(self._prefix)

    def message(self, topic: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message with its header."""
        self._sent[topic] += 1
        now = datetime.datetime.now(datetime.timezone.utc)
        return {
            'headerId': self._sent[topic] % 2 ** 32,
            'timestamp': f'{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z',
            'version': self.version, 'manufacturer': self.manufacturer,
            'serialNumber': self.serial_number, **fields}
