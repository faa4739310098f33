# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The parser of the console command; its verbs are in the order of `--help`.

It is built for each `--help` and each completion in the shell, and imports nothing heavy. A verb
names its function as MODULE.FUNCTION below `cli`; `main` imports the module. The function returns
an exit code, or None for success.
"""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version
import textwrap
from typing import Any

from .fleet_verbs import add_fleet_verbs
from .options import add_actor, add_force, add_group, add_json, add_nodes, add_output, add_verb
from .record_verbs import add_file_verbs, add_learn_verbs, add_record_verbs


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of `action_lifecycle`, with all verbs."""
    parser = argparse.ArgumentParser(
        prog='action_lifecycle', description='Verified, journaled robot actions.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add_verbs(parser)
    return parser


def add_verbs(parser: argparse.ArgumentParser) -> None:
    """Add all verbs to the parser of a command; their examples name the command as it does."""
    parser.epilog = textwrap.fill(
        'Exit codes: 0 done, 1 the flow failed, 2 bad input or refused, 3 the system or what was '
        f'asked for is not there, 130 interrupted. `{parser.prog} COMMAND --help` shows the '
        'options of a command and an example.', 80)
    parser.add_argument('--version', action='version', version=_version(),
                        help='print the version of the package and exit')
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    _add_flow_verbs(commands)
    _add_control_verbs(commands)
    _add_operator_verbs(commands)
    add_record_verbs(commands)
    add_fleet_verbs(commands)
    add_learn_verbs(commands)
    _add_session_verbs(commands)
    add_file_verbs(commands)


def _version() -> str:
    try:
        return f"action_lifecycle {version('action_lifecycle')}"
    except PackageNotFoundError:
        return 'action_lifecycle (not installed)'


def _add_flow_verbs(commands: Any) -> None:
    run = add_verb(
        commands, 'run', 'running.following.run', help='run a flow and show its progress',
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
    add_output(run, '--json', 'write the summary to this file')
    add_force(run)

    watch = add_verb(
        commands, 'watch', 'running.live.watch', help='show flows and actions live',
        example='watch --namespace robot1\nwatch --flow pick-1f2e3d4c')
    watch.add_argument('--flow', default='', metavar='FLOW_ID', help='only this flow')

    status = add_verb(
        commands, 'status', 'verbs.status.show_status',
        help='show nodes, safety, flows, questions and jobs',
        description='Show the nodes, safety, flows, open questions and jobs of a robot, or the '
        'actions of one flow.', example='status\nstatus pick-1f2e3d4c')
    status.add_argument('flow', metavar='FLOW_ID', nargs='?', default='',
                        help='show the actions of this flow')
    add_json(status)

    cancel = add_verb(
        commands, 'cancel', 'verbs.orders.cancel', help='stop a flow, an action or a job',
        description='Stop a flow or an action and wait until nothing moves, or remove a '
        'scheduled job; a run of the job that has started goes on.',
        example='cancel pick-1f2e3d4c\ncancel pick-1f2e3d4c/grasp --reason "wrong part"\n'
        'cancel --job nightly')
    cancel.add_argument('target', metavar='FLOW_ID[/ACTION]', nargs='?', default='',
                        help='the flow, or an action of it')
    cancel.add_argument('--job', default='', metavar='JOB_ID', help='a scheduled job instead')
    add_actor(cancel)

    edit = add_verb(
        commands, 'edit', 'verbs.edit.edit', help='change a flow while it runs',
        description='Send an edit to a flow that runs: the whole edit is applied, or nothing.',
        example='edit pick-1f2e3d4c my_edit.yaml --reason "one more part"\n'
        'edit pick-1f2e3d4c - < my_edit.yaml')
    edit.add_argument('flow', metavar='FLOW_ID', help='the flow that is changed')
    edit.add_argument('file', metavar='FILE', help='an edit file; - reads standard input')
    edit.add_argument('--base-seq', type=int, default=0, metavar='N', help='newest journal row '
                      'that you have seen; the edit is refused if the same actions were edited '
                      'after it (default: not checked)')
    add_actor(edit)
    for parser in (run, watch, status, cancel, edit):
        add_nodes(parser)


def _add_control_verbs(commands: Any) -> None:
    pause = add_verb(
        commands, 'pause', 'verbs.control.pause', help='start nothing more of a flow',
        description='Start nothing more of a flow until it is resumed; its actions at work go '
        'on to their end.', example='pause pick-1f2e3d4c --reason "camera is dirty"\n'
        'pause pick-1f2e3d4c --hold')
    pause.add_argument('flow', metavar='FLOW_ID', help='the flow')
    pause.add_argument('--hold', action='store_true',
                       help='stop what moves, too, and wait until it has stopped')

    resume = add_verb(
        commands, 'resume', 'verbs.control.resume',
        help='resume a paused flow, or an action at its breakpoint',
        example='resume pick-1f2e3d4c\nresume pick-1f2e3d4c grasp')
    skip = add_verb(
        commands, 'skip', 'verbs.control.skip', help='end an action as skipped',
        description='End an action as skipped that has not started, or that waits after an '
        'error; the actions that depend on it go on.',
        example='skip pick-1f2e3d4c grasp --reason "put there by hand"')
    retry = add_verb(
        commands, 'retry', 'verbs.control.retry',
        help='run an action again that has not succeeded',
        description='Run an ended action again, with the actions that were skipped because of '
        'it. An action in the state `error` begins its next attempt without its delay.',
        example='retry pick-1f2e3d4c grasp --reason "part is dry now"\nretry grasp')
    retry.add_argument('--flow', default='', metavar='FLOW_ID',
                       help='its flow (default: the newest that has such an action)')
    stop = add_verb(
        commands, 'breakpoint', 'verbs.control.set_breakpoint',
        help='do not start an action until it is resumed',
        example='breakpoint pick-1f2e3d4c grasp --reason "look first"\n'
        'breakpoint pick-1f2e3d4c grasp --clear')
    stop.add_argument('--clear', action='store_true', help='remove the breakpoint')
    for verb, parser in (('resume', resume), ('skip', skip), ('retry', retry),
                         ('breakpoint', stop)):
        parser.add_argument(
            'target', metavar='ACTION|FLOW_ID[/ACTION]' if verb == 'retry' else
            'FLOW_ID[/ACTION]', help='the flow, or FLOW_ID/ACTION'
            + ('; an action: in the newest flow that has it' if verb == 'retry' else ''))
        parser.add_argument('action', metavar='ACTION', nargs='?', default='',
                            help='the action, if it is not named by FLOW_ID/ACTION')
        parser.set_defaults(verb=verb)
    pause.set_defaults(verb='pause')
    for parser in (pause, resume, skip, retry, stop):
        add_actor(parser)
        add_nodes(parser)


def _add_operator_verbs(commands: Any) -> None:
    operator = add_verb(
        commands, 'operator', 'operators.terminal.operator',
        help='answer the questions of all robots in a terminal', example='operator --actor anna')
    operator.add_argument('--once', action='store_true', help='end after one answer')
    operator.add_argument('--list', action='store_true', help='print the open questions as JSON')
    operator.set_defaults(json=True)
    operator.add_argument('--answer', metavar='OPTION', help='answer the oldest matching '
                          'question and exit')
    operator.add_argument('--comment', default='', metavar='TEXT', help='recorded with --answer')

    respond = add_verb(
        commands, 'respond', 'operators.answering.respond',
        help='answer an open question, or list the open questions',
        description='Answer the oldest matching question. Without ANSWER: list the open '
        'questions of all robots.',
        example='respond\nrespond yes --flow pick-1f2e3d4c --action grasp')
    respond.add_argument('answer', metavar='ANSWER', nargs='?',
                         help='an option of the question, by name or number, or free text')
    respond.add_argument('--comment', default='', metavar='TEXT', help='recorded with the answer')
    add_json(respond)
    for parser in (operator, respond):
        parser.add_argument('--id', default='', metavar='ID',
                            help='only the question whose id starts with this')
        parser.add_argument('--flow', default='', metavar='FLOW_ID', help='only of this flow')
        parser.add_argument('--action', default='', metavar='ACTION', help='only of this action')
        add_actor(parser, reason='')

    safety = add_verb(
        commands, 'safety', 'verbs.status.show_safety',
        help='show whether motions may run, and if not, why', example='safety')
    add_json(safety)
    clear = add_verb(
        commands, 'clear-stop', 'verbs.orders.clear_stop',
        help='clear a latched stop and unlock resources, after you have checked the robot',
        example='clear-stop --reason "hand was in the cell, it is gone"\nclear-stop arm')
    clear.add_argument('resources', metavar='RESOURCE', nargs='*',
                       help='resources to unlock (default: all that are locked)')
    add_actor(clear)
    reload = add_verb(
        commands, 'reload', 'verbs.black_box.reload',
        help='have the bridge load its facts file again, unless something moves',
        description='Have the world model bridge load its facts file again and print which one '
        'it uses. It is refused while something moves or is judged, while a stop is latched, and '
        'if the file has a fault; then the facts stay as they are.', example='reload')
    for parser in (operator, respond, safety, clear, reload):
        add_nodes(parser)


def _add_session_verbs(commands: Any) -> None:
    session = add_group(commands, 'session', 'sessions of graphs in the agent node')
    listing = add_verb(
        session, 'list', 'verbs.session.list_sessions',
        help='list sessions, the newest change first', example='session list --open')
    listing.add_argument('--open', action='store_true', help='only those that have not ended')
    show = add_verb(
        session, 'show', 'verbs.session.show_session', help='show a session with its dialogue',
        example='session show talk-1f2e3d4c\nsession show talk-1f2e3d4c --json')
    send = add_verb(
        session, 'send', 'verbs.session.send_event',
        help='send an event to a session and print its output',
        description='Send an event to a session, wait for the end of its work, and print its '
        'output. EVENT is one of its next events, or poll, retry or cancel.',
        example='session send talk-1f2e3d4c search "the red cup"\n'
        'session send talk-1f2e3d4c cancel')
    for parser in (show, send):
        parser.add_argument('session', metavar='SESSION', help='id of the session')
    send.add_argument('event', metavar='EVENT', help='the event')
    send.add_argument('input', metavar='INPUT', nargs='?', default='',
                      help='the input of the event: JSON, or text')
    run = add_verb(
        session, 'run', 'verbs.session.run_graph',
        help='run a graph as a session and show its progress',
        description='Run a graph as a session and print its changes; Ctrl-C cancels it. With '
        '--id alone, follow a session.',
        example='session run my_graph.yaml --input "fetch the cup"\n'
        'session run assistant --id talk --no-wait\nsession run --id talk')
    run.add_argument('graph', metavar='GRAPH', nargs='?', default='', help='a graph file, or the '
                     'name of a graph in the graph folders of the node')
    run.add_argument('--id', default='', metavar='ID', help='id of the session')
    run.add_argument('--input', default='', metavar='INPUT',
                     help='what the session begins with: JSON, or text')
    run.add_argument('--states', metavar='FOLDER', action='append', default=[],
                     help='folder with state types of your own, state_NAME.py')
    for parser in (send, run):
        parser.add_argument('--no-wait', action='store_true', help='do not wait for the end')
        add_actor(parser, reason='')
    for parser in (listing, show, send, run):
        add_json(parser)
        add_nodes(parser)
