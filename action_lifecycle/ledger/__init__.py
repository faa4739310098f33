# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The journal of a robot: what happened, in order, on disk before it takes effect."""

from .clock import Clock, SystemClock, elapsed
from .journal import Journal
from .journal_reader import JournalReader
from .journal_row import Entry, JournalError, Row

__all__ = [
    'Clock', 'Entry', 'Journal', 'JournalError', 'JournalReader', 'Row', 'SystemClock', 'elapsed',
]
