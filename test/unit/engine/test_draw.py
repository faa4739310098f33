# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drawings show the whole graph, and those of the documentation are up to date."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.engine import LifecycleError, load_graph, render_graph
from action_lifecycle.graphs.packaged import config_file
import pytest

ODD = load_graph("""\
initial: pick up
states:
  pick up: {description: 'say "hello"'}
  end: {}
  done: {final: true}
transitions:
  - {event: 'go; now', from: pick up, to: end, cond: [a, b], unless: c}
  - {event: x|y, from: end, to: done}
""", name='odd.yaml')


def test_mermaid_escapes_what_it_would_not_take() -> None:
    assert render_graph(ODD, 'mermaid') == """\
stateDiagram-v2
    state "pick up" as s0
    state "end" as s1
    [*] --> s0
    s0 --> s1: go now [a, b, not c]
    s1 --> done: x|y
    done --> [*]
"""


def test_dot_quotes_names() -> None:
    assert render_graph(ODD, 'dot') == """\
digraph "odd" {
    rankdir=LR;
    "" [shape=point];
    "pick up" [shape=box, tooltip="say \\"hello\\""];
    "end" [shape=box, tooltip=""];
    "done" [shape=doublecircle, tooltip=""];
    "" -> "pick up";
    "pick up" -> "end" [label="go; now [a, b, not c]"];
    "end" -> "done" [label="x|y"];
}
"""


def test_table_has_a_row_for_each_transition() -> None:
    assert render_graph(ODD, 'table') == """\
| from    | event  | to   | if          |
|---------|--------|------|-------------|
| pick up | go now | end  | a, b, not c |
| end     | x\\|y   | done |             |
"""


def test_unknown_format_is_named() -> None:
    with pytest.raises(LifecycleError, match="unknown format 'dott'; did you mean 'dot'"):
        render_graph(ODD, 'dott')


@pytest.mark.parametrize('name', ['action', 'flow', 'constellation', 'operation'])
def test_diagram_of_the_documentation_is_the_one_of_the_graph(name: str) -> None:
    path = config_file(f'graphs/{name}.yaml')
    drawn = path.parents[2] / 'docs' / 'diagrams' / f'{name}.mmd'
    assert drawn.read_text() == render_graph(load_graph(path), 'mermaid'), (
        f'action_lifecycle graph {path} --format mermaid > {Path("docs/diagrams")}/{name}.mmd')
