# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A ledger in the memory of this process, for tests and examples; it keeps every request.

All ledgers with the same URL, `memory://NAME`, share one storage. It can be used from several
threads and event loops.
"""

from .ledger import MemoryLedger

__all__ = ['MemoryLedger']
