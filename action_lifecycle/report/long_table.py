# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The report as a long table: one row for each figure; docs/report.md describes the columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import csv
from typing import Any, TextIO

from .report import NAMES

COLUMNS = ('level', *NAMES, 'figure', 'detail', 'value', 'unit', 'n', 'low', 'high')
"""`value` in `unit`; `n`: what it is of; `low`, `high`: its 95 % interval, or minimum, maximum."""

_SHARES = ('first_try', 'final', 'per_attempt')


def write_csv(report: Mapping[str, Any], stream: TextIO) -> None:
    """Write the figures of all groups of a report."""
    writer = csv.writer(stream, lineterminator='\n')
    writer.writerow(COLUMNS)
    for group in report['groups']:
        names = [group['level'], *(group[name] for name in NAMES)]
        for figure in _figures(group):
            writer.writerow([_plain(cell) for cell in (*names, *figure)])


def _plain(cell: Any) -> Any:
    """Return a cell; an apostrophe precedes strings that a spreadsheet would run as formulas."""
    if isinstance(cell, str) and cell[:1] in ('=', '+', '-', '@', '\t', '\r'):
        return f"'{cell}"
    return '' if cell is None else cell


Figure = tuple[str, str, Any, str, Any, Any, Any]


def _figures(group: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield the figures of a group, in the order of COLUMNS from `figure` on."""
    for subject in ('runs', 'attempts', 'flows'):
        for name, number in group[subject].items():
            if name != 'success':
                yield subject, name, number, '', None, None, None
    yield _share('flow_success', '', group['flows']['success'])
    for name in _SHARES:
        yield _share(name, '', group[name])
    controller = group['controller']
    yield _share('false_success', '', controller['false_success'])
    for name, number in controller.items():
        if name != 'false_success':
            yield 'controller', name, number, '', None, None, None
    yield _share('recovery', '', group['recovery'])
    for path, number in group['recovery']['by_path'].items():
        yield 'recovered_by', path, number, '', group['recovery']['k'], None, None
    for name, share in group.get('labels', {}).items():
        yield _share(name, '', share)
    for cause in group['failures']:
        detail = ': '.join(filter(None, (cause['error_code'], cause['condition'])))
        yield 'failure', detail, cause['n'], '', group['attempts']['failed'], None, None
    for subject in ('states', 'waits'):
        for name, times in group[subject].items():
            for which in ('median_s', 'p95_s', 'total_s'):
                yield (f'{subject[:-1]}_{which[:-2]}', name, times[which], 's', times['n'], None,
                       None)
    mtbf = group['mtbf']
    yield 'operating_time', '', mtbf['operating_h'], 'h', None, None, None
    yield 'mtbf', '', mtbf['hours'], 'h', mtbf['failures'], mtbf['low'], mtbf['high']
    for part in group['trend']['parts']:
        yield _share('trend', part['from'], part)
    for name, half in zip(('first', 'second'), group['trend']['halves']):
        yield _share('half', name, half)
    for name in ('p', 'p_corrected'):
        yield f'trend_{name}', '', group['trend'][name], '', None, None, None
    for condition in group.get('conditions', ()):
        yield from _condition(condition)


def _share(figure: str, detail: str, share: Mapping[str, Any]) -> Figure:
    return figure, detail, share['share'], '', share['n'], share['low'], share['high']


def _condition(condition: Mapping[str, Any]) -> Iterator[Figure]:
    label = f"{condition['condition']}: {condition['expression']}"
    total = sum(condition[verdict] for verdict in ('true', 'false', 'unknown'))
    for verdict in ('true', 'false', 'unknown'):
        yield f'condition_{verdict}', label, condition[verdict], '', total, None, None
    for fact in condition['facts']:
        for verdict, values in fact['by_verdict'].items():
            if 'median' in values:
                yield (f'fact_when_{verdict}', f"{label}: {fact['fact']}", values['median'],
                       fact['unit'], values['n'], values['min'], values['max'])
            else:
                for text, number in values['texts'].items():
                    yield (f'fact_when_{verdict}', f"{label}: {fact['fact']} = {text}", number,
                           '', values['n'], None, None)
