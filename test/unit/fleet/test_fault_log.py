# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One fault of a ledger is one line in the log, whichever parts of a process have it."""

from __future__ import annotations

from action_lifecycle.fleet.errors import LedgerForbidden, LedgerRefused, LedgerUnavailable
from action_lifecycle.fleet.fault_log import FaultLog
import pytest

AWAY = LedgerUnavailable('ledger: the server is away (reply 1)', 'ledger: the server is away')
AWAY_TOO = LedgerUnavailable('ledger: the server is away (reply 2)', AWAY.cause)
FULL = LedgerUnavailable('ledger: the server is out of memory')


@pytest.fixture
def said(caplog):
    """Return a function that returns the new lines, without what is the same in most of them."""
    def new():
        lines = [record.getMessage().partition('; the robot goes on, tried again')[0]
                 for record in caplog.records]
        caplog.clear()
        return lines
    return new


def test_parts_log_a_fault_once_until_it_has_ended_for_all_of_them(said):
    log = FaultLog()
    sync, stream = log.part('sync'), log.part('stream flows')
    for _ in range(3):
        stream.report(AWAY)
        sync.report(AWAY_TOO)
    assert said() == [str(AWAY)]
    sync.report(FULL)  # faults alternate
    sync.report(AWAY)
    sync.report(FULL)
    assert said() == [str(FULL)]
    sync.clear()
    sync.report(AWAY)  # the stream still has it
    assert said() == []
    stream.clear()
    sync.clear()
    stream.report(AWAY_TOO)
    assert said() == [str(AWAY_TOO)]


def test_connection_that_breaks_once_is_not_logged(said):
    log = FaultLog()
    sync, stream = log.part('sync'), log.part('stream flows')
    broken = LedgerUnavailable('ledger: closed (by peer)', 'ledger: closed', broken=True)
    for part in sync, stream:
        part.report(broken)
        part.report(AWAY)
        part.report(broken)
    assert said() == [str(AWAY)]
    sync.clear()
    sync.report(broken)
    sync.clear()
    sync.report(broken)
    assert said() == []
    sync.report(broken)  # again, at the next attempt
    stream.report(broken)
    assert said() == [str(broken)]


def test_lasting_fault_of_a_part_does_not_hide_those_of_others(said):
    log = FaultLog()
    sync, status = log.part('sync'), log.part('status')
    status.report(LedgerForbidden('ledger: may not use key al:robots'))
    assert said() == ['status: ledger: may not use key al:robots']
    for _ in range(2):
        sync.report(AWAY)
        assert said() == [str(AWAY)]
        sync.clear()
    sync.report(LedgerRefused('a gap'))
    assert said() == ['sync: a gap']


def test_warning_of_a_part_that_works_ends_its_other_faults(said):
    sync = FaultLog().part('sync')
    for _ in range(2):
        sync.report(AWAY)
        sync.warn('the clock is an hour ahead')
        sync.warn('the clock is an hour ahead')
    assert said() == [str(AWAY), 'the clock is an hour ahead', str(AWAY)]


def test_error_that_nobody_expects_has_its_traceback(said, caplog):
    try:
        raise ZeroDivisionError('by zero')
    except ZeroDivisionError as error:
        FaultLog().part('sync').report(error)
    assert 'Traceback' in caplog.text and said() == ['sync: by zero']
