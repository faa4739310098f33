# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The journal of a robot: what happened, in order, on disk before it takes effect."""

from .clock import Clock, SystemClock, elapsed
from .journal import Journal
from .journal_export import export_rows
from .journal_reader import JournalReader
from .journal_row import Entry, JournalError, Row
from .journal_verify import JournalFault, verify_journal

__all__ = [
    'Clock', 'Entry', 'Journal', 'JournalError', 'JournalFault', 'JournalReader', 'Row',
    'SystemClock', 'elapsed', 'export_rows', 'verify_journal',
]
