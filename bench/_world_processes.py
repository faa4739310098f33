# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The processes that bench/world.py measures, and the reference processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import json
import os
from pathlib import Path
import sys
import time
from typing import Any

KINDS: dict[str, tuple[str, int, float]] = {  # type, messages per block, Hz
    'scan': ('sensor_msgs/msg/LaserScan', 300, 500.0),
    'joints': ('sensor_msgs/msg/JointState', 700, 1000.0),
    'cloud': ('sensor_msgs/msg/PointCloud2', 50, 60.0),
}
NOISE = 10  # topics
FACTS = {
    'scan': 'field: ranges, reduce: min', 'joints': "field: 'position[name=joint_4]'",
    'cloud': 'field: data.z, reduce: min',
    'capped': "field: 'position[name=joint_4]', max_rate: 50",
}


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


def publisher(topic: str, kind: str, count: int, rate: float) -> None:
    """Publish `count` messages at `rate` (Hz) for each line of stdin, to two subscribers."""
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
    """Return the minimum range."""
    import numpy as np
    return float(np.min(np.frombuffer(message.ranges, dtype=np.float32)))


def read_joints(message: Any) -> float:
    """Return the position of a joint."""
    return float(message.position[message.name.index('joint_4')])


def read_cloud(message: Any) -> float:
    """Return the minimum z."""
    import numpy as np
    z = next(field for field in message.fields if field.name == 'z')
    return float(np.min(np.ndarray((message.width,), '<f4', message.data, z.offset,
                                   (message.point_step,))))


def plain(topic: str, kind: str) -> None:
    """Subscribe with rclpy and read the value of each message."""
    from action_lifecycle.ros.node.executor import make_executor
    import rclpy
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
    from action_lifecycle.nodes.bridge.node import WorldModelBridge
    from action_lifecycle.ros.node.executor import make_executor
    import rclpy
    from rclpy.parameter import Parameter
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

    def counted(message: Any, *age: float) -> None:
        count[0] += 1
        take(message, *age)

    reader._take = counted
    reader.close()
    reader.discover()
    executor = make_executor()
    executor.add_node(node)
    serve(executor, lambda: count[0])


def noise(numbers: str = '5', rate: str = '100') -> None:
    """Publish NOISE topics of so many numbers each at `rate` (Hz)."""
    import rclpy
    from std_msgs.msg import Float64MultiArray
    rclpy.init()
    node = rclpy.create_node('noise')
    senders = [node.create_publisher(Float64MultiArray, f'noise_{number}', 10)
               for number in range(NOISE)]
    print('ready', flush=True)
    due = time.monotonic()
    while True:
        for sender in senders:
            sender.publish(Float64MultiArray(
                data=[due + number for number in range(int(numbers))]))
        due += 1.0 / float(rate)
        time.sleep(max(0.0, due - time.monotonic()))


def confirming(folder: str, bare: str, noisy: str = '') -> None:
    """
    Serve ConfirmOutcome goals that end at a sample, with the bridge or a bare server.

    `noisy`: not empty: the bridge also has five facts of each topic of `noise`.
    """
    from action_lifecycle.nodes.bridge.node import WorldModelBridge
    from action_lifecycle.ros.node.executor import make_executor
    from action_lifecycle_msgs.action import ConfirmOutcome
    import rclpy
    from rclpy.action import ActionServer
    from rclpy.parameter import Parameter
    from rclpy.task import Future
    from std_msgs.msg import Float64
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
                    'field: data, always: true}\n' + ''.join(
                        f'  noise_{number}_{item}: {{topic: noise_{number}, type: '
                        f"std_msgs/msg/Float64MultiArray, field: 'data[{item}]', always: true}}\n"
                        for number in range(NOISE) for item in range(5) if noisy))
    node = WorldModelBridge(parameter_overrides=[Parameter('facts_file', value=str(path))])
    assert node.start()
    executor.add_node(node)
    serve(executor, lambda: 0)


def canceling(noisy: str = '') -> None:
    """
    Send a goal for each message on `begin`; cancel it when a sample violates the condition.

    `noisy`: not empty: it also reads the topics of `noise`.
    """
    from action_lifecycle.ros.node.executor import make_executor
    from control_msgs.action import GripperCommand
    import rclpy
    from rclpy.action import ActionClient
    from std_msgs.msg import Empty, Float64, Float64MultiArray
    rclpy.init()
    node = rclpy.create_node('bare')
    client = ActionClient(node, GripperCommand, 'bare_gripper')
    running: list[Any] = []

    def begin(message: Empty) -> None:
        client.send_goal_async(GripperCommand.Goal()).add_done_callback(
            lambda sent: running.append(sent.result()))

    def take(message: Float64) -> None:
        if message.data < 0.5 and running:
            running.pop().cancel_goal_async()

    seen: dict[str, float] = {}

    def read(name: str, message: Any) -> None:
        for item in range(5):
            seen[f'{name}_{item}'] = message.data[item]

    for number in range(NOISE if noisy else 0):
        node.create_subscription(
            Float64MultiArray, f'noise_{number}', partial(read, f'noise_{number}'), 10)
    node.create_subscription(Empty, 'begin', begin, 10)
    node.create_subscription(Float64, 'deciding', take, 10)
    executor = make_executor()
    executor.add_node(node)
    serve(executor, lambda: len(running))


def idle(folder: str, bare: str) -> None:
    """Run the idle bridge with an e-stop, or a bare node that subscribes to the same topic."""
    from action_lifecycle.nodes.bridge.node import WorldModelBridge
    from action_lifecycle.ros.node.executor import make_executor
    import rclpy
    from rclpy.parameter import Parameter
    from std_msgs.msg import Bool
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
    """Spin; prints the CPU time (s) and the count for each line of stdin."""
    import threading

    def answer() -> None:
        print('ready', flush=True)
        for _ in sys.stdin:
            print(json.dumps([time.process_time(), count()]), flush=True)
        os._exit(0)

    threading.Thread(target=answer, daemon=True).start()
    executor.spin()


if __name__ == '__main__':
    name, *values = sys.argv[1:]
    if name == 'publisher':
        publisher(values[0], values[1], int(values[2]), float(values[3]))
    else:
        {'plain': plain, 'fact': fact, 'confirming': confirming, 'canceling': canceling,
         'idle': idle, 'noise': noise}[name](*values)
