# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parsers of the verbs that work on files: validate, graph, schema."""

from __future__ import annotations

from typing import Any

from ..arguments import add_verb, lazily


def add_parser(commands: Any) -> None:
    """Add the verbs."""
    validate = add_verb(
        commands, 'validate', lazily('checking', 'validate'),
        help='check flow, facts, graph, recipe and edit files',
        example='validate my_flow.yaml --facts config/facts/cell.yaml\n'
        'validate my_edit.yaml --flow my_flow.yaml\nvalidate my_graph.yaml --states my_states')
    validate.add_argument('files', nargs='+', metavar='FILE',
                          help='file to check; its content tells its kind')
    validate.add_argument('--facts', metavar='FILE',
                          help='check fact names against this facts file')
    validate.add_argument('--flow', metavar='FILE', default='',
                          help='check edits against this flow')

    graph = add_verb(
        commands, 'graph', lazily('checking', 'draw'), help='draw a graph file or a flow file',
        example='graph config/graphs/action.yaml --format mermaid\ngraph my_flow.yaml')
    graph.add_argument('file', metavar='FILE', help='a graph or a flow file')
    graph.add_argument('--format', choices=('mermaid', 'dot', 'table'), default='table',
                       help='output format (default: table)')
    for parser in (validate, graph):
        parser.add_argument('--states', metavar='FOLDER', action='append', default=[],
                            help='folder with state types of your own, state_NAME.py')

    schema = add_verb(
        commands, 'schema', lazily('checking', 'print_schema'),
        help='print the JSON Schema of a kind of file', example='schema flow > flow.schema.json')
    schema.add_argument('kind', choices=('graph', 'flow', 'edit', 'facts', 'recipe'),
                        help='what the schema describes')
