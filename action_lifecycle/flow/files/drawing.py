# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drawings of flows: Mermaid, Graphviz or a table."""

from __future__ import annotations

from collections.abc import Iterator

from .flow import LoadedFlow
from .loops import LoopSpec
from ...graphs.drawing import dot_lines, Drawing, mermaid_ids, mermaid_label, render, table_lines
from ...lifecycle.spec import ActionSpec, WhenSpec
from ...lifecycle.work import NestingSpec


def render_flow(flow: LoadedFlow, format: str = 'mermaid') -> str:  # noqa: A002
    """Return a flow in format `mermaid`, `dot` (Graphviz) or `table` (Markdown)."""
    return render(flow, format, FORMATS)


def _edges(flow: LoadedFlow) -> Iterator[tuple[str, str, str]]:
    """Yield the dependencies: earlier action, later action, kind or condition."""
    for name, action in flow.actions.items():
        for needed, kind in action.after.items():
            yield needed, name, kind.condition if isinstance(kind, WhenSpec) \
                else '' if kind == 'success' else kind


def _inside(flow: LoadedFlow, name: str, action: ActionSpec) -> str:
    """Return which flows the work of an action is; '' if it is none."""
    nested = flow.nested.get(name, {})
    return ', '.join(
        f"for each {step.name}{f' ({len(step.elements)})' if index in nested else ''}"
        if isinstance(step, LoopSpec) else f'flow {nested[index][1].name}'
        for index, step in enumerate(action.steps) if isinstance(step, NestingSpec))


def _mermaid(flow: LoadedFlow) -> Iterator[str]:
    """Yield a flow chart: motions are boxes, flows boxes with a double border, others round."""
    ids = mermaid_ids(flow.actions)
    yield 'flowchart TD'
    for name, action in flow.actions.items():
        inside = _inside(flow, name, action)
        left, right = ('[[', ']]') if inside else ('[', ']') if action.physical else ('(', ')')
        label = f'{name}: {inside}' if inside else name
        yield f'    {ids[name]}{left}"{mermaid_label(label)}"{right}'
    for needed, name, terms in _edges(flow):
        label = f'|"{mermaid_label(terms)}"|' if terms else ''
        yield f'    {ids[needed]} -->{label} {ids[name]}'


def _dot(flow: LoadedFlow) -> Iterator[str]:
    """Return a directed graph: motions are boxes, flows 3D boxes, others ellipses."""
    return dot_lines(flow.name, (
        (name, 'box' if action.physical else 'box3d' if _inside(flow, name, action)
         else 'ellipse', action.description or _inside(flow, name, action))
        for name, action in flow.actions.items()), _edges(flow))


def _table(flow: LoadedFlow) -> list[str]:
    after: dict[str, list[str]] = {name: [] for name in flow.actions}
    for needed, name, terms in _edges(flow):
        after[name].append(f'{needed} ({terms})' if terms else needed)
    rows = [('action', 'after', 'work', 'confirmed by', 'resources')]
    for name, action in flow.actions.items():
        rows.append((
            name, ', '.join(after[name]),
            _inside(flow, name, action)
            or ', '.join(dict.fromkeys(step.target for step in action.steps)),
            ' and '.join(item.condition for item in action.confirm),
            ', '.join(action.resources)))
    return table_lines(rows)


FORMATS: dict[str, Drawing] = {'mermaid': _mermaid, 'dot': _dot, 'table': _table}
