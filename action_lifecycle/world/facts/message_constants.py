# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Constants of message types, usable in conditions and facts files.

`POWER_SUPPLY_STATUS_CHARGING` is a constant of a message type that a fact is read from. If two
types have a constant of that name, put the type before it:
`BatteryState_POWER_SUPPLY_STATUS_CHARGING`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

TypeConstants = Mapping[str, Mapping[str, Any]]
"""Constants by name, by the name of their message type without its package."""


class Constants(NamedTuple):
    """The values of constants by name, and the message for each ambiguous name."""

    values: dict[str, Any]
    unclear: dict[str, str]


def collect(found: Iterable[TypeConstants]) -> Constants:
    """Merge the constants of several types; names with different values become `unclear`."""
    meanings: dict[str, dict[Any, str]] = {}
    for types in found:
        for owner, constants in types.items():
            for name, value in constants.items():
                plain = value[0] if isinstance(value, bytes) and len(value) == 1 else value
                for written in (name, f'{owner}_{name}'):
                    meanings.setdefault(written, {}).setdefault(plain, f'{owner}_{name}')
    values = {name: next(iter(found)) for name, found in meanings.items() if len(found) == 1}
    unclear = {
        name: f"'{name}' is " + ' and '.join(
            f'{value!r} ({written})' for value, written in found.items())
        + ': write the one that is meant' for name, found in meanings.items() if len(found) > 1}
    return Constants(values, unclear)
