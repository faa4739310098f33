# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The journal of a robot: each change is a row on disk before it takes effect.

Contains the writer, the reader, replay, verification, compaction and export.
"""

from .clock import Clock, elapsed, SystemClock
from .export import export_rows
from .journal import Journal
from .projection import Projection
from .reader import CheckedRow, JournalReader
from .row import Entry, JournalError, Row
from .verify import JournalFault, verify_journal

__all__ = [
    'CheckedRow', 'Clock', 'Entry', 'Journal', 'JournalError', 'JournalFault', 'JournalReader',
    'Projection', 'Row', 'SystemClock', 'elapsed', 'export_rows', 'verify_journal',
]
