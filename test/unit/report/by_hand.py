# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The figures of a report, computed from the rows of the file alone, action by action."""

from __future__ import annotations

from collections import Counter, defaultdict
import json
from pathlib import Path
import sqlite3
from statistics import median
from typing import Any

WORK = ('in_progress', 'executing_motion', 'sensor_confirm', 'status_verification_requested')
SERVERS = {'reach': ['arm'], 'grasp': ['gripper'], 'check': ['camera'], 'look': ['/look'],
           'move': ['arm', 'gripper'], 'twice': ['arm']}


def read(path: Path) -> list[dict[str, Any]]:
    """Return all rows with their data parsed."""
    with sqlite3.connect(f'file:{path}?mode=ro', uri=True) as connection:
        connection.row_factory = sqlite3.Row
        return [{**row, 'data': json.loads(row['data_json'])}
                for row in map(dict, connection.execute('SELECT * FROM entry ORDER BY seq'))]


def runs_of(rows: list[dict[str, Any]]) -> dict[tuple[str, str], list[list[dict[str, Any]]]]:
    """Return the runs by flow name and action, each as its rows."""
    names = {row['flow_id']: row['data']['name'] for row in rows if row['event'] == 'accepted'}
    actions = defaultdict(list)
    for row in rows:
        if row['action_id'] and row['kind'] in ('transition', 'note'):
            actions[row['flow_id'], row['action_id']].append(row)
    found = defaultdict(list)
    for (flow_id, action), its_rows in actions.items():
        runs: list[list[dict[str, Any]]] = [[]]
        for row in its_rows:
            if row['event'] == 'reassign' and 'runs' in row['data']:
                runs.append([])
            else:
                runs[-1].append(row)
        found[names[flow_id], action] += [
            run for run in runs if any(row['kind'] == 'transition' for row in run)]
    return found


def attempts_of(run: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the attempts of a run: their rows, and what can be seen in each."""
    begins = [index for index, row in enumerate(run) if row['to_state'] == 'in_progress'
              and row['kind'] == 'transition' and row['from_state'] != 'pending']
    found = []
    for number, begin in enumerate(begins):
        rows = run[begin:(begins + [len(run)])[number + 1]]
        changes = [row for row in rows if row['kind'] == 'transition']
        events = [row['event'] for row in changes]
        failed = next((row for row in changes if row['event'] == 'fail'), None)
        code = failed['data']['error_code'] if failed else ''
        ended = 'completed' if 'verified' in events else 'canceled' if code == 'CANCELED' \
            else 'failed' if failed else 'open'
        said = [row['data']['sensors_said'] for row in changes if 'sensors_said' in row['data']]
        last_work = [row for row in changes if row['event'] in (
            'execute', 'repeat_motion', 'motion_done')]
        reported = bool(last_work) and last_work[-1]['event'] == 'motion_done' \
            and not last_work[-1]['data'].get('interrupted')
        found.append({'rows': rows, 'ended': ended, 'code': code, 'failed': failed,
                      'said': said[-1] if said else '',
                      'reported': reported or (not last_work and 'request_verification' in events),
                      'begin': changes[0], 'before': run[:begin]})
    return found


def path_of(attempt: dict[str, Any]) -> str:
    """Return how an attempt came about."""
    begin, before = attempt['begin'], attempt['before']
    if begin['event'] == 'retry':
        return 'operator' if begin['actor'] else 'retry'
    if begin['event'] == 'start':
        return 'operator'
    fallback = [row for row in before if row['event'] == 'receive_fallback'][-1]
    return 'fallback' if fallback['actor'] == 'policy' else 'operator'


def spent(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the times of the visits of each state."""
    changes = [row for row in rows if row['kind'] == 'transition']
    times = defaultdict(list)
    for row, after in zip(changes, changes[1:]):
        if row['to_state'] not in ('assigned', 'terminated'):
            times[row['to_state']].append(after['ros_time'] - row['ros_time'])
    return times


def figures(runs: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the figures of ended runs of one action, as far as the test compares them."""
    ended = [run for run in runs if [row for row in run if row['kind'] == 'transition'][-1][
        'to_state'] == 'terminated']
    attempts = [attempt for run in ended for attempt in attempts_of(run)]
    outcomes, tried = [], []
    first = []
    for run in ended:
        outcome = [row['data']['outcome'] for row in run if row['event'] == 'terminate'][-1]
        outcomes.append(outcome)
        its = attempts_of(run)
        if its and its[0]['ended'] in ('completed', 'failed'):
            first.append(its[0]['ended'] == 'completed')
        failures = sum(each['ended'] == 'failed' for each in its)
        if its and outcome in ('succeeded', 'failed') or outcome == 'skipped' and failures:
            tried.append((outcome == 'succeeded', failures, path_of(its[-1]) if failures else ''))
    states = defaultdict(list)
    for run in ended:
        for state, times in spent(run).items():
            states[state] += times
    wrong = Counter(each['said'] for each in attempts
                    if each['reported'] and each['said'] in ('refuted', 'timed_out', 'stale'))
    return {
        'ended': len(ended), 'open': len(runs) - len(ended), 'outcomes': Counter(outcomes),
        'attempts': Counter(each['ended'] for each in attempts),
        'first': (sum(first), len(first)),
        'final': (sum(done for done, *_ in tried), len(tried)),
        'reported': sum(each['reported'] for each in attempts), 'wrong': wrong,
        'paths': Counter(path for done, failures, path in tried if done and failures),
        'recovery_n': sum(failures > 0 for _, failures, _ in tried),
        'codes': Counter(each['code'] for each in attempts if each['ended'] == 'failed'),
        'states': {state: (len(times), median(times), sum(times))
                   for state, times in states.items()},
        'waited': sum(row['data'].get('waited', 0.0) for run in ended for row in run),
        'asked': sum(asked_for(run) for run in ended),
        'working': sum(sum(states[state]) for state in WORK),
        'halted': sum(halted_for(run) for run in ended),
        'facts': facts_of(attempts)}


def asked_for(run: list[dict[str, Any]]) -> float:
    """Return the time for which questions were open."""
    total = 0.0
    for index, row in enumerate(run):
        if row['event'] == 'question_asked':
            end = next(after for after in run[index + 1:] if after['kind'] == 'transition' or (
                after['event'].startswith('question_')
                and after['data']['id'] == row['data']['id']))
            total += end['ros_time'] - row['ros_time']
    return total


def halted_for(run: list[dict[str, Any]]) -> float:
    """Return the time in a state of work that was paused."""
    total = 0.0
    for index, row in enumerate(run):
        if row['event'] == 'blocked' and row['to_state'] in WORK:
            end = next(after for after in run[index + 1:] if after['kind'] == 'transition'
                       or after['event'] in ('blocked', 'unblocked'))
            total += end['ros_time'] - row['ros_time']
    return total


def facts_of(attempts: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Return how often each condition had each verdict, from the verdicts on attempts."""
    found: Counter[tuple[str, str]] = Counter()
    for attempt in attempts:
        for row in attempt['rows']:
            if row['event'] == 'confirmed' or (
                    row is attempt['failed'] and attempt['ended'] == 'failed'
                    and row['data'].get('sensors_said') != 'confirmed'):
                for each in row['data'].get('evidence', ()):
                    found[each['expression'], each['verdict']] += 1
    return found
