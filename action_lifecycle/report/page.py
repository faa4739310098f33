# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The report as one HTML file that opens without a network.

All values are escaped by the template engine. A content security policy permits no script but the
one that sorts tables, and no request.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
import re
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from . import wording
from .pictures import pictures
from .runs import NOT_SHOWN, PATHS
from .trace_pictures import trace_pictures
from ..lifecycle.text_format import number_in_words, printable

MAX_GROUPS = 500
"""Maximum number of rows of a table; the CSV has all."""
LONGEST = 2000
"""Maximum number of characters of a cell."""
CAPTIONS = {
    'success': 'Success of the actions', 'trend': 'First-try success over time',
    'causes': 'Causes of failed attempts', 'times': 'Where the time goes'}


def page(report: Mapping[str, Any]) -> str:
    """Return the page; raises ModuleNotFoundError without matplotlib."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        finalize=_shown, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(
        percent=wording.percent, hours=wording.hours, duration=wording.duration,
        subject=wording.subject, parts=_parts, wrong_reports=wording.wrong_reports,
        number=lambda number: '-' if number is None else number_in_words(number))
    script = (Path(__file__).parent / 'sort_tables.js').read_text(encoding='utf-8')
    digest = b64encode(sha256(script.encode()).digest()).decode()
    levels: dict[str, list[Any]] = {
        level: [group for group in report['groups'] if group['level'] == level][:MAX_GROUPS]
        for level in ('all', 'journal', 'flow', 'action', 'server')}
    curves, faults = trace_pictures(report['journals'], levels['action'])
    return environment.get_template('page.html').render(
        report=report, levels=levels, total=levels['all'][0], between=wording.between,
        pictures={name: (CAPTIONS[name], svg) for name, svg in pictures(report).items()},
        script=script, script_hash=digest, verdicts=NOT_SHOWN, paths=PATHS,
        max_groups=MAX_GROUPS, curves=curves, trace_faults=faults)


def _parts(name: str) -> list[str]:
    """Return the parts of a name after which a line may be broken."""
    return re.split('(?<=[/_])', name)


def _shown(value: Any) -> Any:
    """Return a value without control characters, cut to `LONGEST` characters."""
    if not isinstance(value, str) or hasattr(value, '__html__'):  # no string, or HTML already
        return value
    return printable(value, LONGEST)
