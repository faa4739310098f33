# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The cost of actions of the kind call, compared with bare calls and the same journal rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import json
from pathlib import Path
import statistics
import subprocess
from typing import Any, NamedTuple

from _nodes import PROCESSES
from _process import Process

CALLS = 100  # per block
BLOCKS = 5


class Cost(NamedTuple):
    """
    Durations (s) of a call.

    `work`: from the row of its step to the response; `action`: from its first row to its last one;
    `whole`: until the next action may start, since the last row survives a loss of power.
    """

    work: float
    action: float
    whole: float


def call_vs_service(
    environment: dict[str, str], folder: str, command: Path, nodes: Callable[[], Any]
) -> dict[str, float]:
    """
    Return the ratios of the durations of call actions and of bare calls with the same rows.

    Blocks of both alternate. `nodes` starts the composed nodes; `command`: the console command.
    """
    from action_lifecycle.journal import JournalReader
    server = Process(PROCESSES, environment, 'switch')
    server.line()
    flow = Path(folder) / 'calls.yaml'
    flow.write_text(
        'flow: calls\ndefaults:\n  resources: [switch]\n'
        '  call: {service: switch, type: std_srvs/srv/Trigger}\nactions:\n'
        + ''.join(f'  call_{number}: {{}}\n' for number in range(CALLS)))
    running = nodes()
    ours: list[Cost] = []
    bare: list[Cost] = []
    caller = None
    try:
        for block in range(BLOCKS + 1):
            run = subprocess.run(
                [str(command), 'run', str(flow), '--plain', '--wait', '30', '--flow-id',
                 f'calls_{block}'], env=environment, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, timeout=120)
            with JournalReader(f'{folder}/ready.journal') as journal:
                rows = [row for row in journal.rows(flow_id=f'calls_{block}') if row.action_id]
            ended = [row for row in rows if row.event == 'terminate']
            good = [row for row in ended if row.data['outcome'] == 'succeeded']
            if len(good) < (CALLS if block else CALLS - 1):  # Fast DDS may lose the first response
                raise SystemExit(f'{run.stdout}{len(good)} of {CALLS} calls succeeded')
            if caller is None:
                caller = Process(PROCESSES, environment, 'calling', folder, good[0].action_id)
                caller.line()
            caller.tell(CALLS)
            times = json.loads(caller.line())
            if block:  # the first one fills the caches
                ours.append(medians(costs_of(rows)))
                bare.append(medians(Cost(*one) for one in times))
    finally:
        running.terminate()
        running.wait()
        server.end()
        if caller is not None:
            caller.end()
    ratio = medians(Cost(*(one / other for one, other in zip(*pair))) for pair in zip(ours, bare))
    mine, theirs = medians(ours), medians(bare)
    return {'call_vs_service': ratio.work, 'call_action_vs_service': ratio.action,
            'calls_vs_services': ratio.whole, 'call_ms': 1e3 * mine.work,
            'bare_call_ms': 1e3 * theirs.work, 'call_action_ms': 1e3 * mine.action,
            'bare_call_action_ms': 1e3 * theirs.action, 'calls_ms': 1e3 * mine.whole,
            'bare_calls_ms': 1e3 * theirs.whole}


def costs_of(rows: list[Any]) -> list[Cost]:
    """Return the durations of all actions but the last one, from their rows."""
    times: dict[str, dict[str, float]] = {}
    for row in rows:
        times.setdefault(row.action_id, {})[row.event] = row.boot_time
    actions = sorted(times.values(), key=lambda one: one['start'])
    return [Cost(one['request_verification'] - one['step'], one['terminate'] - one['start'],
                 other['start'] - one['start']) for one, other in zip(actions, actions[1:])]


def medians(costs: Iterable[Cost]) -> Cost:
    """Return the median of each duration."""
    return Cost(*map(statistics.median, zip(*costs)))
