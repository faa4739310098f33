# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parts of an evidence trace, as a reader gets them. All times are seconds of ROS time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..documents.errors import LifecycleError
from ..lifecycle.ports import Condition, Evidence

SUFFIX = '.traces'
SAMPLES = '[]'  #: ends the stored name of a curve with the samples of a fact with a window
NUMBER, BOOLEAN, TEXT = 'number', 'boolean', 'text'


class TraceError(LifecycleError):
    """A file of traces that can't be read or written; the message names the file."""


class TraceKey(NamedTuple):
    """The subject of a trace: one attempt of an action."""

    flow_id: str
    action_id: str
    attempt: int  #: from 1


@dataclass(frozen=True)
class Curve:
    """
    The values of one fact; n points, at most `POINTS` (1,024).

    A longer series is thinned: of neighbouring points the lowest and the highest are kept, and all
    points at which a verdict changed.
    """

    fact: str
    unit: str
    topic: str  #: '' for tf, constants and expressions
    kind: str  #: number, boolean or text
    times: np.ndarray  #: (n,) arrival at the bridge
    stamps: np.ndarray  #: (n,) measurement
    values: Any
    """
    (n,) for a number or a boolean (1.0, 0.0), (n, k) for k numbers, NaN where it had no value; a
    list of n values for texts and for numbers whose count changed, None where it had no value.
    """


@dataclass(frozen=True)
class Mark:
    """Something that happened during the attempt: motion_started, motion_ended, cut, ..."""

    time: float
    name: str
    detail: str = ''


@dataclass(frozen=True)
class VerdictChange:
    """A condition got another verdict (true, false or unknown)."""

    time: float
    condition: str
    expression: str
    verdict: str


@dataclass(frozen=True)
class Confirmed:
    """A confirmation that has ended, with what is needed to repeat it."""

    started: float
    after: float  #: only samples with a later stamp counted
    ended: float
    conditions: Sequence[Condition]
    parameters: Mapping[str, Any]
    verdict: str  #: confirmed, refuted, timed_out or stale
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True)
class Trace:
    """What was seen from the start of an attempt until its verdict."""

    key: TraceKey
    started: float
    ended: float | None  #: None: it is being recorded
    curves: Mapping[str, Curve] = field(default_factory=dict)
    changes: Sequence[VerdictChange] = ()
    marks: Sequence[Mark] = ()
    confirmations: Sequence[Confirmed] = ()
    samples: Mapping[str, Curve] = field(default_factory=dict)
    """The samples of facts with a window, of which their curves have the reduced values."""


def trace_path(journal: str | os.PathLike[str]) -> Path:
    """Return the file of traces beside a journal."""
    path = Path(journal)
    return path.with_name(path.stem + SUFFIX)
