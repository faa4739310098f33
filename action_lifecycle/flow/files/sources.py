# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The files of nested flows: found when the outer flow is loaded, then kept with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...documents.errors import LifecycleError
from ...documents.input_file import read_text
from ...documents.suggestions import nearest
from ...graphs.packaged import config_file

SUFFIXES = ('.yaml', '.yml')

Reference = tuple[str, str]
"""The file that names a flow, and what it names."""


class Source(NamedTuple):
    """The file of a nested flow, and its text."""

    file: str
    text: str


class Sources:
    """
    The texts of nested flows by reference.

    A name with a slash or a suffix is a path from the folder of the file that names it; others are
    also searched in `folders`. `known`: texts that the journal has, which are not read again.
    """

    def __init__(
        self, folders: Sequence[str] | None = None, known: Mapping[Reference, Source] = {}
    ) -> None:
        self._folders = [str(config_file('flows'))] if folders is None else list(folders)
        self._known = dict(known)

    def find(self, reference: Reference) -> Source:
        """Return the text of a flow; raises `LifecycleError` if there is no such file."""
        source = self._known.get(reference)
        if source is None:
            path = self._path(*reference)
            try:
                source = Source(str(path), read_text(path))
            except (OSError, UnicodeDecodeError) as error:
                raise LifecycleError(f'{path}: can not be read: {error}') from error
            self._known[reference] = source
        return source

    def add(self, known: Mapping[Reference, Source]) -> None:
        """Add texts that the journal has."""
        self._known.update(known)

    def _path(self, beside: str, name: str) -> Path:
        own = Path(beside).parent
        if '/' in name or name.endswith(SUFFIXES):
            if not name.endswith(SUFFIXES):
                raise LifecycleError(f"'{name}': expected a file .yaml or .yml")
            path = own / Path(name).expanduser()
            if not path.is_file():
                raise LifecycleError(f"there is no file '{path}'")
            return path
        folders = [own, *map(Path, self._folders)]
        for folder in folders:
            for candidate in (folder / f'{name}{suffix}' for suffix in SUFFIXES):
                if candidate.is_file():
                    return candidate
        known = [path.stem for folder in folders for path in folder.glob('*.yaml')]
        raise LifecycleError(f"there is no flow '{name}' in {', '.join(map(str, folders))}"
                             + nearest(name, known))


def to_rows(sources: Iterable[tuple[Reference, Source]]) -> list[list[str]]:
    """Return the texts of nested flows as JSON-compatible data."""
    return [[*reference, *source] for reference, source in sources]


def from_rows(rows: Iterable[Sequence[str]]) -> dict[Reference, Source]:
    """Return the texts of nested flows from data made by `to_rows`."""
    return {(beside, name): Source(file, text) for beside, name, file, text in rows}
