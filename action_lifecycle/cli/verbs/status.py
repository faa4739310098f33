# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verbs `status`, `safety` and `jobs`: show what the nodes of a robot report."""

from __future__ import annotations

import argparse
from typing import Any

from action_lifecycle_msgs.msg import FlowStatusArray, LedgerSync, OperatorRequestArray
from action_lifecycle_msgs.srv import ListJobs
from lifecycle_msgs.srv import GetState

from ..client import Client, connect, NODE
from ..exits import NotThere
from ..node_data import (
    job_data,
    newest_safety,
    question_data,
    safety_line,
    sync_data,
)
from ..table import at_clock, console, live_table, print_json, print_rows
from ...documents.suggestions import nearest
from ...lifecycle.text_format import flow_state_in_words
from ...ros.conversions.plain_data import action_data, flow_data

NODES = ('world_model_bridge', 'ledger', NODE)
ABSENT = 'not there'
GRACE = 5.0
"""Time (s) to wait for the other nodes after the first one was found."""
ENDED = 3
"""Number of ended flows shown; the newest ones."""


def show_status(options: argparse.Namespace) -> None:
    """Print the current state of the nodes, or the actions of one flow."""
    with connect(options.namespace, options.wait) as client:
        if options.flow:
            _show_flow(client, options)
            return
        states = _states(client)
        data: dict[str, Any] = {'nodes': states}
        if states[NODE] == 'active':
            data |= _node_data(client)
        if states['ledger'] == 'active':
            data['ledger'] = sync_data(client.latched(LedgerSync, 'ledger/sync'))
    _print(data, options)


def _show_flow(client: Client, options: argparse.Namespace) -> None:
    latest = client.latched(FlowStatusArray, f'{NODE}/flow')
    flows = {flow.flow_id: flow for flow in latest.flows}
    if options.flow not in flows:
        raise NotThere(f"no flow '{options.flow}' among those that run and the last that ended"
                       + nearest(options.flow, flows)
                       + '; `history FLOW_ID` shows what the journal has of it')
    flow = flows[options.flow]
    if options.json:
        print_json({**flow_data(flow), 'actions': list(map(action_data, flow.actions))})
    else:
        console().print(live_table(flow))


def _states(client: Client) -> dict[str, str]:
    """Return the lifecycle state of each node; waits until at least one is there."""
    services = {name: client.service(GetState, f'{name}/get_state') for name in NODES}

    def there() -> list[str]:
        return [name for name, service in services.items() if service.service_is_ready()]

    full = client.node.resolve_service_name(f'{NODE}/get_state')
    client.until(there, 'no node is there', full)
    client.spin(min(client.wait, GRACE), lambda: len(there()) == len(NODES))
    return {name: client.call(
        GetState, f'{name}/get_state', GetState.Request()).current_state.label
        if name in there() else ABSENT for name in NODES}


def _node_data(client: Client) -> dict[str, Any]:
    """Return the safety, flows, questions and jobs that the action node publishes."""
    flows = client.latched(FlowStatusArray, f'{NODE}/flow').flows
    asked = client.latched(OperatorRequestArray, f'{NODE}/operator_requests').requests
    jobs = client.call(ListJobs, f'{NODE}/list_jobs', ListJobs.Request()).jobs
    return {
        'safety': newest_safety(client),
        'flows': list(map(flow_data, flows)),
        'questions': [question_data(
            client.node.resolve_topic_name(NODE), request, None) for request in asked],
        'jobs': list(map(job_data, jobs))}


def _print(data: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        print_json(data)
        return
    for name, state in data['nodes'].items():
        print(f'{name:<20} {state}')
    if 'safety' in data:
        print(f"{'safety':<20} {safety_line(data['safety'])}")
    if 'ledger' in data:
        sync = data['ledger']
        print(f"{'fleet ledger':<20} {sync['state']}, {sync['backlog']} rows behind"
              + (f": {sync['last_error']}" if sync['last_error'] else ''))
    if 'flows' not in data:
        return
    print(f"{'questions':<20} {len(data['questions'])} open"
          + (': action_lifecycle respond' if data['questions'] else ''))
    times = [(job['next'], job['clock'], job['id']) for job in data['jobs'] if job['next']]
    print(f"{'jobs':<20} {len(data['jobs'])}"
          + ''.join(f', next: {job} at {at_clock(at, clock)}' for at, clock, job in
                    sorted(times)[:1]))
    ended = [flow for flow in data['flows'] if flow['state'] in ('FINISH', 'FAIL')]
    running = [flow for flow in data['flows'] if flow not in ended]
    if not data['flows']:
        print(f"{'flows':<20} none")
        return
    print_rows(('flow', 'name', 'state', 'done', 'running', 'failed', 'why'), (
        (flow['flow_id'], flow['name'], flow_state_in_words(flow['constellation_state'])
         + (f", paused by {flow['paused_by']}" if flow['paused'] else ''),
         f"{flow['done']} of {flow['total']}", flow['running'], flow['failed'],
         flow['error_msg'] or flow['planning']) for flow in [*ended[-ENDED:], *running]))


def show_safety(options: argparse.Namespace) -> None:
    """Print the safety state that the action node publishes."""
    with connect(options.namespace, options.wait) as client:
        data = newest_safety(client)
    if options.json:
        print_json(data)
    else:
        print(safety_line(data))


def list_jobs(options: argparse.Namespace) -> None:
    """Print the scheduled jobs."""
    with connect(options.namespace, options.wait) as client:
        answer = client.call(ListJobs, f'{NODE}/list_jobs', ListJobs.Request())
    jobs = [job_data(job) for job in answer.jobs]
    if options.json:
        print_json(jobs)
        return
    print_rows(('job', 'of', 'schedule', 'clock', 'next', 'runs', 'missed', 'last flow',
                'last result'),
               ((job['id'], '/'.join(filter(None, (job['flow_id'], job['action_id'])))
                 or job['flow'], job['schedule'], job['clock'],
                 at_clock(job['next'], job['clock']), job['runs'], job['missed_runs'],
                 job['last_flow_id'], flow_state_in_words(job['last_result'])) for job in jobs))
