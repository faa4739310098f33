# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Makes the messages `state` and `visualization` from the order, the facts and the safety."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from action_lifecycle_msgs.msg import SafetyState

from .fact_values import FactValues
from .order_runner import OrderRunner
from ...vda5050.errors import error, FATAL, WARNING
from ...vda5050.mapping import Mapped

CLEAR = 'action_lifecycle clear-stop, or the viewer'
"""How a person clears a stop."""


class RobotState:
    """The state of the robot as the fleet manager sees it."""

    def __init__(self, runner: OrderRunner, facts: FactValues, mapped: Mapped) -> None:
        self.safety: SafetyState | None = None
        self._runner = runner
        self._facts = facts
        self._mapped = mapped

    def message(self) -> dict[str, Any]:
        """Return the fields of a state message."""
        record, facts = self._runner.record, self._facts
        progress = record.progress
        position = self.position()
        return {
            **progress.fields(),
            # what is not known counts as the case for which others have to be careful
            'driving': not facts.is_excluded('driving') if facts.has('driving')
            else progress.is_driving,
            'paused': record.paused or self._runner.flow_paused,
            'operatingMode': 'AUTOMATIC',
            **({} if position is None else {'agvPosition': position}),
            'actionStates': [*progress.action_states(), *(one.state() for one in record.instants)],
            'batteryState': {'batteryCharge': facts.number('battery.charge') or 0.0,
                             'charging': bool(facts.value('battery.charging'))},
            # while the order is canceled, its actions end by that, which is no error
            'errors': [*record.errors, *(progress.errors() if record.canceling is None else ()),
                       *self._errors()],
            'safetyState': {'eStop': emergency_stop(self.safety),
                            'fieldViolation': not facts.is_excluded('field_violation')}}

    def position(self) -> dict[str, Any] | None:
        """Return the position of the robot; None if it is not known."""
        wanted = self._mapped.spec.state.position
        x, y, theta = (self._facts.number(f'position.{name}') for name in ('x', 'y', 'theta'))
        if wanted is None or x is None or y is None or theta is None:
            return None
        known = not any(place.startswith('position.') for place in self._facts.unknown())
        return {'x': x, 'y': y, 'theta': theta, 'mapId': wanted.map, 'positionInitialized': known}

    def start(self) -> Mapping[str, float] | None:
        """Return x, y and theta, for the check of the first node; None if not known now."""
        found = self.position()
        return found if found is not None and found['positionInitialized'] else None

    def _errors(self) -> list[dict[str, Any]]:
        found = [error('factUnknown', f'{place}: {why}', WARNING)
                 for place, why in self._facts.unknown().items()]
        found += safety_errors(self.safety)
        if self._runner.is_away:
            found.append(error('actionNodeAway', 'the action node is away; the order goes on when '
                               'it is back', FATAL))
        return found


def emergency_stop(safety: SafetyState | None) -> str:
    """Return the eStop: MANUAL if a person has to clear it, AUTOACK if it ends by itself."""
    state = SafetyState.NOT_READY if safety is None else safety.state
    return {SafetyState.READY: 'NONE', SafetyState.STOPPED: 'MANUAL'}.get(state, 'AUTOACK')


def safety_errors(safety: SafetyState | None) -> Iterator[dict[str, Any]]:
    """Yield the errors for a stop and for locked resources, with what a person has to do."""
    if safety is None:
        yield error('safetyStop', 'the action node has not said yet whether motions may run',
                    FATAL)
        return
    if safety.state != SafetyState.READY:
        why = safety.reason or 'the robot is stopped'
        if safety.state == SafetyState.STOPPED:
            why += '; latched: look at the robot, then clear the stop: ' + CLEAR
            if safety.cause:
                why += f'; it can not be cleared now: {safety.cause}'
        yield error('safetyStop', why, FATAL, {'topic': safety.topic} if safety.topic else {})
    for name in safety.locked_resources:
        yield error('resourceLocked', f"resource '{name}' is locked, because it was not seen that "
                    'its motion has stopped: look at the robot, then unlock it: ' + CLEAR, WARNING,
                    {'resource': name})
