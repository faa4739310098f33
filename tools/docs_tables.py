# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Generates tables of the documentation from registries.

usage: tools/ros-env python tools/docs_tables.py

Rewrites each table between `<!-- table: NAME -->` and `<!-- end of table -->` in docs/*.md; a test
compares them.
"""

from __future__ import annotations

from pathlib import Path
import re
import sys
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from action_lifecycle.documents.models import field_names  # noqa: E402
from action_lifecycle.lifecycle.spec import VerifySpec  # noqa: E402
from action_lifecycle.lifecycle.verifiers import VERIFIERS  # noqa: E402
from action_lifecycle.world.expressions.functions import FUNCTIONS  # noqa: E402
from action_lifecycle.world.expressions.reducers import REDUCERS  # noqa: E402
from action_lifecycle.world.expressions.value_types import Kind, widest  # noqa: E402


def functions() -> str:
    """Return the table of the functions of conditions."""
    return _table(('function', 'arguments', 'gives', ''), [
        (f'`{name}`', str(found.fewest) if found.fewest == found.most
         else f'{found.fewest} to {found.most}', _kind(found.gives), found.doc)
        for name, found in FUNCTIONS.items()])


def reducers() -> str:
    """Return the table of the reducers of facts."""
    return _table(('reducer', 'elements', 'window', 'gives', ''), [
        (f'`{name}`', '✓' if found.elements else '', '✓' if found.window else '',
         _kind(found.gives), found.doc)
        for name, found in REDUCERS.items()])


def verifiers() -> str:
    """Return the table of the kinds of verifiers."""
    return _table(('`by`', 'fields', ''), [
        (f'`{name}`', ', '.join(f'`{field}`' for field in field_names(kind)
                                if field not in field_names(VerifySpec)),
         str(kind.__doc__).partition('\n')[0]) for name, kind in VERIFIERS.items()])


def checked() -> str:
    """Return the table of where each field is checked; raises ImportError without ROS."""
    from checked_fields import rows
    return _table(('field', 'what is wrong', 'found'), list(rows()))


TABLES = {'functions': functions, 'reducers': reducers, 'verifiers': verifiers,
          'checked': checked}


def with_tables(text: str) -> str:
    """Return a page with its tables generated again; without ROS, some stay as they are."""
    def generated(found: re.Match[str]) -> str:
        try:
            return f'{found[1]}\n{TABLES[found[2]]()}\n{found[3]}'
        except ImportError:
            return found[0]

    return re.sub(
        r'(<!-- table: (\w+) -->\n).*?(\n<!-- end of table -->)', generated, text,
        flags=re.DOTALL)


def _kind(kind: Any) -> str:
    if isinstance(kind, Kind):
        return kind.value
    return {None: 'as its values', widest: 'as its arguments'}.get(kind, '')


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return '\n'.join(f"| {' | '.join(row)} |".replace('  ', ' ')
                     for row in (head, ('---',) * len(head), *rows))


if __name__ == '__main__':
    for page in sorted((ROOT / 'docs').glob('*.md')):
        page.write_text(with_tables(page.read_text(encoding='utf-8')), encoding='utf-8')
