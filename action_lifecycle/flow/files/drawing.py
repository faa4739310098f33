# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drawings of flows: Mermaid, Graphviz or a table."""

from __future__ import annotations

from collections.abc import Iterator

from .flow import Flow
from ...graphs.drawing import dot_lines, Drawing, mermaid_ids, mermaid_label, render, table_lines
from ...lifecycle.spec import WhenSpec


def render_flow(flow: Flow, format: str = 'mermaid') -> str:  # noqa: A002
    """Return a flow in format `mermaid`, `dot` (Graphviz) or `table` (Markdown)."""
    return render(flow, format, FORMATS)


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
        yield f'    {ids[name]}{left}"{mermaid_label(name)}"{right}'
    for needed, name, terms in _edges(flow):
        label = f'|"{mermaid_label(terms)}"|' if terms else ''
        yield f'    {ids[needed]} -->{label} {ids[name]}'


def _dot(flow: Flow) -> Iterator[str]:
    """Return a directed graph; actions with a motion are boxes, others are ellipses."""
    return dot_lines(flow.name, (
        (name, 'box' if action.physical else 'ellipse', action.description)
        for name, action in flow.actions.items()), _edges(flow))


def _table(flow: Flow) -> list[str]:
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
    return table_lines(rows)


FORMATS: dict[str, Drawing] = {'mermaid': _mermaid, 'dot': _dot, 'table': _table}
