#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Build the interface packages that Kilted's wheels lack from the definitions in the private Jazzy.

usage: kilted_interfaces.py WORKSPACE (in the environment of tools/kilted)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
import sys
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from interface_sources import Checkouts, updated  # noqa: E402
from interface_table import Package, PARTS, Table  # noqa: E402
from interface_workspace import build, write  # noqa: E402
from private_jazzy import JAZZY, RUNTIME_WHEEL  # noqa: E402

PACKAGES = ('control_msgs', 'tf2_msgs', 'vision_msgs')


def main(arguments: list[str]) -> int:
    """Write the packages into the workspace and build them."""
    (workspace,) = map(Path, arguments)
    write(defined(Checkouts(JAZZY / 'share')), workspace)
    build(workspace)
    return 0


def defined(checkouts: Checkouts) -> Table:
    """Return all types of the packages."""
    table = {name: Package(repository=RUNTIME_WHEEL, branch='jazzy', types={})
             for name in PACKAGES}
    types = updated(table, checkouts, all_types(checkouts.packages))
    return {name: Package(
        repository=package.repository, branch=package.branch, types=package.types,
        commit=ElementTree.parse(checkouts.packages[name] / 'package.xml').findtext('version', ''))
            for name, package in types.items()}


def all_types(folders: Mapping[str, Path]) -> dict[str, Path]:
    """Return the types that the packages define, each with its file."""
    return {f'{name}/{kind}/{path.stem}': path for name in PACKAGES for kind in PARTS
            for path in sorted((folders[name] / kind).glob(f'*.{kind}'))}


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
