# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""The verb `dialogue`: prints the dialogue of a flow, from the nodes or a journal file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import time

from rich.text import Text

from ..exits import NotThere
from ..table import console, print_json
from ...dialogue.dialogue import DialogueEntry, Persistence
from ...dialogue.flow_dialogue import dialogue_rows, entries_of
from ...documents.stamps import to_seconds
from ...documents.suggestions import nearest
from ...journal.reader import JournalReader
from ...journal.row import JournalError
from ...lifecycle.text_format import printable

STYLES = {'assistant': 'cyan', 'user': 'green'}


def show_dialogue(options: argparse.Namespace) -> None:
    """Print the entries of a flow's dialogue, in order."""
    entries = _from_journal(options) if options.journal else _from_nodes(options)
    if options.json:
        print_json([{'time': entry.stamp, 'state': entry.state, 'actor': entry.actor,
                     'text': entry.text} for entry in entries])
        return
    out = console()
    for entry in entries:
        at = time.strftime('%H:%M:%S', time.localtime(entry.stamp))
        line = Text(f'{at}  ')
        line.append(f'{entry.actor:<9}  ', STYLES.get(entry.actor, ''))
        line.append(printable(entry.text).replace('\n', '\n' + ' ' * 21))
        out.print(line, soft_wrap=True)


def _from_journal(options: argparse.Namespace) -> Iterator[DialogueEntry]:
    try:
        with JournalReader(options.journal) as reader:
            rows = dialogue_rows(reader, options.flow)
            known = rows or next(reader.rows(flow_id=options.flow, limit=1), None)
            flows = () if known else dict.fromkeys(row.flow_id for row in reader.rows())
    except JournalError as error:
        raise NotThere(str(error)) from error
    if not known:
        begun = [name for name in flows if name.startswith(f'{options.flow}-')]
        raise NotThere(f"the journal has no flow '{options.flow}'" + (
            f"; did you mean '{begun[-1]}'?" if begun else nearest(options.flow, flows)))
    yield from entries_of(rows)


def _from_nodes(options: argparse.Namespace) -> Iterator[DialogueEntry]:
    from action_lifecycle_msgs.srv import GetDialogue

    from ..client import accepted, connect
    seen = 0
    with connect(options.namespace, options.wait) as client:
        while True:
            answer = accepted(client.call(GetDialogue, 'ledger/get_dialogue', GetDialogue.Request(
                flow_id=options.flow, offset=seen)))
            for entry in answer.entries:
                yield DialogueEntry(to_seconds(entry.stamp), entry.state, entry.actor,
                                    Persistence(entry.persistence), entry.text)
            seen += len(answer.entries)
            if seen >= answer.total or not answer.entries:
                return
