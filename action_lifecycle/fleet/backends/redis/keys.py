# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The names of all keys in Redis.

Keys that one script changes together have the same hash tag, `{…}`, so that they are in one slot
of a cluster: the keys of a robot, of a session, and in a cluster those of an operation.
docs/ledger.md lists them.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote

from ...stream_names import checked_stream, has_tag


def _tag(name: str) -> str:
    """Return a hash tag; special characters are escaped."""
    return '{' + quote(name, safe=' /.-_~') + '}'


def robot_events(robot: str) -> str:
    """Return the stream of a robot's journal rows; the entry of row n has the id n-0."""
    return f'al:{_tag(robot)}:events'


def robot_meta(robot: str) -> str:
    """Return the hash with the robot's cursor (seq, hash) and who wrote it (host, journal)."""
    return f'al:{_tag(robot)}:meta'


def robot_pattern(robot: str) -> str:
    """Return the pattern (of SCAN) of all keys of a robot."""
    return f'al:{_tag(robot)}:*'


def robot_open(robot: str) -> str:
    """Return the sorted set of the keys of all open subjects, by the row that opened them."""
    return f'al:{_tag(robot)}:open'


def robot_status(robot: str) -> str:
    """Return the hash with the last report of a robot; its lifetime starts at each report."""
    return f'al:{_tag(robot)}:status'


ROBOTS = 'al:robots'
"""The set of the names of all robots that have reported."""


def robot_subject(robot: str, kind: str, flow_id: str, action_id: str) -> str:
    """Return the hash with the last row of an action, a flow or another subject."""
    name = ':'.join(quote(part, safe=' /') for part in (kind, flow_id, action_id))
    return f'al:{_tag(robot)}:{name}'


def session_lease(session: str, task_id: str) -> str:
    """Return the hash with the claim of a task."""
    return f'al:session:{_tag(session)}:lease:{quote(task_id, safe=" /")}'


def session_tasks(session: str) -> str:
    """Return the hash with the tasks of a session, each a JSON list (status, reason, time)."""
    return f'al:session:{_tag(session)}:tasks'


def session_history(session: str) -> str:
    """Return the stream with the history of the tasks of a session."""
    return f'al:session:{_tag(session)}:history'


class OperationKeys(NamedTuple):
    """The keys of an operation: two hashes and a string."""

    trace: str  #: state and metadata
    checkpoint: str
    result: str


def operation_keys(trace_id: str, tagged: bool) -> OperationKeys:
    """Return the keys of an operation; `tagged`: with a hash tag, so that they are in one slot."""
    name = trace_id
    if tagged:  # a tag that is empty counts as none
        begin = quote(trace_id[:1], safe='') if trace_id.startswith(('}', '%')) else trace_id[:1]
        name = f'{{{begin}{trace_id[1:]}}}'
    return OperationKeys(f'{TRACES}{name}', f'sg:checkpoint:{name}', f'sg:result:{name}')


def trace_id_of(key: str) -> str:
    """Return the trace id of the key of a trace; one that is tagged is read as such."""
    name = key[len(TRACES):]
    if not (name.startswith('{') and name.endswith('}')):
        return name
    name = name[1:-1]
    return unquote(name[:3]) + name[3:] if name[:3] in _QUOTED else name


_QUOTED = ('%7D', '%25')  # the beginnings that `operation_keys` quotes, `}` and `%`
TRACES = 'sg:trace:'
"""What the keys of all traces begin with."""
OPERATIONS = 'sg:operations'
"""The sorted set of the trace ids of all operations, by the time (s) at which they expire."""
ACTIVE_OPERATIONS = 'sg:operations:active'
"""The same of the operations that are not completed."""


def dead_letters(stream: str) -> str:
    """Return the stream of the failed requests of `stream`, in the same slot."""
    return f'{_tagged(stream)}:dead'


def trimmed_requests(stream: str) -> str:
    """Return the sorted set of the requests that are worked on and not in `stream` any more."""
    return f'sg:trimmed:{_tagged(stream)}'


def resent_letter(stream: str, letter_id: str) -> str:
    """Return the hash that says who has sent a dead letter again, in the slot of `stream`."""
    return f'{_tagged(stream)}:resent:{letter_id}'


def _tagged(stream: str) -> str:
    """Return the beginning of the keys in the slot of `stream`; raises LedgerError."""
    return stream if has_tag(checked_stream(stream)) else f'{{{stream}}}'
