# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The ledger that robots share: its protocol, and the registry of its backends.

To add a backend, write one module in `fleet/backends/`, or one module of another package with an
entry point of the group `action_lifecycle.ledgers`. Its name is the URL scheme::

    @register_ledger('sqlite')
    class SqliteLedger:
        ...  # the methods of `Ledger`

`open_ledger('sqlite:///path', robot)` then returns it. `backends/memory/` is the smallest
example. test/unit/fleet/test_contract.py, test_work_contract.py and
test_fleet_contract.py test the guarantees of this protocol.

All methods raise `LedgerUnavailable` if the server can't be reached or reports an error. Then a
change may or may not have been made; every change can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
import os
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from .checkpoints import Checkpoint
from .errors import LedgerError
from .fleet_view import FleetView
from .operation_listing import OperationPage
from .operation_states import OperationState
from .smart_ledger import Lease, Tasks
from ..documents.registry import Registry
from ..documents.suggestions import nearest
from ..journal.row import Row

RETENTION = 30 * 86_400.0
"""Time (s) for which ended actions and their rows are kept."""

UNKNOWN_JOURNAL = 'JOURNAL'
"""Stands for the path of the journal in messages, if it is not known."""

REFUSALS = {
    'gap': 'row {what} does not follow row {found}, the last one that the ledger has',
    'chain': 'row {what} does not follow the row before it in the ledger (hash {found}): the '
             'ledger holds another journal',
    'other': 'row {what} has another hash in the ledger ({found}): it holds another journal',
    'state': "row {what}: the action is in state '{found}' in the ledger, not where the row "
             'comes from',
}
"""Messages for refused rows; `what`: number of the row, `found`: the value in the ledger."""


class Cursor(NamedTuple):
    """The last row of the ledger: its number (0: none) and its hash."""

    seq: int
    hash: str  # noqa: A003


class Rows(Protocol):
    """Reads the rows of one robot, with the methods of JournalReader that a Projection needs."""

    robot: str

    def last_seq(self) -> int:
        """Return the sequence number of the last row; 0 if there is none."""

    def rows(
        self, *, flow_id: str | None = None, action_id: str | None = None,
        kind: str | None = None, after: int = 0, limit: int | None = None,
    ) -> Iterator[Row]:
        """Yield the matching rows with a sequence number above `after`, in order."""

    def subject_rows(
        self, flow_id: str, kind: str = 'flow', action_id: str = ''
    ) -> Iterator[Row]:
        """
        Yield the rows with a flow id from the one that opened a subject until its end, in order.

        The default subject is the flow; more rows are allowed.
        """
        yield from self.rows(flow_id=flow_id)

    def record(self, flow_id: str, action_id: str) -> Mapping[str, str]:
        """
        Return the record of an action; {} if there is none.

        It has the columns of its last change as strings (`final`: '0' or '1'), `ledger_status` and
        `blocked_reason`. Records that an older version has written lack the last two. A ready
        action that waits for locked resources has a record without a change.
        """

    def readable_rows(self, *, after: int = 0, limit: int | None = None) -> Iterator[Row]:
        """Yield the rows above `after`, in order, without entries that are no rows."""
        yield from self.rows(after=after, limit=limit)

    def newest_row(self) -> Row | None:
        """Return the last row that can be read; None if there is none."""
        return next(self.rows(after=self.last_seq() - 1, limit=1), None)

    def origin(self) -> tuple[str, str]:
        """Return host and path of the journal that wrote the last row; '' if unknown."""
        return '', ''

    def intact_rows(self, *, after: int = 0, limit: int | None = None) -> Iterator[Row]:
        """Yield the rows above `after`, in order; raises LedgerError for a damaged row."""
        for row in self.rows(after=after, limit=limit):
            if fault := row.fault():
                raise LedgerError(f"ledger of robot '{self.robot}': row {row.seq} {fault}")
            yield row

    def close(self) -> None:
        """Close the connections."""


class Operations(Protocol):
    """
    The states of operations on shared work, by trace id.

    An operation and its checkpoint are removed `checkpoints.TTL` s after their last renewal.
    """

    async def receive(self, trace_id: str, metadata: Mapping[str, Any]) -> bool:
        """Create an operation in state RECEIVED; returns False, without a change, if it exists."""

    async def trace(self, trace_id: str) -> Mapping[str, str]:
        """Return the state (`state`) and the metadata of an operation; {} if it is missing."""

    async def move(
        self, trace_id: str, target: OperationState, metadata: Mapping[str, Any] | None = None, *,
        saved: Mapping[str, Any] | None = None, fence: str = '', outcome: str | None = None,
    ) -> bool:
        """
        Change the state, merge `metadata`, write the checkpoint `saved` and the result `outcome`.

        The change is atomic. Returns False, without a change, if the operation is missing, the
        transition is not allowed, or `fence` is given and is not the `fence` of the metadata. So
        one of two concurrent writers wins, and the first result stays. Raises CheckpointError.
        """

    async def confirm(self, trace_id: str, state: OperationState, fence: str) -> bool:
        """
        Return whether an operation is in `state` with `fence`, and a failover does not lose it.

        If replicas have to acknowledge it and do not, raises LedgerUnavailable.
        """

    async def checkpoint(self, trace_id: str) -> Checkpoint | None:
        """Return the last checkpoint; None if it is missing or damaged (which is logged)."""

    async def renew(self, trace_id: str, fence: str = '') -> bool:
        """
        Restart the lifetime of an operation and its checkpoint; does not create them.

        Returns False, without a change, if `fence` is given and the operation has another one.
        """

    async def find(
        self, states: Collection[str] = (), *, active_only: bool = False, offset: int = 0,
        limit: int = 100, scan: bool = False,
    ) -> OperationPage:
        """
        Return a page of the operations in these states (none: in all), the newest change first.

        `active_only`: only those that are not COMPLETED. `scan`: also those that other programs
        have created without listing them; this may take time proportional to the whole database.
        """


class Requests(Protocol):
    """
    The requests of a stream, for one worker of a group.

    A request is held by the worker that last took it, until `done` or `bury`. If that worker does
    not renew it for `min_idle` s, another worker of the group may take it.
    """

    async def join(self) -> None:
        """Create the group unless it exists; it starts with the first request of the stream."""

    async def retake(self) -> list[tuple[str, Mapping[str, str]]]:
        """Return the requests that this worker already holds, at most 100, in order."""

    async def take(self) -> list[tuple[str, Mapping[str, str]]]:
        """
        Take one request, an abandoned one before a new one; waits for at most about 1 s.

        Returns a list with its id and its fields, or an empty one. The fields are empty if the
        request was removed from the stream.
        """

    async def tries(self, message_id: str) -> int:
        """Return how often a request was taken; 0 if this worker does not hold it."""

    async def renew(self, message_id: str) -> bool:
        """Restart the idle time of a request; False if this worker does not hold it."""

    async def done(self, message_id: str) -> None:
        """Remove a request from the group; no worker takes it again."""

    async def bury(self, message_id: str, letter: Mapping[str, Any]) -> bool:
        """Like `done`, and add a dead letter atomically; False if this worker does not hold it."""

    async def age(self, message_id: str) -> float:
        """Return the time (s) since a request was submitted, by the clock of the ledger."""


class Ledger(Protocol):
    """
    The data that a robot shares with its fleet; for one asyncio event loop.

    `retention`: time (s) for which ended actions and their rows are kept. `journal`: path of the
    robot's journal, for messages and for robots with the same name. Nothing is sent before the
    first call.
    """

    robot: str

    def __init__(
        self, url: str, robot: str = 'robot', *, retention: float = RETENTION,
        journal: str | os.PathLike[str] = UNKNOWN_JOURNAL,
    ) -> None:
        """Prepare the connection; raises LedgerError for a bad URL."""

    @staticmethod
    def check_url(url: str) -> str:
        """Return `url`; raises LedgerError if this backend can't use it or it has a password."""

    # The rows of this robot's journal

    async def cursor(self, subjects: Iterable[str] = ()) -> Cursor:
        """
        Return the cursor; raises LedgerRefused if the ledger was changed by another writer.

        `subjects`: names of open subjects to check as well.
        """

    async def apply(
        self, rows: Sequence[Row], *, through: int = 0, swallowed: Iterable[str] = ()
    ) -> int:
        """
        Apply all rows, in order, or none; returns the number of the last row of the ledger.

        Rows that the ledger has are skipped, so a batch can be repeated. Raises LedgerRefused for
        a gap, a broken hash chain, or a transition that does not start in the action's state. If
        the journal was compacted, `through` is the last compacted row: gaps up to it are allowed,
        and the open subjects `swallowed`, whose rows were removed, are dropped.
        """

    def subject(self, row: Row) -> str:
        """Return the name of the subject of a row, such as an action or a flow."""

    async def open_subjects(self) -> list[str]:
        """Return the names of all subjects whose last row is not final."""

    async def trim(self, now: float) -> int:
        """
        Remove some of the oldest rows; returns their number. `now` in s since 1970.

        Removes only rows older than the retention time and than all rows of open subjects.
        """

    async def clear(self, save: Callable[[], object] = lambda: None) -> int:
        """
        Remove all data of the robot; returns a number, 0 if there were none.

        Rows are refused from before the call of `save` (in another thread) until all is removed.
        If `save` raises an exception, nothing is removed, and rows are accepted again. If another
        call of `clear` begins meanwhile, this one raises LedgerRefused.
        """

    def clock_offset(self) -> float:
        """Return how far (s) its clock was ahead of this computer's at the last `cursor`."""
        return 0.0

    def rebuild_hint(self) -> str:
        """Return a string that says how to rebuild the ledger from the journal."""

    # Data shared by robots

    @property
    def operations(self) -> Operations:
        """Return the operations of the fleet."""

    @property
    def fleet(self) -> FleetView:
        """Return the robots of the fleet and their work, as people see them."""

    async def lease(self, session: str, task_id: str) -> tuple[Lease, float] | None:
        """Return the valid claim of a task and the time (s) until it lapses, or None."""

    async def submit(self, stream: str, fields: Mapping[str, str]) -> str:
        """
        Add a request to a stream; returns its id. Ids are ordered.

        Raises LedgerError for a name that `stream_names` refuses, as all that take a stream do.
        """

    def requests(self, stream: str, group: str, worker: str, min_idle: float) -> Requests:
        """Return the requests of a stream for a worker; `min_idle` in s."""

    def tasks(self) -> Tasks:
        """Return the tasks of sessions; calls of their methods block."""

    def reader(self) -> Rows:
        """Return a reader of this robot's rows; calls of its methods block."""

    async def close(self) -> None:
        """Close the connections."""


LEDGERS: Registry[type[Ledger]] = Registry(
    'action_lifecycle.ledgers', 'unknown scheme',
    modules=[f'{__package__}.backends.{module.name}'
             for module in iter_modules([str(Path(__file__).parent / 'backends')])])
"""The backends, by the scheme of their URLs."""

register_ledger = LEDGERS.register
"""Return a decorator that registers a class as the backend for a scheme of URLs."""


def open_ledger(
    url: str, robot: str = 'robot', *, retention: float = RETENTION,
    journal: str | os.PathLike[str] = UNKNOWN_JOURNAL,
) -> Ledger:
    """Return the ledger of `robot` at `url`; raises LedgerError for a bad URL."""
    return _backend(url)(url, robot, retention=retention, journal=journal)


def check_url(url: str) -> str:
    """Return `url`; raises LedgerError if no backend can use it or it has a password."""
    return _backend(url).check_url(url)


def _backend(url: str) -> type[Ledger]:
    try:
        scheme = urlsplit(url).scheme
    except ValueError:  # its text names what may be a password
        raise LedgerError('ledger URL: expected SCHEME://HOST:PORT/… or SCHEME://[IPV6]:PORT/…, '
                          'for example redis://localhost:6379/0') from None
    if scheme not in LEDGERS.names():
        names = [name for name in LEDGERS.names() if name != 'memory']  # robots can't share it
        raise LedgerError(f"ledger URL {scheme + '://…'!r}: expected one of "
                          + ', '.join(f'{name}://' for name in names) + nearest(scheme, names))
    return LEDGERS.find(scheme)
