# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The cost of work of the kind call, compared with a bare call and its journal row."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
import statistics
import subprocess
from typing import Any

from _process import Process

PROCESSES = Path(__file__).with_name('_ros_processes.py')
CALLS = 100  # per block
BLOCKS = 5


def call_vs_service(
    environment: dict[str, str], folder: str, command: Path, nodes: Callable[[], Any]
) -> dict[str, float]:
    """
    Return the ratio of the durations of a call as work and of a bare call with the same row.

    The work takes from the row with which it begins to the row with which it has ended. Blocks of
    both alternate. `nodes` starts the composed nodes; `command`: the console command.
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
    ours: list[float] = []
    bare: list[float] = []
    actions: list[float] = []
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
            if len(ended) != CALLS or any(row.data['outcome'] != 'succeeded' for row in ended):
                raise SystemExit(f'{run.stdout}{len(ended)} of {CALLS} calls succeeded')
            begun = {row.action_id: row.boot_time for row in rows if row.event == 'step'}
            started = {row.action_id: row.boot_time for row in rows if row.event == 'start'}
            if caller is None:
                caller = Process(
                    PROCESSES, environment, 'calling', folder, ended[0].action_id)
                caller.line()
            caller.tell(CALLS)
            times = json.loads(caller.line())
            if block:  # the first one fills the caches
                ours.append(statistics.median(
                    row.boot_time - begun[row.action_id] for row in rows
                    if row.event == 'request_verification'))
                bare.append(statistics.median(times))
                actions.append(statistics.median(
                    row.boot_time - started[row.action_id] for row in ended))
    finally:
        running.terminate()
        running.wait()
        server.end()
        if caller is not None:
            caller.end()
    return {'call_vs_service': statistics.median(one / other for one, other in zip(ours, bare)),
            'call_ms': 1e3 * statistics.median(ours),
            'bare_call_ms': 1e3 * statistics.median(bare),
            'call_action_ms': 1e3 * statistics.median(actions)}
