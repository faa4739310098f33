# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes the bag of a run of the sample data, without ROS: samples, confirmations, changes."""

from __future__ import annotations

from collections.abc import Mapping
import json
from pathlib import Path
from types import TracebackType
from typing import Any

from action_lifecycle.bags import BagWriter
from action_lifecycle.journal.row import Row
from action_lifecycle.lifecycle.ports import Confirmation, ConfirmRequest, Evidence
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.sim.sensors import TOPICS
from action_lifecycle.world import WatchOutcome
from action_lifecycle.world.evidence import TruthValue, Validity
import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

ROOT = Path(__file__).resolve().parents[2]
CONFIRMATIONS = '/world_model_bridge/confirmations'
STATE_CHANGES = '/action_lifecycle/state_changes'
TYPES = {
    'joint_states': 'sensor_msgs/msg/JointState',
    'gripper/wrench': 'geometry_msgs/msg/WrenchStamped',
    **{topic: 'geometry_msgs/msg/PoseStamped' for topic in TOPICS if topic.startswith('camera/')},
    CONFIRMATIONS: 'action_lifecycle_msgs/msg/Confirmation',
    STATE_CHANGES: 'action_lifecycle_msgs/msg/ActionStateChange',
}


class Messages:
    """Serializes (CDR) objects and mappings that have the fields of a message type."""

    def __init__(self) -> None:
        self.store = get_typestore(Stores.ROS2_JAZZY)
        for path in sorted((ROOT / 'action_lifecycle_msgs/msg').glob('*.msg')):
            self.store.register(get_types_from_msg(
                path.read_text(encoding='utf-8'), f'action_lifecycle_msgs/msg/{path.stem}'))

    def definition(self, type_name: str) -> str:
        """Return the text of a type and of all types in it."""
        return self.store.generate_msgdef(type_name, ros_version=2)[0]

    def serialize(self, type_name: str, source: Any) -> bytes:
        """Return the CDR of a message."""
        return bytes(self.store.serialize_cdr(self._message(type_name, source), type_name))

    def _message(self, type_name: str, source: Any) -> Any:
        return self.store.types[type_name](**{
            name: self._value(description, source[name] if isinstance(source, Mapping)
                              else getattr(source, name))
            for name, description in self.store.fielddefs[type_name][1]})

    def _value(self, description: Any, value: Any) -> Any:
        form, content = description
        if form == Nodetype.NAME:
            return self._message(content, value)
        if form == Nodetype.BASE:
            return value
        inner, _ = content
        if inner[0] == Nodetype.BASE and inner[1][0] != 'string':
            return np.array(value, inner[1][0])
        return [self._value(inner, item) for item in value]


class RunBag:
    """The bag of one run; a context manager. All times are seconds of ROS time."""

    def __init__(self, path: Path, messages: Messages) -> None:
        self._messages = messages
        self._writer = BagWriter(path)
        self._last_seq: dict[str, int] = {}

    def __enter__(self) -> RunBag:
        self._writer.__enter__()
        for topic, type_name in TYPES.items():
            self._writer.add_topic(
                resolved(topic), type_name, self._messages.definition(type_name))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.__exit__(kind, error, trace)

    def write(self, topic: str, message: Any, now: float) -> None:
        """Write a message that arrived now."""
        self._writer.write(
            resolved(topic), self._messages.serialize(TYPES[topic], message), now)

    def confirmed(
        self, request: ConfirmRequest, started: float, ended: float, answer: Confirmation
    ) -> None:
        """Write the end of a confirmation, as the bridge publishes it."""
        self.write(CONFIRMATIONS, {
            'stamp': time_of(ended), 'started': time_of(started), 'flow_id': request.flow_id,
            'action_id': request.action_id, 'attempt': request.attempt,
            'conditions': request.conditions, 'after': time_of(request.after),
            'parameters_json': json.dumps(dict(request.parameters)),
            'verdict': int(WatchOutcome[answer.verdict.upper()]),
            'evidence': list(map(_evidence, answer.evidence)),
            'error_code': int(answer.error_code), 'error_msg': answer.error_msg}, ended)

    def changed(self, row: Row) -> None:
        """Write a change of an action, without the id of its goal, which is random."""
        data = {key: value for key, value in row.data.items() if key != 'goal_id'}
        now = row.ros_time or 0.0
        self.write(STATE_CHANGES, {
            'stamp': time_of(now), 'seq': row.seq,
            'previous_seq': self._last_seq.get(row.action_id, 0), 'flow_id': row.flow_id,
            'action_id': row.action_id, 'attempt': row.attempt, 'event': row.event,
            'from_state': row.from_state, 'to_state': row.to_state,
            'outcome': str(data.pop('outcome', '')), 'ledger_status': '', 'cause': row.cause,
            'actor': row.actor, 'error_code': int(ErrorCode[data.pop('error_code', 'NONE')]),
            'goal_id': {'uuid': [0] * 16},
            'evidence': list(map(_evidence, data.pop('evidence', ()))),
            'data_json': json.dumps(data, sort_keys=True)}, now)
        self._last_seq[row.action_id] = row.seq


def resolved(topic: str) -> str:
    """Return the name of a topic on a robot without a namespace."""
    return topic if topic.startswith('/') else f'/{topic}'


def time_of(seconds: float) -> dict[str, int]:
    """Return the fields of builtin_interfaces/Time."""
    sec, nanosec = divmod(round(max(0.0, seconds) * 1e9), 1_000_000_000)
    return {'sec': sec, 'nanosec': nanosec}


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {**evidence, 'verdict': int(TruthValue[evidence['verdict'].upper()]),
            'stamp': time_of(evidence['stamp']), 'facts': list(map(_fact, evidence['facts']))}


def _fact(fact: Mapping[str, Any]) -> dict[str, Any]:
    return {**fact, 'stamp': time_of(fact['stamp']),
            'validity': int(Validity[fact['validity'].upper()]),
            'numbers': list(map(float, fact.get('numbers', ()))),
            'value_json': json.dumps(fact['value']) if 'value' in fact else '',
            'note': fact.get('note', '')}
