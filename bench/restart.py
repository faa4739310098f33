# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Where the time goes from kill -9 of the action node, started again at once, to the next flow.

    tools/ros-env python bench/restart.py [ROUNDS]

prints for each round the times (s) after the kill at which the process had imported the package,
made its node, opened the journal, was configured and active; and at which a client that knew the
node before (`known`), and one that is started at the kill (`new`), had their flow taken.
"""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import statistics
import sys
import tempfile
import threading
import time
from typing import Any

from _process import Process, ros_environment

STEPS = ('imported', 'made', 'journal', 'configured', 'active', 'known', 'new')
FLOW = """
flow: one
actions:
  ask: {call: {service: gate, type: std_srvs/srv/Trigger}}
"""


def tell(step: str) -> None:
    """Print a step with its time, which is that of all processes of the machine."""
    print(step, time.monotonic(), flush=True)


def node(folder: str) -> None:
    """Run the action node and print when it has come how far."""
    from action_lifecycle.nodes.action import node as module
    tell('imported')

    def told(step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            tell(step)
            return result
        return call

    kind: Any = module.ActionLifecycleNode
    kind.__init__ = told('made', kind.__init__)
    kind.configure = told('configured', kind.configure)
    kind.activate = told('active', kind.activate)
    module.open_journal = told('journal', module.open_journal)  # type: ignore[assignment]
    module.main(['--ros-args', '-p', 'autostart:=true', '-p', f'journal_path:={folder}/journal'])


def client(name: str) -> None:
    """Start a flow for each line of stdin; print when it is taken."""
    from action_lifecycle.ros.flow_client import FlowClient
    import rclpy
    from std_srvs.srv import Trigger
    rclpy.init()
    made = rclpy.create_node(name)
    made.create_service(Trigger, 'gate', lambda request, response: response)
    flows = FlowClient(made)
    told: set[str] = set()

    def taken(status: Any) -> None:
        if status.flow_id not in told:
            told.add(status.flow_id)
            tell(name)

    executor = rclpy.executors.SingleThreadedExecutor()
    executor.add_node(made)

    def listen() -> None:
        for _ in sys.stdin:
            executor.create_task(lambda: flows.start(FLOW, on_status=taken))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    tell('ready')
    executor.spin()


def steps_of(process: Process, until: str) -> dict[str, float]:
    """Read the steps of a process up to one of them."""
    found: dict[str, float] = {}
    while until not in found:
        step, moment = process.line().split()
        found[step] = float(moment)
    return found


def measure(folder: str, rounds: int) -> list[dict[str, float]]:
    """Kill and start the node so often; returns the times after the kill."""
    environment = {**os.environ, **ros_environment(folder)}
    program = Path(__file__)
    running = Process(program, environment, 'node', folder)
    steps_of(running, 'active')
    known = Process(program, environment, 'client', 'known')
    known.tell()
    steps_of(known, 'known')
    times: list[dict[str, float]] = []
    for _ in range(rounds):
        begin = time.monotonic()
        running.end()
        running = Process(program, environment, 'node', folder)
        new = Process(program, environment, 'client', 'new')
        known.tell()
        new.tell()
        steps = {**steps_of(running, 'active'), **steps_of(known, 'known'), **steps_of(new, 'new')}
        times.append({step: steps[step] - begin for step in STEPS})
        print(*(f'{step} {times[-1][step]:.2f}' for step in STEPS), flush=True)
        new.end()
    for process in (running, known):
        process.end()
    return times


def main() -> None:
    """Run the benchmark, or one of its processes."""
    if sys.argv[1:2] == ['node']:
        node(sys.argv[2])
    elif sys.argv[1:2] == ['client']:
        client(sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as folder:
            times = measure(folder, int(sys.argv[1]) if sys.argv[1:] else 20)
        for step in STEPS:
            values = sorted(one[step] for one in times)
            print(f'{step}: {values[0]:.2f} to {values[-1]:.2f} s, median '
                  f'{statistics.median(values):.2f} s')


if __name__ == '__main__':
    main()
