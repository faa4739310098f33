# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The folder of the black boxes: names of files, its size, files that were not completed."""

from __future__ import annotations

from datetime import datetime, timezone
import os
from pathlib import Path
import re
import stat

END = '.mcap'
LONGEST = 60  #: maximum length of each part of a name
_NAME = re.compile(r'\d{8}T\d{6}\.\d{3}Z-[A-Za-z0-9_.-]+\.mcap\Z')
_PART = re.compile(r'\.(?P<name>.+)\.(?P<pid>\d+)\.part\Z')


class BoxFolder:
    """The boxes in a folder, together at most `limit` bytes; the newest one always stays."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.limit = limit

    def prepare(self) -> None:
        """
        Create the folder, and remove the incomplete files of processes that were killed.

        Raises OSError.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        for file in self.path.iterdir():
            part = _PART.match(file.name)
            if part and _NAME.match(part['name']) and not _is_running(int(part['pid'])):
                file.unlink(missing_ok=True)

    def new_path(self, now: float, *parts: str) -> Path:
        """Return the path of a new box, named by the wall clock `now` (s) and these parts."""
        time = datetime.fromtimestamp(now, timezone.utc)
        begin = time.strftime('%Y%m%dT%H%M%S.') + f'{time.microsecond // 1000:03d}Z'
        words = [safe_name(part) for part in parts if part]
        return self.path / ('-'.join([begin, *words]) + END)

    def drop_oldest(self, newest: Path) -> int:
        """Remove the oldest boxes while the folder is too large; returns how many it removed."""
        boxes = sorted(file for file in self.path.iterdir() if _NAME.match(file.name))
        sizes = {file: size for file in boxes if (size := _size(file)) is not None}
        total, removed = sum(sizes.values()), 0
        for file in sizes:
            if total <= self.limit:
                break
            if file != newest:
                file.unlink(missing_ok=True)
                total -= sizes[file]
                removed += 1
        return removed


def safe_name(text: str) -> str:
    """Return a part of a file name: letters, digits, `_` and `.`; others become `_`."""
    return re.sub(r'[^A-Za-z0-9_.]', '_', text)[:LONGEST]


def _size(path: Path) -> int | None:
    """Return the size of a file; None if it is none, or has been removed meanwhile."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
