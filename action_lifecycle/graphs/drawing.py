# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drawings of graphs: Mermaid, Graphviz or a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
import json
import re
from typing import Any

from .graph import Graph, Transition
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest

Drawing = Callable[[Any], Iterable[str]]  #: returns the lines of a drawing
_KEYWORDS = ('as', 'class', 'classDef', 'click', 'default', 'direction', 'end', 'hide', 'note',
             'scale', 'state', 'style')  #: of Mermaid's state diagrams


def render_graph(graph: Graph, format: str = 'mermaid') -> str:  # noqa: A002
    """Return the graph as a string: `mermaid`, `dot` (Graphviz) or `table` (Markdown)."""
    return render(graph, format, FORMATS)


def render(subject: Any, format: str, formats: Mapping[str, Drawing]) -> str:  # noqa: A002
    """Return a subject in one of the formats; raises `LifecycleError` for an unknown one."""
    if format not in formats:
        raise LifecycleError(f"unknown format '{format}'" + nearest(format, formats)
                             + f" (known: {', '.join(formats)})")
    return '\n'.join(formats[format](subject)) + '\n'


def _mermaid(graph: Graph) -> Iterator[str]:
    """Yield a state diagram; names that are not valid in Mermaid become labels."""
    ids = mermaid_ids(graph.states)
    yield 'stateDiagram-v2'
    for name, key in ids.items():
        if key != name:
            yield f'    state "{mermaid_label(name)}" as {key}'
    yield f'    [*] --> {ids[graph.initial]}'
    for one in graph.transitions:
        yield f'    {ids[one.source]} --> {ids[one.target]}: {mermaid_label(_label(one))}'
    for name, state in graph.states.items():
        if state.final:
            yield f'    {ids[name]} --> [*]'


def mermaid_ids(names: Iterable[str]) -> dict[str, str]:
    """Return the Mermaid id of each name; names that are not valid ids get s0, s1, …."""
    return {name: name if re.fullmatch(r'[A-Za-z_]\w*', name) and name not in _KEYWORDS
            else f's{number}' for number, name in enumerate(names)}


def _dot(graph: Graph) -> Iterator[str]:
    """Return a directed graph; final states have a double border."""
    return dot_lines(
        graph.name, ((name, 'doublecircle' if state.final else 'box', state.description)
                     for name, state in graph.states.items()),
        ((one.source, one.target, _label(one)) for one in graph.transitions), graph.initial)


def dot_lines(
    name: str, nodes: Iterable[tuple[str, str, str]], edges: Iterable[tuple[str, str, str]],
    initial: str = '',
) -> Iterator[str]:
    """Yield a graph; nodes: name, shape, tooltip; edges: source, target, label."""
    yield f'digraph {json.dumps(name)} {{'
    if initial:
        yield from ('    rankdir=LR;', '    "" [shape=point];')
    for node, shape, tooltip in nodes:
        yield f'    {_quoted(node)} [shape={shape}, tooltip={_quoted(tooltip)}];'
    if initial:
        yield f'    "" -> {_quoted(initial)};'
    for source, target, label in edges:
        yield f'    {_quoted(source)} -> {_quoted(target)} [label={_quoted(label)}];'
    yield '}'


def _table(graph: Graph) -> list[str]:
    return table_lines([('from', 'event', 'to', 'if'), *(
        map(mermaid_label, (one.source, one.event, one.target, _guards(one)))
        for one in graph.transitions)])


def table_lines(rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table; the first row has the names of the columns."""
    cells = [[' '.join(cell.split()).replace('|', '\\|') for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ['| ' + ' | '.join(cell.ljust(width) for cell, width in zip(row, widths)) + ' |'
             for row in cells]
    lines.insert(1, '|' + '|'.join('-' * (width + 2) for width in widths) + '|')
    return lines


def _label(transition: Transition) -> str:
    guards = _guards(transition)
    return transition.event + (f' [{guards}]' if guards else '')


def _guards(transition: Transition) -> str:
    return ', '.join([*transition.cond, *(f'not {guard}' for guard in transition.unless)])


def mermaid_label(text: str) -> str:
    """Return a string without the characters that end a Mermaid label."""
    return re.sub(r'[\s"#;:]+', ' ', text).strip()


def _quoted(text: str) -> str:
    """Return a quoted Graphviz string."""
    return '"' + re.sub(r'\s+', ' ', text).replace('\\', '\\\\').replace('"', '\\"') + '"'


FORMATS: dict[str, Drawing] = {'mermaid': _mermaid, 'dot': _dot, 'table': _table}
