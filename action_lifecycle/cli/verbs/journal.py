# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `journal`: checks a journal file, or exports its rows."""

from __future__ import annotations

import argparse
import contextlib
import sys

from ..exits import BAD_INPUT, DONE
from ..output_file import CSV, JSON, OutputFile
from ...journal.export import export_rows
from ...journal.reader import JournalReader
from ...journal.verify import verify_journal
from ...traces.contents import trace_path
from ...traces.export import export_traces


def verify(options: argparse.Namespace) -> int:
    """Print the faults of a journal, one per line; exit code 2 if there are any."""
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


def export(options: argparse.Namespace) -> None:
    """Write all rows (or all traces) in the format of `--format`, to a file or to stdout."""
    with contextlib.ExitStack() as stack:
        stream = sys.stdout
        if options.output:
            stream = stack.enter_context(OutputFile(
                '--output', options.output, JSON if options.format == 'jsonl' else CSV,
                [options.file], force=options.force).open())
        if options.traces:
            count = export_traces(trace_path(options.file), options.format, stream)
        else:
            count = export_rows(options.file, options.format, stream)
    if options.output:
        print(f"{options.output}: {count} {'traces' if options.traces else 'rows'}")
