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

"""Arguments and exit codes of the console command; each command's work is in its own module."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import sys

from . import ledger
from .exits import BAD_INPUT, DONE, INTERRUPTED, NOT_THERE, NotThere
from ..engine.errors import DocumentError, LifecycleError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns 0 done, 1 the flow failed, 2 bad input, 3 the system is absent."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.command(options)
    except NotThere as error:
        print(f'action_lifecycle: {error}', file=sys.stderr)
        return NOT_THERE
    except DocumentError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except LifecycleError as error:
        print(f'action_lifecycle: {error}', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print('action_lifecycle: interrupted', file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return DONE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='action_lifecycle', description='Verified, journaled robot actions.',
        epilog='Exit codes: 0 done, 1 the flow failed, 2 bad input, 3 the system is not there, '
        '130 interrupted.')
    commands = parser.add_subparsers(required=True, metavar='COMMAND')

    validate = commands.add_parser('validate', help='check flow, facts and graph files')
    validate.add_argument('files', nargs='+', metavar='FILE')
    validate.add_argument('--facts', metavar='FILE', help='check the names of facts against this')
    validate.set_defaults(command=_validate)

    graph = commands.add_parser('graph', help='draw a graph file')
    graph.add_argument('file', metavar='FILE')
    graph.add_argument('--format', choices=('mermaid', 'dot', 'table'), default='table')
    graph.set_defaults(command=_graph)

    schema = commands.add_parser('schema', help='print the JSON Schema of a kind of file')
    schema.add_argument('kind', choices=('graph', 'flow', 'edit', 'facts', 'recipe'))
    schema.set_defaults(command=_schema)

    run = commands.add_parser('run', help='run a flow and show how it goes')
    run.add_argument('flow', metavar='FLOW', nargs='?', default='', help='a flow file, or the '
                     'name of one that the node has in its flow folders')
    source = run.add_mutually_exclusive_group()
    source.add_argument('--reuse', default='', metavar='NAME', help='run this recipe instead')
    source.add_argument('--request', default='', metavar='WORDS',
                        help='have the planner of the node make the flow')
    run.add_argument('-p', '--param', '--set', action='append', default=[], metavar='NAME=VALUE',
                     help='a parameter of the flow; the value is YAML: 8.0, true, text, [1, 2]')
    run.add_argument('--recipe', default='', metavar='NAME',
                     help='keep what worked as this recipe, if all of it is verified')
    run.add_argument('--lease', default='', metavar='NAME',
                     help='start motions only while this claim is held')
    run.add_argument('--flow-id', default='', help='default: made from the name')
    run.add_argument('--priority', type=int, default=0, help='higher goes first')
    run.add_argument('--plain', action='store_true', help='lines instead of a live table')
    run.add_argument('--json', metavar='FILE', help='write the summary there')
    run.set_defaults(command=_run)

    watch = commands.add_parser('watch', help='show flows and actions live')
    watch.set_defaults(command=_watch)

    listing = commands.add_parser('list', help='list actions, the newest change first')
    listing.add_argument('--flow', default='', metavar='FLOW_ID')
    listing.add_argument('--state', action='append', default=[])
    listing.add_argument('--open', action='store_true', help='only those not terminated')
    listing.add_argument('--limit', type=int, default=50)
    listing.set_defaults(command=_list)

    history = commands.add_parser('history', help='show what happened to an action')
    history.add_argument('action', metavar='ACTION', help='its id, or FLOW_ID/ID')
    history.add_argument('--flow', default='', metavar='FLOW_ID', help='only of this flow')
    history.set_defaults(command=_history)

    journal = commands.add_parser('journal', help='check or export a journal file')
    parts = journal.add_subparsers(required=True, metavar='COMMAND')
    verify = parts.add_parser('verify', help='tell what is wrong with it; code 2 if anything is')
    verify.set_defaults(command=_verify_journal)
    export = parts.add_parser('export', help='write its rows as text')
    export.add_argument('--format', choices=('jsonl', 'csv'), default='jsonl')
    export.add_argument('--output', default='', metavar='FILE', help='a new file; else stdout')
    export.set_defaults(command=_export_journal)
    for part in (verify, export):
        part.add_argument('file', metavar='JOURNAL')

    dialogue = commands.add_parser('dialogue', help='show what was asked and answered in a flow')
    dialogue.add_argument('flow', metavar='FLOW_ID')
    dialogue.set_defaults(command=_dialogue)

    operator = commands.add_parser(
        'operator', help='answer the questions of all robots on the graph')
    operator.add_argument('--actor', default='', help='who answers (default: user@host)')
    operator.add_argument('--once', action='store_true', help='end after one answer')
    operator.add_argument('--list', action='store_true', help='print the open questions as JSON')
    operator.add_argument('--answer', metavar='OPTION', help='answer the oldest question that '
                          'fits, without a terminal')
    operator.add_argument('--comment', default='', help='recorded with --answer')
    operator.add_argument('--id', default='', help='only the question whose id begins so')
    operator.add_argument('--flow', default='', metavar='FLOW_ID', help='only of this flow')
    operator.add_argument('--action', default='', help='only of this action')
    operator.set_defaults(command=_operator)

    ledger.add_parser(commands)
    for command in (run, watch, listing, history, dialogue, operator):
        command.add_argument('--namespace', default='', metavar='NS', help='of the robot')
        command.add_argument('--wait', type=float, default=10.0, metavar='S',
                             help='for the nodes to be there (default: 10)')
    for command in (listing, history, dialogue):
        command.add_argument('--journal', metavar='FILE',
                             help='read this journal instead of asking the nodes')
    return parser


def _verify_journal(options: argparse.Namespace) -> int:
    from .journal import verify
    return verify(options)


def _export_journal(options: argparse.Namespace) -> int:
    from .journal import export
    return export(options)


def _validate(options: argparse.Namespace) -> int:
    from .files import validate
    return validate(options.files, options.facts)


def _graph(options: argparse.Namespace) -> int:
    from .files import draw
    return draw(options.file, options.format)


def _schema(options: argparse.Namespace) -> int:
    from .files import print_schema
    return print_schema(options.kind)


def _run(options: argparse.Namespace) -> int:
    from .run import run
    return run(options)


def _watch(options: argparse.Namespace) -> int:
    from .watch import watch
    return watch(options)


def _list(options: argparse.Namespace) -> int:
    from .records import list_actions
    return list_actions(options)


def _history(options: argparse.Namespace) -> int:
    from .records import show_history
    return show_history(options)


def _dialogue(options: argparse.Namespace) -> int:
    from .dialogue import show_dialogue
    return show_dialogue(options)


def _operator(options: argparse.Namespace) -> int:
    from .operator import operator
    return operator(options)
