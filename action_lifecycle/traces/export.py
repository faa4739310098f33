# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Exports traces as JSON lines or CSV."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import os
from typing import Any, TextIO

import numpy as np

from .contents import Curve, Trace
from .reader import TraceReader

COLUMNS = ('flow_id', 'action_id', 'attempt', 'fact', 'unit', 'time', 'stamp', 'value')


def export_traces(path: str | os.PathLike[str], format: str, stream: TextIO) -> int:  # noqa: A002
    """
    Write all traces to `stream`; returns their number.

    'jsonl': an object for each trace; 'csv': a line for each point of a curve (COLUMNS; times in
    s of ROS time, the value as JSON, empty: unknown). Raises TraceError.
    """
    count = 0
    with TraceReader(path) as reader:
        table = csv.writer(stream)
        if format == 'csv':
            table.writerow(COLUMNS)
        for trace in reader.traces():
            count += 1
            if format == 'csv':
                for curve in trace.curves.values():
                    table.writerows(
                        [*trace.key, curve.fact, curve.unit, time, stamp,
                         '' if value is None else json.dumps(value)]
                        for time, stamp, value in _points(curve))
            else:
                stream.write(json.dumps(as_dict(trace), ensure_ascii=False) + '\n')
    return count


def as_dict(trace: Trace) -> dict[str, Any]:
    """Return a trace as JSON-compatible data; the points of a curve are [time, stamp, value]."""
    return {
        **trace.key._asdict(), 'started': trace.started, 'ended': trace.ended,
        **{name: [{'fact': curve.fact, 'unit': curve.unit, 'topic': curve.topic,
                   'kind': curve.kind, 'points': [[time, stamp, value] for time, stamp, value in
                                                  _points(curve)]}
                  for curve in found.values()]
           for name, found in (('curves', trace.curves), ('samples', trace.samples))},
        'changes': [dataclasses.asdict(change) for change in trace.changes],
        'marks': [dataclasses.asdict(mark) for mark in trace.marks],
        'confirmations': [dataclasses.asdict(dataclasses.replace(
            one, parameters=dict(one.parameters))) for one in trace.confirmations]}


def _points(curve: Curve) -> list[tuple[float, float | None, Any]]:
    values = curve.values.tolist() if isinstance(curve.values, np.ndarray) else curve.values
    return [(time, stamp if math.isfinite(stamp) else None,
             None if _is_unknown(value) else bool(value) if curve.kind == 'boolean' and
             isinstance(value, float) else value)
            for time, stamp, value in zip(curve.times.tolist(), curve.stamps.tolist(), values)]


def _is_unknown(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_is_unknown(item) for item in value)
    return value is None or (isinstance(value, float) and math.isnan(value))
