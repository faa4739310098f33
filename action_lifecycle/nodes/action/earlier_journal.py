# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A journal that vanished between two starts, or has lost rows, which the files beside it show.

What it had locked, and which motions ran, is unknown then. So a person has to say that an empty
journal is meant, and nothing starts in it until somebody has looked at the robot.
"""

from __future__ import annotations

import os
from pathlib import Path

from ...documents.errors import LifecycleError
from ...flow.scheduling.scheduler import EVERYTHING
from ...journal.journal import Journal
from ...journal.last_row import missing_rows, noted_last_row
from ...journal.row import Entry
from ...traces.contents import TraceError
from ...traces.reader import has_traces

LOCKED = ('this journal is new, and there was one before it ({signs}): what it had locked, and '
          'what was moving, is not known')
MISSING = ('rows of this journal are missing ({signs}): what they had locked, and what was '
           'moving, is not known')


def open_journal(
    path: Path, durability: dict[str, str], new: bool, traces: str = '', boxes: str = ''
) -> Journal:
    """
    Open the journal at `path`; one that takes the place of an earlier one begins locked.

    `new`: a person has said that an empty journal is meant. `traces`, `boxes`: evidence traces and
    folder of the black boxes that are not beside it. Raises LifecycleError if it must be said, and
    JournalError as `Journal`.
    """
    signs = '; '.join(signs_of_an_earlier_one(Path(os.path.realpath(path)), traces, boxes))
    if signs and not new:
        raise LifecycleError(
            f'{path}: there is no journal, but there was one: {signs}. Look for it, and put it '
            'or a good copy back; if an empty one is meant, look at the robot, set the parameter '
            'new_journal (launch argument new_journal:=true) for this start, and unlock with '
            'clear_stop')
    noted = noted_last_row(os.path.realpath(path))
    journal = Journal(path, durability=durability)
    try:
        missing = '' if signs else missing_rows(journal, noted)
        if missing and not new:
            raise LifecycleError(
                f'{path}: rows of the journal are missing: {missing}. Look for its file and WAL, '
                'and put them back; if this one is meant, look at the robot, set the parameter '
                'new_journal (launch argument new_journal:=true) for this start, and unlock with '
                'clear_stop')
        if signs or missing:
            journal.append(lock_of(signs) if signs else lock_of(missing, MISSING))
            journal.barrier().result()  # notes the row as the last one
    except BaseException:
        journal.close()
        raise
    return journal


def lock_of(signs: str, why: str = LOCKED) -> Entry:
    """Return the entry by which nothing starts until a person has looked at the robot."""
    return Entry('lock', action_id=EVERYTHING, event='lock', cause=why.format(signs=signs))


def signs_of_an_earlier_one(path: Path, traces: str = '', boxes: str = '') -> list[str]:
    """Return what shows that there was a journal at `path`; nothing if one is there."""
    try:
        if path.stat().st_size or not path.is_file():
            return []
        signs = ['the file is empty']
    except OSError:
        signs = []
    for suffix in ('.lock', '-wal'):
        if _size(path.with_name(path.name + suffix)):
            signs.append(f'{path.name}{suffix} is there')
    for file in _with_given(path.with_name(f'{path.stem}.traces'), traces):
        if _size(file):
            try:
                if has_traces(file):
                    signs.append(f'{file.name} has evidence of actions')
            except TraceError:
                signs.append(f'{file.name} is there')
    for folder, given, ending in (('boxes', boxes, '.mcap'), ('recipes', '', '.json')):
        for place in _with_given(path.with_name(f'{path.stem}.{folder}'), given):
            if next(place.glob(f'*{ending}'), None) is not None:
                signs.append(f'{place.name} is not empty')
    return signs


def _with_given(beside: Path, given: str) -> list[Path]:
    """Return the path of a file beside the journal, and a given one if it is another."""
    other = Path(os.path.realpath(Path(given).expanduser())) if given else beside
    return [beside] if other == beside else [beside, other]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
