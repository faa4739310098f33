# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads interfaces from checkouts of the repositories that define them, and compares them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import redirect_stderr
import io
import json
from pathlib import Path
import subprocess
from xml.etree import ElementTree

from interface_table import nested_types, Package, Part, Table
from rosidl_adapter.parser import (
    InvalidSpecification,
    InvalidValue,
    MessageSpecification,
    parse_action_file,
    parse_message_file,
    parse_service_file,
)


class SourceError(Exception):
    """A checkout can't be read; the message names the file."""


class Checkouts:
    """The packages below a folder, by the names in their package.xml."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packages = {}
        for path in sorted(folder.rglob('package.xml')):
            try:
                name = (ElementTree.parse(path).findtext('name') or '').strip()
            except ElementTree.ParseError as error:
                raise SourceError(f'{path}: {error}') from error
            self.packages.setdefault(name, path.parent)

    def read(self, kind: str) -> list[Part] | None:
        """Return the parts of a type; None if there is no such file."""
        package, folder, name = kind.split('/')
        path = self.packages[package] / folder / f'{name}.{folder}'
        if not path.is_file():
            return None
        try:
            with redirect_stderr(io.StringIO()):  # the parser prints the error, too
                return _parsed(package, folder, path)
        except (InvalidSpecification, InvalidValue, NameError, TypeError, ValueError) as error:
            raise SourceError(f'{path}: {error}') from error

    def commit(self, package: str) -> str:
        """Return the commit of a package's checkout; '' if it is not one of git."""
        done = subprocess.run(['git', '-C', self.packages[package], 'rev-parse', 'HEAD'],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return done.stdout.strip()


def _parsed(package: str, folder: str, path: Path) -> list[Part]:
    if folder == 'msg':
        return [_part(parse_message_file(package, path))]
    if folder == 'srv':
        service = parse_service_file(package, path)
        return [_part(service.request), _part(service.response)]
    action = parse_action_file(package, path)
    return [_part(action.goal), _part(action.result), _part(action.feedback)]


def _part(specification: MessageSpecification) -> Part:
    return {**{constant.name: f'{constant.type}={_value(constant.value)}'
               for constant in specification.constants},
            **{field.name: str(field.type) if field.default_value is None
               else f'{field.type} {_value(field.default_value)}'
               for field in specification.fields}}


def _value(value: object) -> str:
    return json.dumps(value)


def updated(table: Table, checkouts: Checkouts, used: dict[str, Path]) -> Table:
    """Return the table with the used types and what they contain, as the checkouts have them."""
    types: dict[str, dict[str, list[Part]]] = {name: {} for name in table}
    waiting = [kind for kind in used if kind.partition('/')[0] in table]
    while waiting:
        kind = waiting.pop()
        package, _, key = kind.partition('/')
        if package not in table or key in types[package]:
            continue
        parts = checkouts.read(kind) if package in checkouts.packages else None
        if parts is None:
            raise SourceError(f'{checkouts.folder}: no {kind}; check out '
                              f'{table[package].repository}, branch {table[package].branch}')
        types[package][key] = parts
        waiting += nested_types(parts)
    return {name: package if name not in checkouts.packages else Package(
                repository=package.repository, branch=package.branch,
                commit=checkouts.commit(name), types=dict(sorted(types[name].items())))
            for name, package in table.items()}


def differences(table: Table, checkouts: Checkouts) -> Iterator[str]:
    """Yield how each type of the table differs from the checkouts."""
    for name, package in table.items():
        if name not in checkouts.packages:
            yield (f'{name}: not below {checkouts.folder}; expected a checkout of '
                   f'{package.repository}, branch {package.branch}')
            continue
        for key, parts in package.types.items():
            found = checkouts.read(f'{name}/{key}')
            if found is None:
                yield f'{name}/{key}: upstream has no such file'
                continue
            for number, (here, there) in enumerate(zip(parts, found)):
                where = f'{name}/{key}' + (f', part {number + 1}' if len(parts) > 1 else '')
                yield from (f'{where}: {text}' for text in _compared(here, there))


def _compared(here: Part, there: Part) -> Iterator[str]:
    for name in {**here, **there}:
        if name not in there:
            yield f"'{name}' ({here[name]}) is not upstream"
        elif name not in here:
            yield f"'{name}' ({there[name]}) is missing"
        elif here[name] != there[name]:
            yield f"'{name}' is {here[name]}, upstream it is {there[name]}"
    common = [name for name in here if name in there]
    if common != [name for name in there if name in here]:
        yield f"the order is {', '.join(here)}; upstream it is {', '.join(there)}"


def unlisted(table: Table, used: dict[str, Path]) -> Iterator[str]:
    """Yield the types that are used, or contained in used ones, and are not in the table."""
    for kind, path in used.items():
        package, _, key = kind.partition('/')
        if package in table and key not in table[package].types:
            yield f'{kind}: not in the table; {path} uses it'
    for name, package_ in table.items():
        for key, parts in package_.types.items():
            for kind in nested_types(parts):
                package, _, inner = kind.partition('/')
                if package in table and inner not in table[package].types:
                    yield f'{kind}: not in the table; {name}/{key} contains it'
