# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The names of the streams of requests.

The keys that belong to a stream, such as that of its dead letters, must be in its slot of a
cluster. A key with the name of the stream between `{` and `}` is there, unless the name has a `}`
itself: the tag would end at that. So such a name is refused with every server, so that a fleet can
move from one server to a cluster; except if it has a tag of its own, which all its keys then have.
"""

from __future__ import annotations

import re

from .errors import LedgerError

_HAS_TAG = re.compile(r'[^{]*\{[^}]+\}')


def has_tag(stream: str) -> bool:
    """Return whether a name has a hash tag, the part of a key that determines its slot."""
    return _HAS_TAG.match(stream) is not None


def stream_fault(stream: str) -> str:
    """Return what is wrong with the name of a stream; '' if it is valid."""
    if not stream:
        return 'name of a stream: expected at least one character'
    if '}' not in stream or has_tag(stream):
        return ''
    return (f"stream '{stream}': expected a name without '}}', or one with a hash tag such as "
            "'{flows}:urgent', because its other keys would be in another slot of a Redis cluster")


def checked_stream(stream: str) -> str:
    """Return the name of a stream; raises LedgerError if it is not valid."""
    if fault := stream_fault(stream):
        raise LedgerError(fault)
    return stream
