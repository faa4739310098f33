# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `journal`: checks a journal file, or exports its rows."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from ..arguments import add_verb
from ..exits import BAD_INPUT, DONE
from ...documents.errors import LifecycleError


def add_parser(commands: Any) -> None:
    """Add the verb and its parts."""
    journal = commands.add_parser(
        'journal', help='check or export a journal file',
        description='Check or export a journal file.')
    parts = journal.add_subparsers(required=True, metavar='COMMAND')
    check = add_verb(
        parts, 'verify', verify, help='check a journal; exit code 2 if it has faults',
        example='journal verify ~/.ros/action_lifecycle/journal')
    rows = add_verb(
        parts, 'export', export, help='write its rows as text',
        example='journal export ~/.ros/action_lifecycle/journal --format csv --output rows.csv')
    rows.add_argument('--format', choices=('jsonl', 'csv'), default='jsonl',
                      help='JSON, one row a line, or CSV (default: jsonl)')
    rows.add_argument('--output', default='', metavar='FILE',
                      help='a new file (default: standard output)')
    for part in (check, rows):
        part.add_argument('file', metavar='JOURNAL', help='a journal file')


def verify(options: argparse.Namespace) -> int:
    """Print the faults of a journal, one per line; exit code 2 if there are any."""
    from ...journal.reader import JournalReader
    from ...journal.verify import verify_journal
    faults = verify_journal(options.file)
    for fault in faults:
        print(f'{options.file}: {fault}', file=sys.stderr)
    if faults:
        return BAD_INPUT
    with JournalReader(options.file) as reader:
        last = reader.last_seq()
        open_actions = len(reader.open_actions())
        snapshot = reader.snapshot()
    compacted = f", compacted up to row {snapshot.data['through']}" if snapshot else ''
    print(f'{options.file}: ok (up to row {last}, {open_actions} actions open{compacted})')
    return DONE


def export(options: argparse.Namespace) -> int:
    """Write all rows in the format of `--format`, to a file or to stdout."""
    from ...journal.export import export_rows
    with contextlib.ExitStack() as stack:
        stream = sys.stdout
        if options.output:
            try:
                stream = stack.enter_context(
                    open(options.output, 'x', encoding='utf-8', newline=''))
            except OSError as error:
                raise LifecycleError(f'--output: {error}') from error
        count = export_rows(options.file, options.format, stream)
    if options.output:
        print(f'{options.output}: {count} rows')
    return DONE
