# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The source positions of a flow's actions, in its file or in edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

from ...documents.errors import Fault
from ...documents.yaml_document import Document, Key, Position

Path = tuple[Union[str, int], ...]


class ActionSource(NamedTuple):
    """The source of an action: a document, a path in it, and the value there."""

    document: Document
    path: Path
    raw: Mapping[str, Any]


class FlowDocument(Document):
    """The document of a flow; fields from `defaults` have the position of the default."""

    def __init__(self, base: Document) -> None:
        super().__init__(base.name, base.data, base.mark(), {})
        self.base = base

    def mark(self, path: Sequence[Key] = ()) -> Position:
        """Return line and column of the value at `path`, or of its default."""
        return self.base.mark(('defaults', *path[2:]) if self._is_default(path) else path)

    def fault(self, path: Sequence[Key], message: str) -> Fault:
        """Return a fault; its message says if the value comes from `defaults`."""
        if self._is_default(path):
            message += " (from 'defaults')"
        return super().fault(path, message)

    def _is_default(self, path: Sequence[Key]) -> bool:
        """Return whether the field at `path` comes from `defaults`."""
        if len(path) < 3 or path[0] != 'actions':
            return False
        raw = self.data['actions'].get(path[1], {})
        return path[2] not in raw and path[2] in (self.data.get('defaults') or {})


class EditedDocument(Document):
    """The document of a flow with actions from other documents."""

    def __init__(self, base: Document, sources: Mapping[str, ActionSource]) -> None:
        super().__init__(base.name, base.data, base.mark(), {})
        self.base = base
        self.sources = sources

    def mark(self, path: Sequence[Key] = ()) -> Position:
        """Return line and column in the document of the action at `path`."""
        document, path = self._where(path)
        return document.mark(path)

    def fault(self, path: Sequence[Key], message: str) -> Fault:
        """Return a fault with its position in the document of the action at `path`."""
        document, path = self._where(path)
        return document.fault(path, message)

    def _where(self, path: Sequence[Key]) -> tuple[Document, Sequence[Key]]:
        if len(path) > 1 and path[0] == 'actions' and path[1] in self.sources:
            source = self.sources[str(path[1])]
            return source.document, (*source.path, *path[2:])
        return self.base, path


class PlacedDocument(Document):
    """A document that stands in another one, at `path`."""

    def __init__(self, base: Document, path: Path, data: Any) -> None:
        super().__init__(base.name, data, base.mark(path), {})
        self._base = base
        self._path = path

    def mark(self, path: Sequence[Key] = ()) -> Position:
        """Return line and column of the value at `path`."""
        return self._base.mark((*self._path, *path))

    def fault(self, path: Sequence[Key], message: str) -> Fault:
        """Return a fault with its position in the outer document."""
        return self._base.fault((*self._path, *path), message)
