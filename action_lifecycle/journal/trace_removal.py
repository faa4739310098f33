# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Removes the evidence traces of actions whose rows are removed by a compaction.

The actions are noted in a file beside the traces before their rows are removed, so that the next
compaction completes the removal after a kill or an error.
"""

from __future__ import annotations

from collections.abc import Iterable
import json
import logging
from pathlib import Path

from .reader import JournalReader
from ..documents.durable_file import replacing
from ..documents.errors import LifecycleError
from ..documents.input_file import read_text
from ..traces.contents import trace_path
from ..traces.store import remove_traces

_log = logging.getLogger('action_lifecycle.journal')


class TraceRemoval:
    """The removal of traces beside the journal at `path`; one at a time. Errors are logged."""

    def __init__(self, path: str) -> None:
        self._journal = path
        self._traces = trace_path(path)
        self._note = Path(f'{self._traces}.removing')
        self._actions: set[tuple[str, str]] = set()
        try:
            self._actions.update((str(flow), str(action))
                                 for flow, action in json.loads(read_text(self._note)))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, RecursionError) as error:
            _log.warning('%s: traces of removed rows are kept: %s', self._note, error)

    def plan(self, actions: Iterable[tuple[str, str]]) -> None:
        """Note that rows of these actions (flow_id, action_id) are going to be removed."""
        self._actions.update(actions)
        if not self._actions or not self._traces.exists():
            return
        try:
            with replacing(self._note) as part:
                part.write_text(json.dumps(sorted(self._actions)))
        except OSError as error:
            _log.warning('%s: %s', self._note, error)

    def finish(self) -> None:
        """Remove the traces of those actions that have no row any more."""
        try:
            if self._actions and self._traces.exists():
                with JournalReader(self._journal) as reader:
                    remove_traces(self._traces, [
                        (flow, action) for flow, action in self._actions
                        if not any(reader.rows(flow_id=flow, action_id=action, limit=1))])
            self._note.unlink(missing_ok=True)
        except (LifecycleError, OSError) as error:
            _log.warning('traces of removed rows are kept until the next compaction: %s', error)
