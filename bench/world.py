# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
What facts, conditions and confirmations cost beside rclpy itself, as ratios measured in one run.

fact_cpu: CPU time a message of the bridge that keeps a fact, against a plain rclpy subscription
    that reads the same value: LaserScan of 1080 beams (least range), JointState of 7 (position of
    a joint by name), PointCloud2 of 1 MB (least z); the worst of the three.
capped_fact_cpu: the JointState at 1 kHz with max_rate 50.
condition_us: one condition of three terms, in µs.
confirm_latency: from publishing the deciding sample to the result of confirm_outcome, against a
    bare rclpy action server that gives its result when the same sample arrives.
idle_cpu_points: CPU of the active bridge with an e-stop heartbeat of 10 Hz and nothing to confirm,
    minus that of a bare node with that subscription, in points of one core.

The process that is measured and the one it is measured against run at the same time and get the
same messages, so that load from outside meets both; the median over blocks is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

KINDS: dict[str, tuple[str, int, float]] = {  # type, messages a block, Hz
    'scan': ('sensor_msgs/msg/LaserScan', 300, 500.0),
    'joints': ('sensor_msgs/msg/JointState', 700, 1000.0),
    'cloud': ('sensor_msgs/msg/PointCloud2', 50, 60.0),
}
FACTS = {
    'scan': 'field: ranges, reduce: min', 'joints': "field: 'position[name=joint_4]'",
    'cloud': 'field: data.z, reduce: min',
    'capped': "field: 'position[name=joint_4]', max_rate: 50",
}
CONDITION = 'gap < 0.03 and load > 1.0 and abs(speed) < 0.01'
CONFIRM_ROUNDS = 150
IDLE_SECONDS = 15.0


def message_of(kind: str) -> Any:
    """Return a message of a realistic size."""
    import array

    import numpy as np
    from sensor_msgs.msg import JointState, LaserScan, PointCloud2, PointField
    if kind == 'scan':
        return LaserScan(ranges=array.array('f', [1.0 + n / 1080 for n in range(1080)]),
                         intensities=array.array('f', [0.0] * 1080))
    if kind == 'cloud':
        points = np.random.default_rng(1).random((65536, 4)).astype('<f4')
        return PointCloud2(
            height=1, width=65536, point_step=16, row_step=16 * 65536,
            fields=[PointField(name=name, offset=4 * n, datatype=7, count=1)
                    for n, name in enumerate(('x', 'y', 'z', 'i'))],
            data=array.array('B', points.tobytes()))
    return JointState(name=[f'joint_{n}' for n in range(7)], position=[0.1 * n for n in range(7)],
                      velocity=[0.0] * 7, effort=[1.0] * 7)


# -- the processes


def publisher(topic: str, kind: str, count: int, rate: float) -> None:
    """Publish `count` messages at `rate` whenever a line comes in; two subscribers are there."""
    import rclpy
    rclpy.init()
    node = rclpy.create_node('publisher')
    message = message_of(kind)
    sender = node.create_publisher(type(message), topic, 10)
    limit = time.monotonic() + 20.0
    while sender.get_subscription_count() < 2:
        if time.monotonic() > limit:
            raise SystemExit('the subscribers are not there')
        time.sleep(0.02)
    print('ready', flush=True)
    for _ in sys.stdin:
        due = time.monotonic()
        for _ in range(count):
            message.header.stamp = node.get_clock().now().to_msg()
            sender.publish(message)
            due += 1.0 / rate
            time.sleep(max(0.0, due - time.monotonic()))
        print('done', flush=True)


def read_scan(message: Any) -> float:
    """Return the least range."""
    import numpy as np
    return float(np.min(np.frombuffer(message.ranges, dtype=np.float32)))


def read_joints(message: Any) -> float:
    """Return the position of a joint."""
    return float(message.position[message.name.index('joint_4')])


def read_cloud(message: Any) -> float:
    """Return the least z."""
    import numpy as np
    z = next(field for field in message.fields if field.name == 'z')
    return float(np.min(np.ndarray((message.width,), '<f4', message.data, z.offset,
                                   (message.point_step,))))


def plain(topic: str, kind: str) -> None:
    """Subscribe with rclpy and read the value of each message."""
    import rclpy

    from action_lifecycle.ros.executor import make_executor
    rclpy.init()
    node = rclpy.create_node('plain')
    read = {'scan': read_scan, 'joints': read_joints, 'cloud': read_cloud}[kind]
    count = [0, 0.0]

    def take(message: Any) -> None:
        count[0] += 1
        count[1] = read(message)

    node.create_subscription(type(message_of(kind)), topic, take, 10)
    executor = make_executor()
    executor.add_node(node)
    serve(executor, lambda: count[0])


def fact(topic: str, kind: str, folder: str) -> None:
    """Run the bridge with one fact that is always read."""
    import rclpy
    from rclpy.parameter import Parameter

    from action_lifecycle.nodes.world_model_bridge import WorldModelBridge
    from action_lifecycle.ros.executor import make_executor
    type_name = KINDS['joints' if kind == 'capped' else kind][0]
    path = Path(folder) / f'{kind}.yaml'
    path.write_text(f'estop: none\nfacts:\n  value: {{topic: {topic}, type: {type_name}, '
                    f'{FACTS[kind]}, always: true}}\n')
    rclpy.init()
    node = WorldModelBridge(parameter_overrides=[Parameter('facts_file', value=str(path))])
    assert node.start()
    reader = node._facts.subscriptions.readers[topic]
    count = [0]
    take = reader._take

    def counted(message: Any) -> None:
        count[0] += 1
        take(message)

    reader._take = counted
    reader.close()
    reader.look()
    executor = make_executor()
    executor.add_node(node)
    serve(executor, lambda: count[0])


def confirming(folder: str, bare: str) -> None:
    """Answer goals of ConfirmOutcome when a sample decides: the bridge, or a bare server."""
    import rclpy
    from rclpy.action import ActionServer
    from rclpy.parameter import Parameter
    from rclpy.task import Future
    from std_msgs.msg import Float64

    from action_lifecycle.nodes.world_model_bridge import WorldModelBridge
    from action_lifecycle.ros.executor import make_executor
    from action_lifecycle_msgs.action import ConfirmOutcome
    rclpy.init()
    executor = make_executor()
    if bare == 'bare':
        node: Any = rclpy.create_node('bare')
        waiting: list[Any] = []

        async def execute(handle: Any) -> Any:
            decided = Future()
            waiting.append(decided)
            await decided
            handle.succeed()
            return ConfirmOutcome.Result(verdict=1)

        def take(message: Any) -> None:
            if message.data > 0.5 and waiting:
                waiting.pop().set_result(None)

        node.create_subscription(Float64, 'deciding', take, 10)
        server = ActionServer(node, ConfirmOutcome, '~/confirm_outcome', execute)
        executor.add_node(node)
        serve(executor, lambda: len(waiting))
        server.destroy()
        return
    path = Path(folder) / 'confirm.yaml'
    path.write_text('estop: none\nfacts:\n  value: {topic: deciding, type: std_msgs/msg/Float64, '
                    'field: data, always: true}\n')
    node = WorldModelBridge(parameter_overrides=[Parameter('facts_file', value=str(path))])
    assert node.start()
    executor.add_node(node)
    serve(executor, lambda: 0)


def idle(folder: str, bare: str) -> None:
    """Do nothing: the bridge with an e-stop, or a bare node that subscribes to the same topic."""
    import rclpy
    from rclpy.parameter import Parameter
    from std_msgs.msg import Bool

    from action_lifecycle.nodes.world_model_bridge import WorldModelBridge
    from action_lifecycle.ros.executor import make_executor
    rclpy.init()
    executor = make_executor()
    if bare == 'bare':
        node: Any = rclpy.create_node('bare')
        node.create_subscription(Bool, 'estop', lambda message: None, 10)
    else:
        path = Path(folder) / 'idle.yaml'
        path.write_text(
            'estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 1.0}\n'
            'facts: {value: {topic: value, type: std_msgs/msg/Float64, field: data}}\n')
        node = WorldModelBridge(parameter_overrides=[Parameter('facts_file', value=str(path))])
        assert node.start()
    executor.add_node(node)
    serve(executor, lambda: 0)


def serve(executor: Any, count: Callable[[], int]) -> None:
    """Spin, and print CPU time and count whenever a line comes in."""
    import threading

    def answer() -> None:
        print('ready', flush=True)
        for _ in sys.stdin:
            print(json.dumps([time.process_time(), count()]), flush=True)
        os._exit(0)

    threading.Thread(target=answer, daemon=True).start()
    executor.spin()


# -- measuring


class Process:
    """A process of this file with another role."""

    def __init__(self, environment: dict[str, str], *arguments: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, '--role', *map(str, arguments)], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit('a process of the benchmark has died')
        return line

    def ask(self) -> list[float]:
        """Return CPU time (s) and count."""
        self.tell()
        found: list[float] = json.loads(self.line())
        return found

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write('\n')
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def cpu_ratio(environment: dict[str, str], folder: str, kind: str, blocks: int) -> float:
    """Return the CPU time a message of the bridge over that of a plain subscription."""
    source = 'joints' if kind == 'capped' else kind
    _, count, rate = KINDS[source]
    topic = f'{kind}_topic'
    ours = Process(environment, 'fact', topic, kind, folder)
    theirs = Process(environment, 'plain', topic, source)
    sender = Process(environment, 'publisher', topic, source, count, rate)
    ratios = []
    try:
        for process in (ours, theirs, sender):
            process.line()
        time.sleep(1.5)  # until the bridge has fitted its QoS to the publisher's
        for block in range(blocks + 2):
            before = ours.ask(), theirs.ask()
            sender.tell()
            sender.line()
            time.sleep(0.1)
            after = ours.ask(), theirs.ask()
            if block > 1:  # the first ones warm up
                read = [later[1] - earlier[1] for earlier, later in zip(before, after)]
                if kind == 'capped':  # what was sent counts, not what was read of it
                    read[0] = read[1]
                costs = [(later[0] - earlier[0]) / max(1, messages)
                         for earlier, later, messages in zip(before, after, read)]
                ratios.append(costs[0] / costs[1])
    finally:
        for process in (ours, theirs, sender):
            process.end()
    return statistics.median(ratios)


def condition_us() -> float:
    """Return the µs of one judgement of a condition of three terms on fresh facts."""
    from action_lifecycle.world import Condition, WorldModel, parse_facts
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
    """Return the time from the deciding sample to the result, over that of a bare server."""
    os.environ.update(environment)
    import rclpy
    from rclpy.action import ActionClient
    from std_msgs.msg import Float64

    from action_lifecycle.ros.executor import make_executor
    from action_lifecycle_msgs.action import ConfirmOutcome
    from action_lifecycle_msgs.msg import Condition
    processes = {name: Process(environment, 'confirming', folder, name)
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
        while not (all(client.server_is_ready() for client in clients.values())
                   and sender.get_subscription_count() == 2):
            executor.spin_once(timeout_sec=0.05)
        goal = ConfirmOutcome.Goal(conditions=[Condition(
            name='confirm', expression='value > 0.5', within=60.0)])
        for number in range(2 * CONFIRM_ROUNDS):
            name = ('ours', 'bare')[number % 2]
            goal.after = node.get_clock().now().to_msg()
            sending = clients[name].send_goal_async(goal)
            executor.spin_until_future_complete(sending)
            result = sending.result().get_result_async()
            pause(executor, 0.02)  # until it is being asked
            sender.publish(Float64(data=0.0))
            pause(executor, 0.02)
            begin = time.perf_counter()
            sender.publish(Float64(data=1.0))
            executor.spin_until_future_complete(result)
            times[name].append(time.perf_counter() - begin)
            assert result.result().result.verdict == 1
    finally:
        for process in processes.values():
            process.end()
    return statistics.median(times['ours']) / statistics.median(times['bare'])


def pause(executor: Any, seconds: float) -> None:
    """Spin for some time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.005)


def idle_cpu_points(environment: dict[str, str], folder: str) -> float:
    """Return the CPU of the idle bridge minus that of a bare node, in points of one core."""
    os.environ.update(environment)
    import rclpy
    from std_msgs.msg import Bool
    processes = [Process(environment, 'idle', folder, name) for name in ('ours', 'bare')]
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
        before = [process.ask()[0] for process in processes]
        begin = time.monotonic()
        wait(IDLE_SECONDS)
        took = time.monotonic() - begin
        after = [process.ask()[0] for process in processes]
    finally:
        for process in processes:
            process.end()
    ours, bare = (100 * (later - earlier) / took for earlier, later in zip(before, after))
    return ours - bare


def main() -> None:
    """Measure everything, or play a role in it."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--json', action='store_true', help='print one JSON object only')
    parser.add_argument('--blocks', type=int, default=21, help='blocks of messages a figure')
    parser.add_argument('--role', nargs='+', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role:
        name, *values = arguments.role
        if name == 'publisher':
            publisher(values[0], values[1], int(values[2]), float(values[3]))
        else:
            {'plain': plain, 'fact': fact, 'confirming': confirming, 'idle': idle}[name](*values)
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ, 'ROS_DOMAIN_ID': str(random.randint(1, 200)), 'ROS_LOG_DIR': folder,
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
        found: dict[str, float] = {'condition_us': condition_us()}
        for kind in ('scan', 'joints', 'cloud', 'capped'):
            found[f'{kind}_fact_cpu'] = cpu_ratio(environment, folder, kind, arguments.blocks)
        found['fact_cpu'] = max(found[f'{kind}_fact_cpu'] for kind in ('scan', 'joints', 'cloud'))
        found['confirm_latency'] = confirm_latency(environment, folder)
        found['idle_cpu_points'] = idle_cpu_points(environment, folder)
    rounded = {name: round(value, 3) for name, value in found.items()}
    print(json.dumps(rounded) if arguments.json else '\n'.join(
        f'{name}: {value}' for name, value in rounded.items()))


if __name__ == '__main__':
    main()
