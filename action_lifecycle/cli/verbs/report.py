# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `report`: how well actions, flows and servers did, from the rows of journals."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from datetime import datetime
import functools
import sys
from typing import Any

from ..output_file import HTML, OutputFile
from ..table import console, print_json, print_rows, WIDTH
from ...documents.errors import LifecycleError
from ...report.long_table import write_csv
from ...report.report import read_report, Window
from ...report.wording import between, hours, percent, subject
from ...traces.labels import read_labels

FLOW_LEVELS = ('all', 'flow')
"""Groups that have whole flows."""
ROWS = 60
"""Maximum number of rows of a table on the terminal."""


def report(options: argparse.Namespace) -> None:
    """Print or write the report of journals."""
    page = OutputFile('--html', options.html, HTML, [*options.journals, options.labels],
                      force=options.force) if options.html else None
    found = read_report(options.journals, Window(
        _stamp(options.since, '--since', '-inf'), _stamp(options.until, '--until', 'inf'),
        tuple(options.flow)), read_labels(options.labels) if options.labels else {})
    if page is not None:
        _write(page, found)
    elif options.json:
        print_json(found)
    elif options.csv:
        write_csv(found, sys.stdout)
    else:
        _print(found)


def _write(file: OutputFile, found: Mapping[str, Any]) -> None:
    """Write the page; raises LifecycleError if that is not possible."""
    try:
        from ...report.page import page
        text = page(found)
    except ModuleNotFoundError as error:
        raise LifecycleError(
            "--html needs matplotlib; install it with: pip install 'action_lifecycle[report]', "
            'or the package python3-matplotlib') from error
    file.write(text)
    print(file.path)


def _stamp(text: str, option: str, default: str) -> float:
    """Return the wall time (s) of a local date or time."""
    if not text:
        return float(default)
    from dateutil.parser import isoparse
    try:
        found: datetime = isoparse(text)
        return found.timestamp()
    except (OverflowError, OSError, ValueError) as error:
        raise LifecycleError(
            f"{option}: '{text}': expected a date or time of ISO 8601, such as 2026-11-23 or "
            f'2026-11-23T14:00 ({error})') from error


def _print(found: Mapping[str, Any]) -> None:
    for journal in found['journals']:
        notes = '' if journal['complete_from'] == 1 else (
            f"; compacted: complete from row {journal['complete_from']} on, "
            f"{journal['cut_actions']} actions cut off are not counted")
        print(f"{journal['path']}: {journal['rows']} rows, "
              f"{between(journal['first'], journal['last'])}{notes}")
    for level in ('all', 'flow', 'action', 'server'):
        groups = [group for group in found['groups'] if group['level'] == level]
        print_rows((level, 'ended', 'open', *(['flows finished'] if level in FLOW_LEVELS else []),
                    'first try', 'final', 'false successes', 'recovered',
                    'MTBF', 'trend'), map(_row, groups[:ROWS]))
        if len(groups) > ROWS:
            print(f'and {len(groups) - ROWS} more; --json or --csv has all')
    labels = found['groups'][0].get('labels', {})
    for name, share in labels.items():
        print(f"{name.replace('_', ' ')}: {percent(share)}")
    print('k/n and, from 140 columns on, 95 % intervals; docs/report.md says how each figure is '
          'counted')


def _row(group: Mapping[str, Any]) -> Iterator[Any]:
    controller = group['controller']
    interval = console().width >= WIDTH
    share = functools.partial(percent, interval=interval)
    yield subject(group)
    yield group['runs']['ended']
    yield group['runs']['open']
    if group['level'] in FLOW_LEVELS:
        yield share(group['flows']['success'])
    yield share(group['first_try'])
    yield share(group['final'])
    yield share(controller['false_success'])
    yield share(group['recovery'])
    yield hours(group['mtbf'], interval=interval)
    yield _trend(group['trend'])


def _trend(trend: Mapping[str, Any]) -> str:
    if not trend['differs']:
        return ''
    first, second = (half['share'] for half in trend['halves'])
    return f"{'worse' if second < first else 'better'} (p = {trend['p_corrected']:.2g})"
