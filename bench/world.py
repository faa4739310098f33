# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The cost of facts, conditions and confirmations compared with plain rclpy.

fact_cpu: CPU time for each message of a fact in the bridge, divided by that of a plain rclpy
    subscription that reads the same value: LaserScan of 1080 beams (minimum range), JointState of
    7 joints (position of a joint by name), PointCloud2 of 1 MB (minimum z); the largest of the
    three ratios.
capped_fact_cpu: the same of the JointState at 1 kHz with max_rate 50.
condition_us: time of one condition with three terms, in µs.
confirm_latency: from publishing the deciding sample to the result of confirm_outcome, against a
    bare rclpy action server that gives its result when the same sample arrives.
cancel_latency: from publishing the sample that violates `maintain` to the cancel request at the
    robot's server, against a bare rclpy node that cancels its goal when the same sample arrives;
    cancel_ms: our maximum, in ms.
cancel_latency_50_facts, cancel_50_facts_ms: the same while both read 50 numbers of ten other
    topics of 100 Hz, the bridge as facts.
idle_cpu_points: CPU of the active bridge with an e-stop heartbeat of 10 Hz and nothing to confirm,
    minus that of a bare node with that subscription, in percent of one core.

Both processes of a ratio run at the same time and get the same messages, so that other load on the
machine affects both; the median of all blocks is printed.
"""

from __future__ import annotations

from collections.abc import Callable
import json
import os
from pathlib import Path
import statistics
import tempfile
import time
from typing import Any
import uuid

from _process import Process, ros_environment
from _report import parser, report
from _world_processes import KINDS, message_of

PROCESSES = Path(__file__).with_name('_world_processes.py')
CONDITION = 'gap < 0.03 and load > 1.0 and abs(speed) < 0.01'
CONFIRM_ROUNDS = 150
CANCEL_ROUNDS = 150
AGAIN = 1.0  # s after which what nothing has answered is done again; the round does not count
LIMIT = 120.0  # s
IDLE_SECONDS = 15.0


def ask(process: Process) -> list[float]:
    """Return the CPU time (s) and the count of a process."""
    process.tell()
    found: list[float] = json.loads(process.line())
    return found


def cpu_ratio(environment: dict[str, str], folder: str, kind: str, blocks: int) -> float:
    """Return the CPU time per message of the bridge relative to a plain subscription."""
    source = 'joints' if kind == 'capped' else kind
    _, count, rate = KINDS[source]
    topic = f'{kind}_topic'
    ours = Process(PROCESSES, environment, 'fact', topic, kind, folder)
    theirs = Process(PROCESSES, environment, 'plain', topic, source)
    sender = Process(PROCESSES, environment, 'publisher', topic, source, count, rate)
    ratios = []
    try:
        for process in (ours, theirs, sender):
            process.line()
        time.sleep(1.5)  # until the bridge has matched its QoS to the publisher's
        for block in range(blocks + 2):
            before = ask(ours), ask(theirs)
            sender.tell()
            sender.line()
            time.sleep(0.1)
            after = ask(ours), ask(theirs)
            if block > 1:  # the first ones warm up
                read = [later[1] - earlier[1] for earlier, later in zip(before, after)]
                if kind == 'capped':  # count the sent messages, not those read
                    read[0] = read[1]
                costs = [(later[0] - earlier[0]) / max(1, messages)
                         for earlier, later, messages in zip(before, after, read)]
                ratios.append(costs[0] / costs[1])
    finally:
        for process in (ours, theirs, sender):
            process.end()
    return statistics.median(ratios)


def condition_us() -> float:
    """Return the time (µs) to evaluate a condition of three terms on fresh facts."""
    from action_lifecycle.world import Condition, parse_facts, WorldModel
    from action_lifecycle.world.watches import Judged

    model = WorldModel(parse_facts('estop: none\nfacts:\n' + ''.join(
        f'  {name}: {{topic: t, type: sensor_msgs/msg/JointState, field: {field}}}\n'
        for name, field in (('gap', "'position[0]'"), ('load', "'effort[0]'"),
                            ('speed', "'velocity[0]'")))))
    message = message_of('joints')
    model.ingest('t', message, 1.0)
    judged: Judged = model._compile([Condition('c', CONDITION)], None)[0]
    rounds = 20_000
    times = []
    for _ in range(9):
        begin = time.perf_counter()
        for _ in range(rounds):
            judged.judge(1.5, 0.5)
        times.append((time.perf_counter() - begin) / rounds * 1e6)
    assert judged.verdict.name != 'UNKNOWN'
    return statistics.median(times)


def confirm_latency(environment: dict[str, str], folder: str) -> float:
    """Return the time from the deciding sample to the result, relative to a bare server."""
    from action_lifecycle.ros.node.executor import make_executor
    from action_lifecycle_msgs.action import ConfirmOutcome
    from action_lifecycle_msgs.msg import Condition
    import rclpy
    from rclpy.action import ActionClient
    from std_msgs.msg import Float64
    processes = {name: Process(PROCESSES, environment, 'confirming', folder, name)
                 for name in ('ours', 'bare')}
    times: dict[str, list[float]] = {'ours': [], 'bare': []}
    rclpy.init()
    try:
        for process in processes.values():
            process.line()
        node = rclpy.create_node('asker')
        executor = make_executor()
        executor.add_node(node)
        sender = node.create_publisher(Float64, 'deciding', 10)
        clients = {name: ActionClient(node, ConfirmOutcome, f'{server}/confirm_outcome')
                   for name, server in (('ours', 'world_model_bridge'), ('bare', 'bare'))}
        until(executor, lambda: all(client.server_is_ready() for client in clients.values())
              and sender.get_subscription_count() == 2)
        goal = ConfirmOutcome.Goal(conditions=[Condition(
            name='confirm', expression='value > 0.5', within=60.0)])
        for number in range(2 * CONFIRM_ROUNDS):
            name = ('ours', 'bare')[number % 2]
            goal.after = node.get_clock().now().to_msg()
            sending = clients[name].send_goal_async(goal)
            until(executor, sending.done)
            result = sending.result().get_result_async()
            pause(executor, 0.02)  # until the goal is active; else the round does not count
            sender.publish(Float64(data=0.0))
            pause(executor, 0.02)
            begin = time.perf_counter()
            sender.publish(Float64(data=1.0))
            if until(executor, result.done, lambda: sender.publish(Float64(data=1.0))):
                times[name].append(time.perf_counter() - begin)
            assert result.result().result.verdict == 1
    finally:
        for process in processes.values():
            process.end()
    return statistics.median(times['ours']) / statistics.median(times['bare'])


def cancel_latency(
    environment: dict[str, str], folder: str, noisy: str = ''
) -> tuple[float, float]:
    """
    Return the time from sample to cancel relative to a bare node, and the maximum (ms).

    `noisy`: not empty: both read 50 numbers of ten other topics of 100 Hz, too.
    """
    from action_lifecycle.ros.node.executor import make_executor
    from action_lifecycle_msgs.action import ExecuteMotion
    from action_lifecycle_msgs.msg import Condition, Motion
    import rclpy
    from rclpy.action import ActionClient
    from std_msgs.msg import Empty, Float64
    processes = [Process(PROCESSES, environment, 'confirming', folder, 'ours', noisy),
                 Process(PROCESSES, environment, 'canceling', noisy)]
    if noisy:
        processes.append(Process(PROCESSES, environment, 'noise'))
    times: dict[str, list[float]] = {'ours': [], 'bare': []}
    rclpy.try_shutdown()
    rclpy.init()
    try:
        for process in processes:
            process.line()
        node = rclpy.create_node('robot')
        executor = make_executor()
        executor.add_node(node)
        servers = {name: Canceled(node, f'{name}_gripper') for name in times}
        sender = node.create_publisher(Float64, 'deciding', 10)
        begin = node.create_publisher(Empty, 'begin', 10)
        client = ActionClient(node, ExecuteMotion, 'world_model_bridge/execute_motion')
        until(executor, lambda: client.server_is_ready()
              and begin.get_subscription_count() == 1 and sender.get_subscription_count() == 2)
        order = ExecuteMotion.Goal(
            steps=[Motion(server='ours_gripper', type='control_msgs/action/GripperCommand',
                          goal_json='{}', server_timeout=10.0, timeout=60.0)],
            maintain=[Condition(name='maintain', expression='value > 0.5', within=10.0)])
        ended: Any = None

        def start() -> None:
            """Send our motion, or again if it was refused, as the sample had not arrived."""
            nonlocal ended
            if ended is None or ended.done():
                sender.publish(Float64(data=1.0))
                pause(executor, 0.02)
                order.goal_id.uuid = list(uuid.uuid4().bytes)
                sending = client.send_goal_async(order)
                until(executor, sending.done)
                ended = sending.result().get_result_async()

        for number in range(2 * CANCEL_ROUNDS):
            name = ('ours', 'bare')[number % 2]
            server = servers[name]
            server.canceled = 0.0
            if name == 'ours':
                start()
                until(executor, lambda server=server: server.runs, start)
            else:
                sender.publish(Float64(data=1.0))
                pause(executor, 0.02)
                begin.publish(Empty())
                until(executor, lambda server=server: server.runs)
            pause(executor, 0.02)
            sent = time.perf_counter()
            sender.publish(Float64(data=0.0))
            if until(executor, lambda server=server: server.canceled,
                     lambda: sender.publish(Float64(data=0.0))):
                times[name].append(server.canceled - sent)
            until(executor, lambda server=server: not server.runs and ended.done())
    finally:
        for process in processes:
            process.end()
    return (statistics.median(times['ours']) / statistics.median(times['bare']),
            1e3 * max(times['ours']))


class Canceled:
    """An action server whose goal runs until it is canceled; `canceled`: time (s) of that."""

    def __init__(self, node: Any, name: str) -> None:
        from control_msgs.action import GripperCommand
        from rclpy.action import ActionServer, CancelResponse
        from rclpy.task import Future
        self.canceled = 0.0
        self.runs = False

        def cancel(handle: Any) -> Any:
            self.canceled = time.perf_counter()
            released.pop().set_result(None)
            return CancelResponse.ACCEPT

        async def execute(handle: Any) -> Any:
            released.append(Future())
            self.runs = True
            await released[-1]
            handle.canceled()
            self.runs = False
            return GripperCommand.Result()

        released: list[Any] = []
        self.server = ActionServer(node, GripperCommand, name, execute, cancel_callback=cancel)


def until(
    executor: Any, condition: Callable[[], Any], again: Callable[[], None] | None = None
) -> bool:
    """Spin until the condition holds, call `again` every AGAIN s; returns whether never."""
    begin, calls = time.monotonic(), 0
    while not condition():
        waited = time.monotonic() - begin
        if waited > LIMIT:
            raise SystemExit('bench/world.py: it did not happen in time')
        if again is not None and waited > (calls + 1) * AGAIN:
            calls += 1
            again()
        executor.spin_once(timeout_sec=0.005)
    return not calls


def pause(executor: Any, seconds: float) -> None:
    """Spin for `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.005)


def idle_cpu_points(environment: dict[str, str], folder: str) -> float:
    """Return the CPU of the idle bridge minus that of a bare node, in points of one core."""
    import rclpy
    from std_msgs.msg import Bool
    processes = [Process(PROCESSES, environment, 'idle', folder, name)
                 for name in ('ours', 'bare')]
    rclpy.try_shutdown()
    rclpy.init()
    try:
        for process in processes:
            process.line()
        sender = rclpy.create_node('estop').create_publisher(Bool, 'estop', 10)

        def wait(seconds: float) -> None:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                sender.publish(Bool())
                time.sleep(0.1)

        wait(3.0)
        before = [ask(process)[0] for process in processes]
        begin = time.monotonic()
        wait(IDLE_SECONDS)
        took = time.monotonic() - begin
        after = [ask(process)[0] for process in processes]
    finally:
        for process in processes:
            process.end()
    ours, bare = (100 * (later - earlier) / took for earlier, later in zip(before, after))
    return ours - bare


def main() -> None:
    """Measure everything."""
    options = parser(__doc__)
    options.add_argument('--blocks', type=int, default=21, help='blocks of messages a figure')
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= ros_environment(folder)
        environment = dict(os.environ)
        found: dict[str, float] = {'condition_us': condition_us()}
        for kind in ('scan', 'joints', 'cloud', 'capped'):
            found[f'{kind}_fact_cpu'] = cpu_ratio(environment, folder, kind, arguments.blocks)
        found['fact_cpu'] = max(found[f'{kind}_fact_cpu'] for kind in ('scan', 'joints', 'cloud'))
        found['confirm_latency'] = confirm_latency(environment, folder)
        found['cancel_latency'], found['cancel_ms'] = cancel_latency(environment, folder)
        found['cancel_latency_50_facts'], found['cancel_50_facts_ms'] = cancel_latency(
            environment, folder, 'noisy')
        found['idle_cpu_points'] = idle_cpu_points(environment, folder)
    report(found, arguments.json)


if __name__ == '__main__':
    main()
