# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The flow that the journal has: read from the data of its row 'accepted' and its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .flow import Flow
from .loader import parse_flow, parse_loop
from .sources import from_rows, Reference, Source, Sources


def journaled_flow(
    head: Mapping[str, Any], text: str, folders: Sequence[str] | None = None
) -> Flow:
    """
    Return the flow as it was accepted; raises `DocumentError` if it can't be read.

    `head`: data of the row 'accepted'. `text`: of this row and of the rows 'text' after it.
    `folders`: where flows that edits add are searched.
    """
    text, known = _split(text, head)
    sources = Sources(folders, known)
    if (head.get('origin') or {}).get('loop'):
        return parse_loop(text, head['file'], sources)
    return parse_flow(text, head['file'], head['parameters'], sources)


def _split(text: str, head: Mapping[str, Any]) -> tuple[str, dict[Reference, Source]]:
    """Return the text of a flow, and those of its nested flows, which follow it."""
    end = start = int(head.get('length', len(text)))
    rows: list[list[str]] = []
    for beside, name, file, length in head.get('nested', []):
        rows.append([beside, name, file, text[end:end + length]])
        end += length
    return text[:start], from_rows(rows)
