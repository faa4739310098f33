# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What people see of a fleet in its ledger, and the one thing that they can do there."""

from __future__ import annotations

from typing import Protocol

from .robot_status import RobotReport, RobotStatus
from .stream_names import stream_fault
from .work_status import DeadLetter, LISTED, Resent, StreamWork


class FleetView(Protocol):
    """
    The robots of a fleet and their shared work, for people.

    Reading changes nothing. Raises LedgerUnavailable, as the methods of `Ledger` do.
    """

    async def report(self, report: RobotReport) -> None:
        """Replace the report of the ledger's robot; also lists the robot."""

    async def robots(self) -> list[RobotStatus]:
        """
        Return the robots by name that have ever reported and still have a report or rows.

        The ages are measured by the server.
        """

    async def work(self, stream: str, group: str) -> StreamWork:
        """Return the requests of a stream for a group; empty if there is no such stream."""

    async def dead_letters(self, stream: str, limit: int = LISTED) -> list[DeadLetter]:
        """Return the dead letters of a stream, the newest first."""

    async def resend(self, stream: str, letter_id: str, actor: str) -> Resent:
        """
        Put the request of a dead letter into its stream again, as a new one; remove the letter.

        The change is atomic. Of several calls for one letter, one does it, the others return what
        that one has done (for RESENT_KEPT s); so it can be repeated after an error. Raises
        LetterMissing, and LedgerError if the letter has no content or `actor` is no name.
        """


def stream_names(robots: list[RobotStatus]) -> set[tuple[str, str]]:
    """
    Return the streams from which robots take requests, each with its group.

    Names that are not valid, which other programs may have reported, are left out.
    """
    return {(stream, one.report.group) for one in robots if one.report is not None
            for stream in one.report.streams if not stream_fault(stream)}
