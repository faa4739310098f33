# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Files that verbs write where a person says.

They replace nothing but an earlier file of the same kind, and never an input: a journal, what is
stored beside it, a flow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import stat
from typing import TextIO

from ..documents.durable_file import replacing
from ..documents.errors import LifecycleError

HEAD = 512  #: bytes in which the kind of a file is looked for
HTML, JSON, CSV, DIFF = '<!doctype html', '{', '', '--- '
"""How files of a kind begin, after white space; '': only an empty one is replaced."""
STORE_FILES = ('', '-wal', '-shm', '-journal', '.lock')  #: endings of the files of a store
STORE_FOLDERS = ('.boxes', '.recipes')  #: beside a journal, in place of its ending


class OutputFile:
    """
    A file that a verb is going to write, as a whole or not at all.

    `option`: for errors; `begins`: the first characters of each file of its kind, in any case;
    `inputs`: what the verb reads; `force`: also replace a regular file of another kind. Raises
    LifecycleError if the file must not be written.
    """

    def __init__(
        self, option: str, path: str, begins: str, inputs: Iterable[str | Path] = (), *,
        force: bool = False,
    ) -> None:
        self.path = Path(path)
        self._option = option
        self._begins = begins
        self._inputs = [Path(each) for each in inputs if each]
        self._force = force
        self._check()

    @contextmanager
    def open(self) -> Iterator[TextIO]:  # noqa: A003
        """Yield a stream whose text is the content of the file from the end of the block on."""
        self._check()
        try:
            with replacing(self.path) as part, \
                    part.open('x', encoding='utf-8', newline='') as stream:
                yield stream
        except OSError as error:
            raise LifecycleError(f'{self._option}: {error}') from error

    def write(self, text: str) -> None:
        """Write the whole content."""
        with self.open() as stream:
            stream.write(text)

    def _check(self) -> None:
        why = self._refusal()
        if why:
            raise LifecycleError(f"{self._option}: '{self.path}' {why}")

    def _refusal(self) -> str:
        """Return why the file must not be written; '' if it may."""
        for given in self._inputs:
            if self._is_of(given):
                return f"is not written: it is the input '{given}', or belongs to it"
        try:
            kind = self.path.lstat().st_mode
        except FileNotFoundError:
            return ''
        except (OSError, ValueError) as error:
            return f'can not be written: {getattr(error, "strerror", None) or error}'
        if stat.S_ISLNK(kind):
            return f"is a symbolic link, to '{os.readlink(self.path)}'; give the file itself"
        if not stat.S_ISREG(kind):
            return 'is no regular file'
        if self._force or not self.path.stat().st_size:
            return ''
        try:
            with self.path.open('rb') as file:
                found = file.read(HEAD).lstrip()
        except OSError as error:
            return f'can not be read: {error.strerror}'
        if self._begins and found.lower().startswith(self._begins.lower().encode()):
            return ''
        return 'is there, with other content; give another name, or --force to replace it'

    def _is_of(self, given: Path) -> bool:
        """Return whether the file is an input, or stored beside it."""
        for found in {given, Path(os.path.realpath(given))}:
            beside, stem = found.parent, found.stem
            files = {beside / f'{store}{more}' for store in (found.name, f'{stem}.traces')
                     for more in STORE_FILES}
            folders = {beside / f'{stem}{ending}' for ending in STORE_FOLDERS}
            if any(_same(self.path, file) for file in files) \
                    or any(_same(self.path.parent, folder) for folder in folders):
                return True
        return False


def _same(one: Path, other: Path) -> bool:
    """Return whether two paths name one file, also through links, or if it is not there yet."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)
