# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The file that keeps a latched stop across a crash or restart of the bridge.

It exists from the stop until it is cleared, and contains the first reason.
"""

from __future__ import annotations

from datetime import datetime
import json
from pathlib import Path

from .safety import Safety, SafetyStatus
from ...documents.durable_file import replacing, sync_folder
from ...documents.errors import LifecycleError
from ...documents.input_file import read_text
from ...documents.json_text import read_object
from ...lifecycle.states import ErrorCode


class StopFile:
    """One file; raises `LifecycleError` if its folder can't be created, else `OSError`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LifecycleError(
                f"parameter 'stop_file': {self.path}: {error.strerror}") from error

    def read(self) -> SafetyStatus | None:
        """Return the kept stop, None if there is none; an unreadable file counts as a stop."""
        try:
            data = read_object(read_text(self.path), 'stop')
            return SafetyStatus(Safety.STOPPED, ErrorCode[data['code']],
                                f"{data['reason']} (from before the restart)", str(data['topic']))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError, LifecycleError) as error:
            return SafetyStatus(
                Safety.STOPPED, ErrorCode.ESTOP, f"the stop file '{self.path}' can not be read, "
                f'so there may have been a stop before the restart ({error!r})')

    def write(self, status: SafetyStatus, now: float) -> None:
        """Write a stop at `now` (s since 1970), atomically."""
        text = json.dumps({
            'code': status.code.name, 'reason': status.reason, 'topic': status.topic,
            'time': datetime.fromtimestamp(now).astimezone().isoformat(timespec='seconds')})
        with replacing(self.path) as part:
            part.write_text(f'{text}\n', encoding='utf-8')

    def remove(self) -> None:
        """Remove the file, as the stop was cleared."""
        if self.path.exists():
            self.path.unlink()
            sync_folder(self.path)
