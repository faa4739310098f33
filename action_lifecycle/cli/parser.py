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
import math
import textwrap
from typing import Any


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all verbs."""
    parser = argparse.ArgumentParser(
        prog='action_lifecycle', description='Verified, journaled robot actions.',
        epilog='Exit codes: 0 done, 1 the flow failed, 2 bad input or refused, 3 the system or '
        'what was asked for is not there, 130 interrupted. `action_lifecycle COMMAND --help` '
        'shows the options of a command and an example.')
    parser.add_argument('--version', action='version', version=_version())
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    _add_flow_verbs(commands)
    _add_control_verbs(commands)
    _add_operator_verbs(commands)
    _add_record_verbs(commands)
    _add_learn_verbs(commands)
    _add_session_verbs(commands)
    _add_file_verbs(commands)
    return parser


def _version() -> str:
    try:
        return f"action_lifecycle {version('action_lifecycle')}"
    except PackageNotFoundError:
        return 'action_lifecycle (not installed)'


def _add_flow_verbs(commands: Any) -> None:
    run = _add_verb(
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
    run.add_argument('--json', metavar='FILE', help='write the summary to this file')

    watch = _add_verb(
        commands, 'watch', 'running.live.watch', help='show flows and actions live',
        example='watch --namespace robot1\nwatch --flow pick-1f2e3d4c')
    watch.add_argument('--flow', default='', metavar='FLOW_ID', help='only this flow')

    status = _add_verb(
        commands, 'status', 'verbs.status.show_status',
        help='show nodes, safety, flows, questions and jobs',
        description='Show the nodes, safety, flows, open questions and jobs of a robot, or the '
        'actions of one flow.', example='status\nstatus pick-1f2e3d4c')
    status.add_argument('flow', metavar='FLOW_ID', nargs='?', default='',
                        help='show the actions of this flow')
    _add_json(status)

    cancel = _add_verb(
        commands, 'cancel', 'verbs.orders.cancel', help='stop a flow, an action or a job',
        description='Stop a flow or an action and wait until nothing moves, or remove a '
        'scheduled job; a run of the job that has started goes on.',
        example='cancel pick-1f2e3d4c\ncancel pick-1f2e3d4c/grasp --reason "wrong part"\n'
        'cancel --job nightly')
    cancel.add_argument('target', metavar='FLOW_ID[/ACTION]', nargs='?', default='',
                        help='the flow, or an action of it')
    cancel.add_argument('--job', default='', metavar='JOB_ID', help='a scheduled job instead')
    _add_actor(cancel, reason='why; recorded with the cancel of an action or a job')

    edit = _add_verb(
        commands, 'edit', 'verbs.edit.edit', help='change a flow while it runs',
        description='Send an edit to a flow that runs: the whole edit is applied, or nothing.',
        example='edit pick-1f2e3d4c my_edit.yaml --reason "one more part"\n'
        'edit pick-1f2e3d4c - < my_edit.yaml')
    edit.add_argument('flow', metavar='FLOW_ID', help='the flow that is changed')
    edit.add_argument('file', metavar='FILE', help='an edit file; - reads standard input')
    edit.add_argument('--base-seq', type=int, default=0, metavar='N', help='newest journal row '
                      'that you have seen; the edit is refused if the same actions were edited '
                      'after it (default: not checked)')
    _add_actor(edit)
    for parser in (run, watch, status, cancel, edit):
        _add_nodes(parser)


def _add_control_verbs(commands: Any) -> None:
    pause = _add_verb(
        commands, 'pause', 'verbs.control.pause', help='start nothing more of a flow',
        description='Start nothing more of a flow until it is resumed; its actions at work go '
        'on to their end.', example='pause pick-1f2e3d4c --reason "camera is dirty"\n'
        'pause pick-1f2e3d4c --hold')
    pause.add_argument('flow', metavar='FLOW_ID', help='the flow')
    pause.add_argument('--hold', action='store_true',
                       help='stop what moves, too, and wait until it has stopped')

    resume = _add_verb(
        commands, 'resume', 'verbs.control.resume',
        help='resume a paused flow, or an action at its breakpoint',
        example='resume pick-1f2e3d4c\nresume pick-1f2e3d4c grasp')
    skip = _add_verb(
        commands, 'skip', 'verbs.control.skip', help='end an action as skipped',
        description='End an action as skipped that has not started, or that waits after an '
        'error; the actions that depend on it go on.',
        example='skip pick-1f2e3d4c grasp --reason "put there by hand"')
    retry = _add_verb(
        commands, 'retry', 'verbs.control.retry',
        help='run an action again that has not succeeded',
        description='Run an ended action again, with the actions that were skipped because of '
        'it. An action in the state `error` begins its next attempt without its delay.',
        example='retry pick-1f2e3d4c grasp --reason "part is dry now"\nretry grasp')
    retry.add_argument('--flow', default='', metavar='FLOW_ID',
                       help='its flow (default: the newest that has such an action)')
    stop = _add_verb(
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
        _add_actor(parser)
        _add_nodes(parser)


def _add_operator_verbs(commands: Any) -> None:
    operator = _add_verb(
        commands, 'operator', 'operators.terminal.operator',
        help='answer the questions of all robots in a terminal', example='operator --actor anna')
    operator.add_argument('--once', action='store_true', help='end after one answer')
    operator.add_argument('--list', action='store_true', help='print the open questions as JSON')
    operator.set_defaults(json=True)
    operator.add_argument('--answer', metavar='OPTION', help='answer the oldest matching '
                          'question and exit')
    operator.add_argument('--comment', default='', metavar='TEXT', help='recorded with --answer')

    respond = _add_verb(
        commands, 'respond', 'operators.answering.respond',
        help='answer an open question, or list the open questions',
        description='Answer the oldest matching question. Without ANSWER: list the open '
        'questions of all robots.',
        example='respond\nrespond yes --flow pick-1f2e3d4c --action grasp')
    respond.add_argument('answer', metavar='ANSWER', nargs='?',
                         help='an option of the question, by name or number, or free text')
    respond.add_argument('--comment', default='', metavar='TEXT', help='recorded with the answer')
    _add_json(respond)
    for parser in (operator, respond):
        parser.add_argument('--id', default='', metavar='ID',
                            help='only the question whose id starts with this')
        parser.add_argument('--flow', default='', metavar='FLOW_ID', help='only of this flow')
        parser.add_argument('--action', default='', metavar='ACTION', help='only of this action')
        _add_actor(parser, reason='')

    safety = _add_verb(
        commands, 'safety', 'verbs.status.show_safety',
        help='show whether motions may run, and if not, why', example='safety')
    _add_json(safety)
    clear = _add_verb(
        commands, 'clear-stop', 'verbs.orders.clear_stop',
        help='clear a latched stop and unlock resources, after you have checked the robot',
        example='clear-stop --reason "hand was in the cell, it is gone"\nclear-stop arm')
    clear.add_argument('resources', metavar='RESOURCE', nargs='*',
                       help='resources to unlock (default: all that are locked)')
    _add_actor(clear)
    for parser in (operator, respond, safety, clear):
        _add_nodes(parser)


def _add_record_verbs(commands: Any) -> None:
    jobs = _add_verb(
        commands, 'jobs', 'verbs.status.list_jobs', help='list scheduled jobs, the next one first',
        description='List scheduled jobs, the next one first; `cancel --job JOB_ID` removes '
        'one.', example='jobs --json')

    operations = _add_verb(
        commands, 'operations', 'verbs.operations.list_operations',
        help='list operations in the ledger of the fleet, the newest change first',
        description='List operations on shared work in the ledger of the fleet, the newest change '
        'first. The ledger node of the robot is asked.',
        example='operations --active\noperations --state ERRORED --json')
    operations.add_argument('--active', action='store_true', help='only those not completed')
    operations.add_argument('--state', action='append', default=[], metavar='STATE',
                            help='only in this state; may be given several times')
    operations.add_argument('--limit', type=int, default=50, metavar='N',
                            help='maximum number of operations (default: 50)')

    listing = _add_verb(
        commands, 'list', 'verbs.records.list_actions',
        help='list actions, the newest change first',
        example='list --flow pick-1f2e3d4c --open\nlist --journal journal.sqlite --json')
    listing.add_argument('--flow', default='', metavar='FLOW_ID', help='only of this flow')
    states: Any = listing.add_argument(
        '--state', action='append', default=[], metavar='STATE',
        help='only in this state; may be given several times')
    states.completer = _complete_state
    listing.add_argument('--open', action='store_true', help='only those not terminated')
    listing.add_argument('--limit', type=int, default=50, metavar='N',
                         help='maximum number of actions (default: 50)')

    history = _add_verb(
        commands, 'history', 'verbs.records.show_history',
        help='show what happened to an action or a flow',
        example='history grasp\nhistory pick-1f2e3d4c/grasp\nhistory pick-1f2e3d4c --json')
    history.add_argument('name', metavar='ACTION|FLOW_ID', nargs='?', default='',
                         help='id of an action, FLOW_ID/ACTION, or id of a flow')
    history.add_argument('--flow', default='', metavar='FLOW_ID', help='only of this flow')

    dialogue = _add_verb(
        commands, 'dialogue', 'verbs.dialogue.show_dialogue',
        help='show what was asked and answered in a flow', example='dialogue pick-1f2e3d4c')
    dialogue.add_argument('flow', metavar='FLOW_ID', help='the flow')
    for parser in (jobs, operations, listing, history, dialogue):
        _add_json(parser)
        _add_nodes(parser)
    for parser in (listing, history, dialogue):
        parser.add_argument('--journal', metavar='FILE',
                            help='read this journal instead of asking the nodes')

    journal = _add_group(commands, 'journal', 'check or export a journal file')
    verify = _add_verb(
        journal, 'verify', 'verbs.journal.verify',
        help='check a journal; exit code 2 if it has faults',
        example='journal verify ~/.ros/action_lifecycle/journal')
    export = _add_verb(
        journal, 'export', 'verbs.journal.export', help='write its rows as text',
        example='journal export ~/.ros/action_lifecycle/journal --format csv --output rows.csv')
    export.add_argument('--format', choices=('jsonl', 'csv'), default='jsonl',
                        help='JSON, one row a line, or CSV (default: jsonl)')
    export.add_argument('--traces', action='store_true',
                        help='write the evidence traces beside the journal instead')
    export.add_argument('--output', default='', metavar='FILE',
                        help='a new file (default: standard output)')
    for parser in (verify, export):
        parser.add_argument('file', metavar='JOURNAL', help='a journal file')

    view = _add_verb(
        commands, 'view', 'verbs.view.view', help='show a journal in a browser',
        description='Show a journal in a browser: flows as graphs, time lines and reports, at any '
        'moment. It may be an old one, or one that is written to; no node is needed. Ctrl-C ends '
        'it.', example='view robot.journal --open\nview --port 8090\n'
        'view robot.journal --host 0.0.0.0 --token-file ~/.ros/web_token')
    view.add_argument('journal', metavar='JOURNAL', nargs='?', default='',
                      help='a journal file (default: ~/.ros/action_lifecycle/robot.journal)')
    view.add_argument('--port', type=_port, default=8080, metavar='PORT',
                      help='port of the pages; 0: a free one (default: 8080)')
    view.add_argument('--host', default='127.0.0.1', metavar='ADDRESS', help='address that is '
                      'listened on; other than loopback needs a token (default: 127.0.0.1)')
    view.add_argument('--token-file', default='', metavar='FILE', help='file with the token that '
                      'people sign in with, readable by you only (default: the environment '
                      'variable ACTION_LIFECYCLE_WEB_TOKEN)')
    view.add_argument('--open', action='store_true', help='open the browser')
    view.add_argument('--html', default='', metavar='FILE', help='instead of pages, write one run '
                      'to an HTML file that opens without a network')
    view.add_argument('--flow', default='', metavar='ID', help='with --html: the run (default: '
                      'the newest)')

    ledger = _add_group(commands, 'ledger', 'rebuild the ledger of a robot in Redis')
    rebuild = _add_verb(
        ledger, 'rebuild', 'verbs.ledger.rebuild_ledger',
        help='delete the ledger of a robot and fill it again from the journal',
        description='Remove all keys of a robot in Redis, and fill its ledger from its journal. '
        'The nodes of the robot may run meanwhile. User and password come from the environment, '
        'as for the ledger node.',
        example='ledger rebuild ~/.ros/action_lifecycle/robot.journal '
        '--url redis://localhost:6379/0')
    rebuild.add_argument('journal', metavar='JOURNAL', help='the journal of the robot')
    rebuild.add_argument('--url', required=True, metavar='URL',
                         help='the Redis server, as parameter ledger_url of the ledger node')
    rebuild.add_argument('--robot', default='robot', metavar='NAME',
                         help='name of the robot in the ledger (default: robot)')


def _add_learn_verbs(commands: Any) -> None:
    report = _add_verb(
        commands, 'report', 'verbs.report.report',
        help='show success rates, false successes, times and failures from journals',
        description='Read journals of one or several robots, and show for each flow, action and '
        'server how often it succeeded, what the sensors refuted, how errors were recovered, and '
        'how long it took.',
        example='report ~/.ros/action_lifecycle/journal\n'
        'report robot1.journal robot2.journal --since 2026-11-01 --html report.html\n'
        'report robot1.journal --flow pick_and_place --csv > report.csv')
    report.add_argument('journals', metavar='JOURNAL', nargs='+', help='a journal file')
    form = report.add_mutually_exclusive_group()
    form.add_argument('--html', default='', metavar='FILE', help='write a page with pictures; '
                      'it opens without a network. Needs matplotlib')
    form.add_argument('--csv', action='store_true', help='print one row for each figure')
    form.add_argument('--json', action='store_true', help='print JSON')
    report.add_argument('--since', default='', metavar='TIME', help='only runs of actions that '
                        'began at this local date or time (ISO 8601), or later')
    report.add_argument('--until', default='', metavar='TIME',
                        help='only runs of actions that began before this')
    report.add_argument('--flow', action='append', default=[], metavar='NAME',
                        help='only flows of this name; may be given several times')
    report.add_argument('--labels', default='', metavar='FILE', help='a CSV file that says which '
                        'outcomes were there: flow_id, action_id, attempt, there (true or false)')

    box = _add_verb(
        commands, 'black-box', 'verbs.black_box.save_black_box',
        help='write the last seconds of the sensors to a bag',
        description='Write the last seconds of the sensor topics and of the changes of actions '
        'to a bag (MCAP) in the folder of the black boxes, and print its path.',
        example='black-box --reason "the gripper made a noise"')
    box.add_argument('--seconds', type=_seconds, default=0.0, metavar='S',
                     help='seconds before now (default: the parameter black_box.seconds)')
    box.add_argument('--reason', default='', metavar='TEXT', help='recorded in the bag')
    _add_nodes(box)

    fit = _add_verb(
        commands, 'fit', 'verbs.fit.fit',
        help='propose thresholds and holds of `confirm` from labelled runs',
        description='Propose thresholds and holds of the conditions of a flow file from the '
        'evidence traces of labelled runs, with their error rates, as a diff. The file is not '
        'changed.',
        example='fit robot.journal --flow my_flow.yaml --facts my_facts.yaml\n'
        'fit robot.journal --flow my_flow.yaml --facts my_facts.yaml --labels labels.csv '
        '--diff my_flow.diff')
    fit.add_argument('journals', nargs='+', metavar='JOURNAL',
                     help='a journal file; its traces are beside it')
    fit.add_argument('--flow', required=True, metavar='FILE', help='the flow file')
    fit.add_argument('--facts', required=True, metavar='FILE',
                     help='the facts file of the bridge that recorded the traces')
    fit.add_argument('--labels', default='', metavar='FILE', help='CSV file with the columns '
                     'flow_id, action_id, attempt, there (default: what the journal says)')
    fit.add_argument('--action', default='', metavar='ACTION',
                     help='only the conditions of this action')
    fit.add_argument('--target', choices=('completions', 'errors'), default='completions',
                     help='fewest false completions first, or fewest errors of both kinds '
                     '(default: completions)')
    fit.add_argument('--fewest', type=int, default=20, metavar='N', help='labelled runs that are '
                     'needed of each kind: the outcome was there, or not (default: 20)')
    fit.add_argument('--diff', default='', metavar='FILE',
                     help='write the diff to this new file')
    fit.add_argument('--json', action='store_true', help='print JSON instead of text')

    replay = _add_verb(
        commands, 'replay', 'verbs.replay.replay',
        help='judge recorded confirmations again from bags',
        description='Judge the confirmations in bags (MCAP, rosbag2) again with the conditions '
        'of a facts file and a flow, and show what differs from what was recorded. No ROS is '
        'needed. Exit code 1 if a verdict differs.',
        example='replay run.mcap --facts config/facts/cell.yaml\n'
        'replay bags/* --facts new_facts.yaml --flow new_flow.yaml --all')
    replay.add_argument('bags', nargs='+', metavar='BAG',
                        help='an .mcap or .db3 file, or the folder of a recording')
    replay.add_argument('--facts', default='', metavar='FILE',
                        help='the facts file (default: the one in the bag, if it is a black box)')
    replay.add_argument('--flow', default='', metavar='FILE',
                        help='take the conditions of this flow instead of the recorded ones')
    replay.add_argument('-p', '--param', action='append', default=[], metavar='NAME=VALUE',
                        help='a parameter of the flow (default: as recorded)')
    replay.add_argument('--journal', default='', metavar='FILE',
                        help='judge also what motions had to maintain, by this journal of the '
                        'runs; take the confirmations from it if the bag has none')
    replay.add_argument('--traces', default='', metavar='FILE',
                        help='take the confirmations from these evidence traces, or from those '
                        'beside this journal, if the bag has none')
    replay.add_argument('--namespace', default='', metavar='NS', help='namespace of the robot')
    replay.add_argument('--remap', action='append', default=[], metavar='OLD:=NEW',
                        help='a topic has another name in the bag')
    replay.add_argument('--all', action='store_true', help='show those that are the same, too')
    _add_json(replay)


def _add_session_verbs(commands: Any) -> None:
    session = _add_group(commands, 'session', 'sessions of graphs in the agent node')
    listing = _add_verb(
        session, 'list', 'verbs.session.list_sessions',
        help='list sessions, the newest change first', example='session list --open')
    listing.add_argument('--open', action='store_true', help='only those that have not ended')
    show = _add_verb(
        session, 'show', 'verbs.session.show_session', help='show a session with its dialogue',
        example='session show talk-1f2e3d4c\nsession show talk-1f2e3d4c --json')
    send = _add_verb(
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
    run = _add_verb(
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
        _add_actor(parser, reason='')
    for parser in (listing, show, send, run):
        _add_json(parser)
        _add_nodes(parser)


def _complete_state(**asked: object) -> list[str]:
    from ..lifecycle.states import ActionState
    return [state.value for state in ActionState]


def _add_file_verbs(commands: Any) -> None:
    validate = _add_verb(
        commands, 'validate', 'checking.validate',
        help='check flow, facts, graph, recipe and edit files',
        example='validate my_flow.yaml --facts config/facts/cell.yaml\n'
        'validate my_edit.yaml --flow my_flow.yaml\nvalidate my_graph.yaml --states my_states')
    validate.add_argument('files', nargs='+', metavar='FILE',
                          help='file to check; its content tells its kind')
    validate.add_argument('--facts', metavar='FILE',
                          help='check fact names against this facts file')
    validate.add_argument('--flow', metavar='FILE', default='',
                          help='check edits against this flow')

    graph = _add_verb(
        commands, 'graph', 'checking.draw', help='draw a graph file or a flow file',
        example='graph config/graphs/action.yaml --format mermaid\ngraph my_flow.yaml')
    graph.add_argument('file', metavar='FILE', help='a graph or a flow file')
    graph.add_argument('--format', choices=('mermaid', 'dot', 'table'), default='table',
                       help='output format (default: table)')
    for parser in (validate, graph):
        parser.add_argument('--states', metavar='FOLDER', action='append', default=[],
                            help='folder with state types of your own, state_NAME.py')

    schema = _add_verb(
        commands, 'schema', 'checking.print_schema',
        help='print the JSON Schema of a kind of file', example='schema flow > flow.schema.json')
    schema.add_argument('kind', choices=('graph', 'flow', 'edit', 'facts', 'recipe'),
                        help='what the schema describes')


# Shared by several verbs


def _add_group(commands: Any, name: str, help: str) -> Any:  # noqa: A002
    """Add a verb that has verbs of its own."""
    group = commands.add_parser(name, help=help, description=_sentence(help))
    return group.add_subparsers(required=True, metavar='COMMAND')


def _add_verb(
    commands: Any, name: str, function: str, *, help: str,  # noqa: A002
    example: str, description: str = '',
) -> argparse.ArgumentParser:
    """Add a verb; `example`: command lines, one per line, without the program name."""
    lines = (f'  action_lifecycle {line}' for line in example.splitlines())
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=textwrap.fill(description or _sentence(help), 80),
        epilog='\n'.join(['example:', *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(function=function)
    return parser


def _sentence(help: str) -> str:  # noqa: A002
    return f'{help[:1].upper()}{help[1:]}.'


def _add_nodes(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that communicate with nodes."""
    parser.add_argument('--namespace', default='', metavar='NS', help='namespace of the robot')
    parser.add_argument('--wait', type=_seconds, default=10.0, metavar='S',
                        help='seconds to wait for the nodes (default: 10)')


def _add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json` for verbs that print a table."""
    parser.add_argument('--json', action='store_true', help='print JSON instead of a table')


def _add_actor(parser: argparse.ArgumentParser, *, reason: str = 'why; it is recorded') -> None:
    """Add `--actor` and `--reason`: who gives an order, and why."""
    parser.add_argument('--actor', default='', metavar='NAME',
                        help='who gives the order (default: user@host); it is recorded')
    if reason:
        parser.add_argument('--reason', default='', metavar='TEXT', help=reason)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 65536):
        raise argparse.ArgumentTypeError(f'{text!r}: expected a port, 0 to 65535')
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r}: expected seconds, 0 or more')
    return value
