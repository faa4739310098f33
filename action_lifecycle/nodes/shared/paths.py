# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Paths of the files that the nodes share."""

from __future__ import annotations

from pathlib import Path
import re

from ...documents.errors import LifecycleError
from ...documents.suggestions import nearest
from ...journal.location import default_journal
from ...ros.node.lifecycle_node import ManagedNode

_FLOW_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z')


def journal_path(node: ManagedNode, kind: str = '') -> Path:
    """
    Return the path of the journal: the parameter, or a file per namespace in the ROS home.

    `kind`: part of the default name of a journal that is not that of the action node.
    """
    given = str(node.parameter('journal_path'))
    return Path(given).expanduser() if given else default_journal(node.get_namespace(), kind)


def new_journal_path(node: ManagedNode, kind: str = '') -> Path:
    """Return `journal_path` of a node that writes it, and create its folder."""
    path = journal_path(node, kind)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LifecycleError(f"{path}: the folder of the journal can't be created: "
                             f'{error.filename}: {error.strerror}') from error
    return path


def recipe_folder(node: ManagedNode, journal: Path) -> Path:
    """Return the folder of the recipes: the parameter, or a folder beside the journal."""
    given = str(node.parameter('recipe_folder'))
    return Path(given).expanduser() if given else journal.with_name(f'{journal.stem}.recipes')


def find_flow(name: str, folders: list[str]) -> Path:
    """Return the file of a flow given by name; raises LifecycleError if not in `folders`."""
    return find_file(name, folders, 'flow', ", with the kind 'yaml'")


def find_file(name: str, folders: list[str], kind: str, hint: str = '') -> Path:
    """Return the YAML file of a `kind` given by name; raises LifecycleError."""
    if not _FLOW_NAME.match(name) or '..' in name:
        raise LifecycleError(f'{name!r} is not the name of a {kind} file: expected letters, '
                             f"digits, _, - and ., of a file in {', '.join(folders)}; or give the "
                             f'text of the {kind} itself{hint}')
    known: list[str] = []
    for folder in map(Path, folders):
        for candidate in (folder / name, folder / f'{name}.yaml'):
            if candidate.is_file():
                return candidate
        known += [path.stem for path in folder.glob('*.yaml')]
    raise LifecycleError(f"there is no {kind} '{name}' in {', '.join(folders)}"
                         + nearest(name, known))
