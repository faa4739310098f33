# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs of what is recorded, of what is learned from it, and of files."""

from __future__ import annotations

from typing import Any

from .options import (
    add_force,
    add_group,
    add_json,
    add_nodes,
    add_output,
    add_verb,
    port,
    seconds,
)


def add_record_verbs(commands: Any) -> None:
    """Add the verbs that read journals and traces."""
    jobs = add_verb(
        commands, 'jobs', 'verbs.status.list_jobs', help='list scheduled jobs, the next one first',
        description='List scheduled jobs, the next one first; `cancel --job JOB_ID` removes '
        'one.', example='jobs --json')

    operations = add_verb(
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

    listing = add_verb(
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

    history = add_verb(
        commands, 'history', 'verbs.records.show_history',
        help='show what happened to an action or a flow',
        example='history grasp\nhistory pick-1f2e3d4c/grasp\nhistory pick-1f2e3d4c --json')
    history.add_argument('name', metavar='ACTION|FLOW_ID', nargs='?', default='',
                         help='id of an action, FLOW_ID/ACTION, or id of a flow')
    history.add_argument('--flow', default='', metavar='FLOW_ID', help='only of this flow')

    dialogue = add_verb(
        commands, 'dialogue', 'verbs.dialogue.show_dialogue',
        help='show what was asked and answered in a flow', example='dialogue pick-1f2e3d4c')
    dialogue.add_argument('flow', metavar='FLOW_ID', help='the flow')
    for parser in (jobs, operations, listing, history, dialogue):
        add_json(parser)
        add_nodes(parser)
    for parser in (listing, history, dialogue):
        parser.add_argument('--journal', metavar='FILE',
                            help='read this journal instead of asking the nodes')

    journal = add_group(commands, 'journal', 'check or export a journal file')
    verify = add_verb(
        journal, 'verify', 'verbs.journal.verify',
        help='check a journal; exit code 2 if it has faults',
        example='journal verify ~/.ros/action_lifecycle/journal')
    export = add_verb(
        journal, 'export', 'verbs.journal.export', help='write its rows as text',
        example='journal export ~/.ros/action_lifecycle/journal --format csv --output rows.csv')
    export.add_argument('--format', choices=('jsonl', 'csv'), default='jsonl',
                        help='JSON, one row a line, or CSV (default: jsonl)')
    export.add_argument('--traces', action='store_true',
                        help='write the evidence traces beside the journal instead')
    add_output(export, '--output', 'a file (default: standard output)')
    add_force(export)
    for parser in (verify, export):
        parser.add_argument('file', metavar='JOURNAL', help='a journal file')

    view = add_verb(
        commands, 'view', 'verbs.view.view', help='show a journal in a browser',
        description='Show a journal in a browser: flows as graphs, time lines and reports, at any '
        'moment. It may be an old one, or one that is written to; no node is needed. Ctrl-C ends '
        'it.', example='view robot.journal --open\nview --port 8090\n'
        'view robot.journal --host 0.0.0.0 --token-file ~/.ros/web_token')
    view.add_argument('journal', metavar='JOURNAL', nargs='?', default='',
                      help='a journal file (default: ~/.ros/action_lifecycle/robot.journal)')
    view.add_argument('--port', type=port, default=8080, metavar='PORT',
                      help='port of the pages; 0: a free one (default: 8080)')
    view.add_argument('--host', default='127.0.0.1', metavar='ADDRESS', help='address that is '
                      'listened on; other than loopback needs a token (default: 127.0.0.1)')
    view.add_argument('--token-file', default='', metavar='FILE', help='file with the token that '
                      'people sign in with, readable by you only (default: the environment '
                      'variable ACTION_LIFECYCLE_WEB_TOKEN)')
    view.add_argument('--ledger', default='', metavar='URL', help='also show the fleet of this '
                      'ledger, as parameter ledger_url of the ledger node')
    view.add_argument('--open', action='store_true', help='open the browser')
    add_output(view, '--html', 'instead of pages, write one run to an HTML file that opens '
               'without a network')
    add_force(view)
    view.add_argument('--flow', default='', metavar='ID', help='with --html: the run (default: '
                      'the newest)')

    ledger = add_group(commands, 'ledger', 'rebuild the ledger of a robot in Redis')
    rebuild = add_verb(
        ledger, 'rebuild', 'verbs.ledger.rebuild_ledger',
        help='delete the ledger of a robot and fill it again from the journal',
        description='Remove all keys of a robot in Redis, and fill its ledger from its journal. '
        'Rows that only the ledger has are saved to a file first. The nodes of the robot may run '
        'meanwhile. User and password come from the environment, as for the ledger node.',
        example='ledger rebuild ~/.ros/action_lifecycle/robot7.journal '
        '--url redis://localhost:6379/0 --robot robot7')
    rebuild.add_argument('journal', metavar='JOURNAL', help='the journal of the robot')
    rebuild.add_argument('--url', required=True, metavar='URL',
                         help='the Redis server, as parameter ledger_url of the ledger node')
    rebuild.add_argument('--robot', required=True, metavar='NAME',
                         help='name of the robot in the ledger: parameter robot of the ledger '
                         "node, by default its namespace, or 'robot'")
    rebuild.add_argument('--other-journal', action='store_true',
                         help='also if the ledger has the rows of another journal')
    rebuild.add_argument('--save-in', metavar='FOLDER',
                         help='folder of the file with the rows that only the ledger has '
                         '(default: that of the journal)')


def _complete_state(**asked: object) -> list[str]:
    from ..lifecycle.states import ActionState
    return [state.value for state in ActionState]


def add_learn_verbs(commands: Any) -> None:
    """Add the verbs that learn from recorded runs."""
    report = add_verb(
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
    add_output(form, '--html', 'write a page with pictures; it opens without a network. Needs '
               'matplotlib')
    add_force(report)
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

    box = add_verb(
        commands, 'black-box', 'verbs.black_box.save_black_box',
        help='write the last seconds of the sensors to a bag',
        description='Write the last seconds of the sensor topics and of the changes of actions '
        'to a bag (MCAP) in the folder of the black boxes, and print its path.',
        example='black-box --reason "the gripper made a noise"')
    box.add_argument('--seconds', type=seconds, default=0.0, metavar='S',
                     help='seconds before now (default: the parameter black_box.seconds)')
    box.add_argument('--reason', default='', metavar='TEXT', help='recorded in the bag')
    add_nodes(box)

    fit = add_verb(
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
    add_output(fit, '--diff', 'write the diff to this file')
    add_force(fit)
    fit.add_argument('--json', action='store_true', help='print JSON instead of text')

    replay = add_verb(
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
    add_json(replay)


def add_file_verbs(commands: Any) -> None:
    """Add the verbs that write, check and draw files."""
    new = add_verb(
        commands, 'new', 'verbs.new.new',
        help='write a facts file and a first flow for the robot that runs',
        description='Look at the running ROS graph, its topics, tf frames and action servers, and '
        'write a facts file, a first flow and its cases in a folder. Each fact is read once. '
        'Nothing moves, and no file is overwritten.',
        example='new my_robot\nnew my_robot --server gripper_controller/gripper_cmd')
    new.add_argument('folder', metavar='FOLDER', help='the folder of the new files')
    new.add_argument('--server', default='', metavar='NAME', help='the action server of the flow '
                     '(default: one of a known type)')
    new.add_argument('--namespace', default='', metavar='NS', help='namespace of the robot')
    new.add_argument('--listen', type=seconds, default=4.0, metavar='S',
                     help='seconds to listen to the topics (default: 4)')

    validate = add_verb(
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

    test = add_verb(
        commands, 'test', 'verbs.test.run_cases', help='run the cases of flows without a robot',
        description='Run the cases of flows (files *.cases.yaml) on scripted robots, without ROS '
        'and without waiting.', example='test go_to.cases.yaml\ntest flows -k "half a metre"')
    test.add_argument('paths', nargs='*', default=['.'], metavar='FILE|FOLDER',
                      help='a file of cases, or a folder (default: this one)')
    test.add_argument('-k', dest='select', default='', metavar='TEXT',
                      help='only cases with this text in their name')
    add_json(test)

    graph = add_verb(
        commands, 'graph', 'checking.draw', help='draw a graph file or a flow file',
        example='graph config/graphs/action.yaml --format mermaid\ngraph my_flow.yaml')
    graph.add_argument('file', metavar='FILE', help='a graph or a flow file')
    graph.add_argument('--format', choices=('mermaid', 'dot', 'table'), default='table',
                       help='output format (default: table)')
    for parser in (validate, graph):
        parser.add_argument('--states', metavar='FOLDER', action='append', default=[],
                            help='folder with state types of your own, state_NAME.py')

    schema = add_verb(
        commands, 'schema', 'checking.print_schema',
        help='print the JSON Schema of a kind of file', example='schema flow > flow.schema.json')
    schema.add_argument('kind', choices=('graph', 'flow', 'edit', 'facts', 'recipe', 'cases',
                                         'vda5050'),
                        help='what the schema describes')
