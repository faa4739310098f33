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
The journal of a robot: each change is a row on disk before it takes effect.

A journal is appended to, read, replayed, verified, compacted and exported.
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
