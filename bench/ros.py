# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The cost of the nodes compared with a bare rclpy node, as ratios and differences.

publish_latency: from firing a transition, journaling included, to the subscriber of state_changes
    in another process, against a bare rclpy publish of the same message.
ready_s: from starting the composed process until its three nodes answer that they are active,
    minus the same until a bare node answers its first service call, in s.
idle_cpu_points: CPU of the composed process with an e-stop of 10 Hz and no flow, minus that of a
    bare node with that subscription, in percent of one core.
missed_deadlines_500: of 500 concurrent actions of one flow, the number that missed a time limit or
    failed at the first attempt. Each has a motion of 1 s and a condition that must hold for 0.2 s.
    The limits are the default ones (motion 60 s, response of its server 5 s, condition 2 s,
    heartbeat of the bridge 2 s); a single action meets them in the same run.
action_s, motion_s: the maximum duration of an action, and of its motion, among the 500.
    single_action_s, single_motion_s: the same of the single action. longest_vs_single_500: the
    ratio of the two actions.
action_cpu: CPU of the composed process for one action in a row of actions that have a motion and a
    condition, against that of a script that sends the goal, waits for the result, checks the first
    sample of the topic after it, and writes a line into an SQLite database. The server succeeds at
    once; the topic has 100 Hz. apart_cpu: the same of the three processes.
action_latency, apart_latency: the time from the begin of an action to the begin of the next one,
    against the same of the script. …_ms: the figures themselves, in ms.
call_vs_service: a call as work of an action, from the row with which it begins to the row with
    which it has ended, against a bare rclpy call of the same service and one such row.
call_action_vs_service: the whole action, from its first row to its last one, against a bare call
    and the same rows; the action also publishes its changes.
calls_vs_services: actions one after the other, from the first row of one to that of the next,
    against bare calls with the same rows and the wait until they survive a loss of power.
    call_ms, call_action_ms, calls_ms, and the same with `bare_`: the durations, in ms.
rss_ratio: memory of that process divided by that of the bare node, which imports the same
    messages.

Both processes of a ratio run at the same time or alternate, so that other load on the machine
affects both.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
import os
from pathlib import Path
import statistics
import subprocess
import tempfile
import time
from typing import Any

from _action_cost import action_cost
from _calls import call_vs_service
from _nodes import APART, cpu_s, FACTS, LEVEL, MANY, Pair, PROCESSES, rss_kb
from _process import Process, ros_environment
from _publish_latency import PublishLatency
from _report import parser, report

BLOCKS = 5
STARTS = 5
IDLE_SECONDS = 20.0
ACTIONS = 500


def publish_latency(environment: dict[str, str], folder: str) -> dict[str, float]:
    """Return the ratio of the median latencies, and both medians in µs."""
    latency = PublishLatency(environment, folder)
    try:
        blocks = [latency.block() for _ in range(BLOCKS)]
    finally:
        latency.end()
    ours, theirs = (statistics.median(chain.from_iterable(found)) for found in zip(*blocks))
    return {'publish_latency': ours / theirs, 'publish_us': ours * 1e6,
            'bare_publish_us': theirs * 1e6}


class Asker:
    """Calls services until nodes are ready."""

    def __init__(self) -> None:
        from action_lifecycle.ros.node.executor import make_executor
        import rclpy
        rclpy.init()
        self.node = rclpy.create_node('asker')
        self.executor = make_executor()
        self.executor.add_node(self.node)

    def until(self, questions: list[tuple[type, str, Callable[[Any], bool]]]) -> None:
        """Repeat each call (type, name, check) until its response passes the check."""
        clients = [(self.node.create_client(kind, name), kind, wanted)
                   for kind, name, wanted in questions]
        for client, kind, wanted in clients:
            while True:
                if client.service_is_ready():
                    call = client.call_async(kind.Request())
                    self.executor.spin_until_future_complete(call, 0.2)
                    if call.done() and wanted(call.result()):
                        break
                self.executor.spin_once(timeout_sec=0.01)
            self.node.destroy_client(client)


def ready_s(pair: Pair, asker: Asker) -> dict[str, float]:
    """Return how much later (s) than a bare node the three nodes are active."""
    from lifecycle_msgs.msg import State
    from lifecycle_msgs.srv import GetState
    from rcl_interfaces.srv import ListParameters

    questions: dict[str, list[tuple[type, str, Callable[[Any], bool]]]] = {
        'ours': [(GetState, f'{name}/get_state', lambda answer: bool(
            answer.current_state.id == State.PRIMARY_STATE_ACTIVE))
            for name in ('world_model_bridge', 'ledger', 'action_lifecycle')],
        'bare': [(ListParameters, 'bare/list_parameters', lambda answer: True)]}
    times: dict[str, list[float]] = {'ours': [], 'bare': []}
    for number in range(2 * (STARTS + 1)):
        name = ('ours', 'bare')[number % 2]
        begin = time.monotonic()
        process = pair.start(name)
        asker.until(questions[name])
        if number > 1:  # the first ones fill the caches
            times[name].append(time.monotonic() - begin)
        process.terminate()
        process.wait()
        asker.executor.spin_once(timeout_sec=0.3)
    ours, bare = (statistics.median(times[name]) for name in ('ours', 'bare'))
    return {'ready_s': ours - bare, 'bare_ready_s': bare}


def idle(pair: Pair, asker: Asker) -> dict[str, float]:
    """Return the difference of the CPU in points of one core, and the ratio of the memory."""
    from std_msgs.msg import Bool
    sender = asker.node.create_publisher(Bool, 'estop', 10)
    processes = {name: pair.start(name) for name in ('ours', 'bare')}

    def wait(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            sender.publish(Bool())
            time.sleep(0.1)

    try:
        wait(8.0)
        before = {name: cpu_s(process.pid) for name, process in processes.items()}
        begin = time.monotonic()
        wait(IDLE_SECONDS)
        took = time.monotonic() - begin
        points = {name: 100 * (cpu_s(process.pid) - before[name]) / took
                  for name, process in processes.items()}
        memory = {name: rss_kb(process.pid) for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.terminate()
            process.wait()
        asker.node.destroy_publisher(sender)  # a second one would stop the next stage
    return {'idle_cpu_points': points['ours'] - points['bare'],
            'rss_ratio': memory['ours'] / memory['bare'], 'rss_mb': memory['ours'] / 1024,
            'bare_rss_mb': memory['bare'] / 1024}


def concurrent(environment: dict[str, str], folder: str, pair: Pair) -> dict[str, float]:
    """Return how many of the concurrent actions failed, and the longest durations (s)."""
    from action_lifecycle.journal import JournalReader
    facts = Path(folder) / 'facts.yaml'
    facts.write_text(FACTS + LEVEL)
    robot, sensors = (Process(PROCESSES, environment, name) for name in ('robot', 'sensors'))
    robot.line()
    sensors.line()
    nodes = pair.start('ours')
    found = {}
    try:
        for name, count in (('single_', 1), ('', ACTIONS)):
            flow = Path(folder) / 'many.yaml'
            flow.write_text(MANY.format(count=count) + ''.join(
                f'  action_{number}: {{}}\n' for number in range(count)))
            run = subprocess.run(
                [str(Path(pair.commands['ours'][0]).with_name('action_lifecycle')), 'run',
                 str(flow), '--plain', '--wait', '30', '--flow-id', f'flow_of_{count}'],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=120)
            with JournalReader(f'{folder}/ready.journal') as journal:
                rows = list(journal.rows(flow_id=f'flow_of_{count}', kind='transition'))
            ended = {row.action_id: row for row in rows if row.event == 'terminate'}
            missed = {row.action_id for row in rows if row.event == 'fail'} | {
                action for action, row in ended.items() if row.data['outcome'] != 'succeeded'}
            if len(ended) != count or (count == 1 and missed):
                raise SystemExit(f'{run.stdout}{len(ended)} of {count} actions ended, '
                                 f'{len(missed)} missed')
            found |= {f'{name}action_s': longest(rows, 'start', 'terminate'),
                      f'{name}motion_s': longest(rows, 'execute', 'motion_done')}
    finally:
        nodes.terminate()
        nodes.wait()
        robot.end()
        sensors.end()
    return {'missed_deadlines_500': len(missed), **found,
            'longest_vs_single_500': found['action_s'] / found['single_action_s']}


def longest(rows: list[Any], first: str, last: str) -> float:
    """Return the maximum time (s) from event `first` to event `last` of an action."""
    begin = {row.action_id: row.ros_time for row in rows if row.event == first}
    return float(max(row.ros_time - begin[row.action_id] for row in rows if row.event == last))


def main() -> None:
    """Measure everything."""
    arguments = parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= ros_environment(folder)
        environment = dict(os.environ)
        found = publish_latency(environment, folder)
        pair, asker = Pair(environment, folder), Asker()
        found |= ready_s(pair, asker)
        found |= idle(pair, asker)
        found |= concurrent(environment, folder, pair)
        found |= action_cost(environment, folder, asker, {
            'action_': lambda: [pair.start('ours')],
            'apart_': lambda: [pair.start(name) for name in APART]})
        found |= call_vs_service(
            environment, folder, Path(pair.commands['ours'][0]).with_name('action_lifecycle'),
            lambda: pair.start('ours'))
    report(found, arguments.json)


if __name__ == '__main__':
    main()
