# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Evidence traces: what the sensors said during each attempt of an action, as curves."""

from .contents import (
    Confirmed,
    Curve,
    Mark,
    Trace,
    trace_path,
    TraceError,
    TraceKey,
    VerdictChange,
)
from .reader import TraceReader
from .recorder import TraceRecorder

__all__ = [
    'Confirmed', 'Curve', 'Mark', 'Trace', 'TraceError', 'TraceKey', 'TraceReader',
    'TraceRecorder', 'VerdictChange', 'trace_path',
]
