# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The cost of physical actions, compared with a script that a user would write by hand."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
import statistics
import subprocess
from typing import Any

from _nodes import cpu_s, FACTS, LEVEL, PROCESSES
from _process import Process

ACTIONS = 100  # per block
BLOCKS = 5
FLOW = """\
flow: row
defaults:
  resources: [robot]
  motion: {server: move, type: control_msgs/action/GripperCommand}
  confirm: level > 0.5
actions:
"""


def action_cost(
    environment: dict[str, str], folder: str, asker: Any,
    starts: dict[str, Callable[[], list[subprocess.Popen[bytes]]]],
) -> dict[str, float]:
    """
    Return the ratios of CPU and wall time of an action in a row to those of the script.

    `starts`: starts the processes of the nodes, by the prefix of the figures. Blocks of actions
    and of the script alternate, on the same server and the same sensor.
    """
    from action_lifecycle_msgs.action import ExecuteFlow
    from rclpy.action import ActionClient
    client = ActionClient(asker.node, ExecuteFlow, 'action_lifecycle/execute_flow')
    facts = Path(folder) / 'facts.yaml'
    facts.write_text(FACTS + LEVEL)
    robot, sensors = (Process(PROCESSES, environment, name, *values) for name, *values in (
        ('robot', 0.0), ('sensors', 0.01)))
    script = Process(PROCESSES, environment, 'script', folder)
    for process in (robot, sensors, script):
        process.line()
    found: dict[str, float] = {}
    try:
        for prefix, start in starts.items():
            nodes = start()
            try:
                found |= {prefix + name: value for name, value in
                          _compared(nodes, script, folder, asker, client, prefix).items()}
            finally:
                for node in nodes:
                    node.terminate()
                for node in nodes:
                    node.wait()
    finally:
        for process in (robot, sensors, script):
            process.end()
    return found


def _compared(
    nodes: list[subprocess.Popen[bytes]], script: Process, folder: str, asker: Any, client: Any,
    name: str
) -> dict[str, float]:
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for block in range(BLOCKS + 1):
        before = sum(cpu_s(node.pid) for node in nodes)
        _run_flow(asker, client, f'{name}row_{block}')
        used = sum(cpu_s(node.pid) for node in nodes) - before
        script.tell(ACTIONS)
        times = json.loads(script.line())
        if block:  # the first one fills the caches
            ours.append((used / ACTIONS, _latency(folder, f'{name}row_{block}')))
            theirs.append((times['cpu'] / ACTIONS, times['latency']))
    cpu, latency = (
        [statistics.median(column) for column in zip(*pairs)]
        for pairs in ([(one[index], other[index], one[index] / other[index])
                       for one, other in zip(ours, theirs)] for index in (0, 1)))
    return {'cpu': cpu[2], 'latency': latency[2], 'cpu_ms': 1e3 * cpu[0],
            'script_cpu_ms': 1e3 * cpu[1], 'latency_ms': 1e3 * latency[0],
            'script_latency_ms': 1e3 * latency[1]}


def _run_flow(asker: Any, client: Any, flow_id: str) -> None:
    """Run a flow of ACTIONS actions, one after the other."""
    from action_lifecycle_msgs.action import ExecuteFlow
    client.wait_for_server()
    text = FLOW + ''.join(f'  action_{number}: {{}}\n' for number in range(ACTIONS))
    while True:  # rejected until the node is active
        sent = client.send_goal_async(ExecuteFlow.Goal(flow=text, flow_id=flow_id))
        asker.executor.spin_until_future_complete(sent, 60.0)
        if sent.result().accepted:
            break
    ended = sent.result().get_result_async()
    asker.executor.spin_until_future_complete(ended, 60.0)
    if not ended.done() or ended.result().result.state != 'FINISH':
        raise SystemExit(f'{flow_id}: {ended.result() if ended.done() else "does not end"}')


def _latency(folder: str, flow_id: str) -> float:
    """Return the time (s) from the begin of an action to that of the next one, as the mean."""
    from action_lifecycle.journal import JournalReader
    with JournalReader(f'{folder}/ready.journal') as journal:
        begins = sorted(row.boot_time for row in journal.rows(flow_id=flow_id, kind='transition')
                        if row.event == 'start')
    return float((begins[-1] - begins[0]) / (len(begins) - 1))
