# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Checkpoints of operations: data that a reclaimed operation does not have to gather again.

A checkpoint is JSON, compressed by zlib, with its schema version, time and size. Its lifetime is
that of the trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import json
import logging
import time
from typing import Any, NamedTuple
import zlib

from .errors import RequestInvalid
from ..documents.errors import LifecycleError
from ..documents.json_text import read_json

_LOG = logging.getLogger(__name__)

TTL = 86_400
"""Lifetime (s) of a trace and its checkpoint."""

CHECKPOINT_SCHEMA_VERSION = 1
MAX_CHECKPOINT = 16 * 1024 * 1024
"""Maximum size of a checkpoint, in bytes of JSON."""

FIELDS = ('schema_version', 'timestamp', 'payload_compressed', 'original_size')
"""The fields that `unpack` needs."""


class Checkpoint(NamedTuple):
    """The saved content, and when it was saved (s since 1970)."""

    stamp: float
    content: dict[str, Any]


class CheckpointError(RequestInvalid):
    """The content of a checkpoint is too big or not JSON."""


def pack(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a checkpoint; raises CheckpointError for unusable content."""
    try:
        text = json.dumps(content, allow_nan=False, separators=(',', ':')).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f'checkpoint: {error}') from error
    if len(text) > MAX_CHECKPOINT:
        raise CheckpointError(
            f'checkpoint: {len(text)} bytes of JSON, at most {MAX_CHECKPOINT} are allowed')
    compressed = zlib.compress(text)
    return {'schema_version': CHECKPOINT_SCHEMA_VERSION, 'timestamp': repr(time.time()),
            'payload_compressed': compressed, 'original_size': len(text),
            'compressed_size': len(compressed)}


def unpack(trace_id: str, found: Sequence[Any]) -> Checkpoint | None:
    """
    Return the checkpoint from the values `found` of FIELDS; None if there is none.

    A checkpoint that is damaged or has another schema version is logged as a warning; then None is
    returned as well.
    """
    if not any(value is not None for value in found):
        return None
    try:
        version, stamp, compressed, size = found
        if int(version) != CHECKPOINT_SCHEMA_VERSION:
            _LOG.warning('%s: %s has version %d, this software has %d',
                         'checkpoint_schema_stale' if int(version) < CHECKPOINT_SCHEMA_VERSION
                         else 'checkpoint_schema_newer',
                         trace_id, int(version), CHECKPOINT_SCHEMA_VERSION)
            return None
        # Bounded, since a few bytes may decompress to gigabytes.
        text = zlib.decompressobj().decompress(compressed, MAX_CHECKPOINT + 1)
        content = read_json(text, 'JSON', most=MAX_CHECKPOINT + 1)
        if len(text) != int(size) or not isinstance(content, dict):
            raise ValueError(f'{len(text)} bytes, expected {int(size)}, of a JSON object')
        return Checkpoint(float(stamp), content)
    except (TypeError, ValueError, LifecycleError, zlib.error) as error:
        _LOG.warning('checkpoint_corrupt: %s: %s', trace_id, error)
        return None
