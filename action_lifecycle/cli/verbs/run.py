# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parsers of the verbs that show a running flow: run, watch."""

from __future__ import annotations

from typing import Any

from ..arguments import add_nodes, add_verb, lazily


def add_parser(commands: Any) -> None:
    """Add the verbs."""
    run = add_verb(
        commands, 'run', lazily('running.following', 'run'),
        help='run a flow and show its progress',
        example='run my_flow.yaml -p force=8.0\nrun --request "put all parts away"')
    run.add_argument('flow', metavar='FLOW', nargs='?', default='', help='a flow file, or the '
                     'name of a flow in the flow folders of the node')
    source = run.add_mutually_exclusive_group()
    source.add_argument('--reuse', default='', metavar='NAME', help='run this recipe instead')
    source.add_argument('--request', default='', metavar='WORDS',
                        help='have the planner of the node make the flow')
    run.add_argument('-p', '--param', '--set', action='append', default=[], metavar='NAME=VALUE',
                     help='a parameter of the flow; the value is YAML: 8.0, true, text, [1, 2]')
    run.add_argument('--recipe', default='', metavar='NAME',
                     help='save the flow as this recipe if all its actions are verified')
    run.add_argument('--lease', default='', metavar='NAME',
                     help='start motions only while this claim is held')
    run.add_argument('--flow-id', default='', metavar='FLOW_ID',
                     help='id of the flow (default: made from its name)')
    run.add_argument('--priority', type=int, default=0, metavar='N',
                     help='higher goes first (default: 0)')
    run.add_argument('--plain', action='store_true', help='lines instead of a live table')
    run.add_argument('-v', '--verbose', action='store_true',
                     help='with --plain: a line for each change of state')
    run.add_argument('--json', metavar='FILE', help='write the summary to this file')

    watch = add_verb(
        commands, 'watch', lazily('running.live', 'watch'), help='show flows and actions live',
        example='watch --namespace robot1\nwatch --flow pick-1f2e3d4c')
    watch.add_argument('--flow', default='', metavar='FLOW_ID', help='only this flow')
    for parser in (run, watch):
        add_nodes(parser)
