# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The table of interfaces that other repositories define: test/interfaces/upstream.yaml.

A type is `PACKAGE/msg|srv|action/NAME`. Its parts (one of a message, two of a service, three of an
action) map each name to `TYPE`, `TYPE DEFAULT`, or `TYPE=VALUE` for a constant; types of fields
are written as in a .msg file, those of messages with their package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
import re

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.documents.models import StrictModel, validate
from action_lifecycle.documents.yaml_document import parse_document
import yaml

TABLE = Path(__file__).resolve().parent.parent / 'test' / 'interfaces' / 'upstream.yaml'
STACKS = TABLE.parents[2] / 'config' / 'stacks'
PARTS = {'msg': 1, 'srv': 2, 'action': 3}

Part = dict[str, str]

_TYPE = re.compile(r'\b([a-z][a-z0-9_]*)/(msg|srv|action)/([A-Z][A-Za-z0-9]*)\b')
_KEY = re.compile(r'(msg|srv|action)/[A-Z][A-Za-z0-9]*')
_CONSTANT = re.compile(r'([a-z0-9]+)=(.*)', re.DOTALL)
_NESTED = re.compile(r'([a-z][a-z0-9_]*)/([A-Z][A-Za-z0-9]*)')


class Package(StrictModel):
    """A package of the table: where upstream is, the commit that was read, and its types."""

    repository: str
    branch: str
    commit: str = ''
    types: dict[str, list[Part]]


Table = dict[str, Package]


def read_table(path: Path = TABLE) -> Table:
    """Read the table; raises DocumentError with all faults and their positions."""
    document = parse_document(path.read_bytes(), str(path))
    table = {name: validate(document, Package, data=data, path=[name])
             for name, data in document.data.items()}
    faults = [document.fault((name, 'types', key), expected)
              for name, package in table.items() for key, parts in package.types.items()
              if (expected := _fault(key, parts))]
    if faults:
        raise DocumentError(faults)
    return table


def _fault(key: str, parts: list[Part]) -> str:
    if not _KEY.fullmatch(key):
        return f"type '{key}': expected msg/NAME, srv/NAME or action/NAME"
    wanted = PARTS[key.partition('/')[0]]
    if len(parts) != wanted:
        return f"type '{key}': expected {wanted} part{'s' * (wanted > 1)}, got {len(parts)}"
    return ''


def write_table(table: Table, path: Path = TABLE) -> None:
    """Write the table; the comment at its beginning stays."""
    lines = path.read_text(encoding='utf-8').splitlines(keepends=True)
    heading = ''.join(line for line in lines if line.startswith('#'))
    data = {name: {'repository': package.repository, 'branch': package.branch,
                   'commit': package.commit, 'types': package.types}
            for name, package in table.items()}
    path.write_text(heading + yaml.safe_dump(data, default_flow_style=None, sort_keys=False,
                                             width=99), encoding='utf-8')


def used_types(folder: Path = STACKS) -> dict[str, Path]:
    """Return the types that the files of a folder name, each with the first file that does."""
    found: dict[str, Path] = {}
    for path in sorted([*folder.rglob('*.yaml'), *folder.rglob('*.md')]):
        for match in _TYPE.finditer(path.read_text(encoding='utf-8')):
            found.setdefault(match.group(), path)
    return found


def nested_types(parts: Iterable[Part]) -> Iterator[str]:
    """Yield the types of messages that are fields of these parts."""
    for part in parts:
        for value in part.values():
            if not _CONSTANT.fullmatch(value) and (match := _NESTED.match(value)):
                yield f'{match.group(1)}/msg/{match.group(2)}'


def definition(parts: Iterable[Part]) -> str:
    """Return the content of the .msg, .srv or .action file."""
    return '---\n'.join(''.join(_line(name, value) for name, value in part.items())
                        for part in parts)


def _line(name: str, value: str) -> str:
    if constant := _CONSTANT.fullmatch(value):
        return f'{constant.group(1)} {name}={constant.group(2)}\n'
    kind, _, default = value.partition(' ')
    return f'{kind} {name} {default}'.rstrip() + '\n'
