# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Serializes an ActionStateChange without filling a message first.

With cold caches, which are usual as state changes are rare, this saves 0.1 ms compared with
rclpy. The format is plain CDR, little endian (OMG DDSI-RTPS 2.3, section 10): each number is
aligned to its size; a string is its length, its bytes and a NUL.
"""

from __future__ import annotations

import json
from struct import Struct
from typing import Any
import uuid

from action_lifecycle_msgs import msg

from ..journal import Row
from ..lifecycle.states import ErrorCode
from ..ros.conversions.basic import sec_nanosec
from ..ros.conversions.status import change_to, status_of

_ZEROS = bytes(16)
_head = Struct('<4siIQQ').pack  # CDR header; stamp, seq, previous_seq
_uint32 = Struct('<I').pack
_code_and_goal = Struct('<H16s').pack


def change_event(row: Row, previous_seq: int = 0) -> msg.ActionStateChange | bytes:
    """Return the event of a row for publishing; serialized unless it has evidence."""
    (seq, _, flow_id, action_id, attempt, event, from_state, to_state, cause, actor, data_json, _,
     ros_time, *_) = row
    outcome = ''
    padding = -(len(end := _text(actor, 2)) + 18) % 4
    if data_json == '{}':
        tail = _PLAIN_TAIL[padding]
    else:
        data = row.data
        if data.pop('evidence', ()):
            return change_to(row, previous_seq)
        outcome = str(data.pop('outcome', ''))
        tail = _tail(padding, data)
    return b''.join((
        _head(b'\0\1\0\0', *sec_nanosec(ros_time or 0.0), seq, previous_seq),
        _text(flow_id), _text(action_id), _uint32(attempt), _text(event), _text(from_state),
        _text(to_state), _text(outcome), _text(status_of(to_state, outcome)), _text(cause), end,
        tail))


def _tail(padding: int, data: dict[str, Any]) -> bytes:
    """Return error_code, goal_id, empty evidence and data_json, serialized."""
    goal_id = str(data.pop('goal_id', ''))
    return b''.join((
        _code_and_goal(ErrorCode[data.pop('error_code', 'NONE')],
                       uuid.UUID(goal_id).bytes if goal_id else _ZEROS),
        _ZEROS[:padding], _uint32(0), _text(json.dumps(data, sort_keys=True), 1)))


def _text(text: str, alignment: int = 4) -> bytes:
    """Serialize a string, cut at its first NUL as rclpy does, padded for the next field."""
    data = text.encode()
    if b'\0' in data:
        data = data[:data.index(b'\0')]
    size = len(data) + 1
    return _uint32(size) + data + _ZEROS[:1 + -size % alignment]


_PLAIN_TAIL = [_tail(padding, {}) for padding in range(4)]
