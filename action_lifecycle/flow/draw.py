# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Drawings of flows: Mermaid, Graphviz or a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json

from .flow import Flow
from ..engine.draw import mermaid_ids, plain, quoted, table_lines
from ..engine.errors import LifecycleError, nearest
from ..lifecycle.spec import WhenSpec


def render_flow(flow: Flow, format: str = 'mermaid') -> str:  # noqa: A002
    """Return a flow as text: `mermaid`, `dot` (Graphviz) or `table` (Markdown)."""
    if format not in FORMATS:
        raise LifecycleError(f"unknown format '{format}'" + nearest(format, FORMATS)
                             + f" (known: {', '.join(FORMATS)})")
    return '\n'.join(FORMATS[format](flow)) + '\n'


def _edges(flow: Flow) -> Iterator[tuple[str, str, str]]:
    """Yield the dependencies: earlier action, later action, kind or condition."""
    for name, action in flow.actions.items():
        for needed, kind in action.after.items():
            yield needed, name, kind.condition if isinstance(kind, WhenSpec) \
                else '' if kind == 'success' else kind


def _mermaid(flow: Flow) -> Iterator[str]:
    """Yield a flow chart; actions with a motion are boxes, others are round."""
    ids = mermaid_ids(flow.actions)
    yield 'flowchart TD'
    for name, action in flow.actions.items():
        left, right = ('[', ']') if action.physical else ('(', ')')
        yield f'    {ids[name]}{left}"{plain(name)}"{right}'
    for needed, name, terms in _edges(flow):
        label = f'|"{plain(terms)}"|' if terms else ''
        yield f'    {ids[needed]} -->{label} {ids[name]}'


def _dot(flow: Flow) -> Iterator[str]:
    """Yield a directed graph; actions with a motion are boxes, others are ellipses."""
    yield f'digraph {json.dumps(flow.name)} {{'
    for name, action in flow.actions.items():
        yield (f'    {quoted(name)} [shape={"box" if action.physical else "ellipse"}, '
               f'tooltip={quoted(action.description)}];')
    for needed, name, terms in _edges(flow):
        yield f'    {quoted(needed)} -> {quoted(name)} [label={quoted(terms)}];'
    yield '}'


def _table(flow: Flow) -> Iterator[str]:
    after: dict[str, list[str]] = {name: [] for name in flow.actions}
    for needed, name, terms in _edges(flow):
        after[name].append(f'{needed} ({terms})' if terms else needed)
    rows = [('action', 'after', 'motion', 'confirmed by', 'resources')]
    for name, action in flow.actions.items():
        rows.append((
            name, ', '.join(after[name]),
            ', '.join(dict.fromkeys(step.server for step in action.motion)),
            ' and '.join(item.condition for item in action.confirm),
            ', '.join(action.resources)))
    yield from table_lines(rows)


FORMATS: dict[str, Callable[[Flow], Iterator[str]]] = {
    'mermaid': _mermaid, 'dot': _dot, 'table': _table,
}
