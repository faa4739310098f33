# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The processes that bench/ros.py measures, and the reference processes."""

from __future__ import annotations

from collections.abc import Callable
import importlib
import json
import os
from pathlib import Path
import sqlite3
import sys
import threading
import time
from typing import Any

from action_msgs.msg import GoalStatus

PERIOD = 0.01  # s between two messages of a process
MOTION = 1.0  # s
EVENTS = ('start', 'request_verification', 'postpone', 'ask_again')  # of each action, in order


def serve(executor: Any, answer: Callable[[int], None]) -> None:
    """Spin; calls `answer(number)` in the executor's thread for each line of stdin."""
    def listen() -> None:
        print('ready', flush=True)
        for line in sys.stdin:
            executor.create_task(answer, int(line))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    executor.spin()


def repeatedly(node: Any, count: int, once: Callable[[], None]) -> None:
    """Call `once` every PERIOD, `count` times, then print `done`."""
    left = [count]

    def tick() -> None:
        once()
        left[0] -= 1
        if not left[0]:
            node.destroy_timer(timer)
            print('done', flush=True)

    timer = node.create_timer(PERIOD, tick)


def serve_times(
    executor: Any, node: Any, times: dict[int, float], once: Callable[[], None]
) -> None:
    """Spin; a number on stdin calls `once` that many times, 0 prints and clears `times`."""
    def answer(count: int) -> None:
        if count:
            repeatedly(node, count, once)
        else:
            print(json.dumps(times), flush=True)
            times.clear()

    serve(executor, answer)


def changing(folder: str) -> None:
    """Fire events of actions in the real node; prints their times (s) by sequence number."""
    from action_lifecycle.graphs.packaged import packaged_graph
    from action_lifecycle.lifecycle.action import Action
    from action_lifecycle.lifecycle.spec import ActionSpec
    from action_lifecycle.nodes.action.node import ActionLifecycleNode
    from action_lifecycle.ros.node.executor import make_executor
    import rclpy
    from rclpy.parameter import Parameter
    rclpy.init()
    node = ActionLifecycleNode(parameter_overrides=[
        Parameter('journal_path', value=str(Path(folder) / 'changing.journal'))])
    assert node.start()
    executor = make_executor()
    executor.add_node(node)
    times: dict[int, float] = {}
    events: list[str] = []
    action: Any = None
    number = 0

    def once() -> None:
        nonlocal action, number
        if not events:
            number += 1
            events.extend(reversed(EVENTS))
            action = Action('bench', f'action_{number}', ActionSpec(), packaged_graph('action'),
                            node.recorder)
        event = events.pop()
        begin = time.monotonic()
        action.machine.fire(event)
        times[action.seq] = begin

    serve_times(executor, node, times, once)


def publishing() -> None:
    """Publish the same message with rclpy only; prints the times (s) by sequence number."""
    from action_lifecycle.ros.interfaces.qos import event_qos
    from action_lifecycle.ros.node.executor import make_executor
    from action_lifecycle_msgs.msg import ActionStateChange
    import rclpy
    rclpy.init()
    node = rclpy.create_node('bare')
    executor = make_executor()
    executor.add_node(node)
    sender = node.create_publisher(ActionStateChange, '~/state_changes', event_qos())
    message = ActionStateChange(
        flow_id='bench', action_id='action_1', attempt=1, event='postpone', data_json='{}',
        from_state='status_verification_requested', to_state='pending', ledger_status='BLOCKED')
    message.stamp = node.get_clock().now().to_msg()
    times: dict[int, float] = {}

    def once() -> None:
        message.seq += 1
        begin = time.monotonic()
        sender.publish(message)
        times[message.seq] = begin

    serve_times(executor, node, times, once)


def listening(*topics: str) -> None:
    """Subscribe to topics; prints the arrival times (s) by topic and sequence number."""
    from action_lifecycle.ros.interfaces.qos import event_qos
    from action_lifecycle.ros.node.executor import make_executor
    from action_lifecycle_msgs.msg import ActionStateChange
    import rclpy
    rclpy.init()
    node = rclpy.create_node('listening')
    executor = make_executor()
    executor.add_node(node)
    came: dict[str, dict[int, float]] = {topic: {} for topic in topics}
    for topic in topics:
        node.create_subscription(
            ActionStateChange, topic, lambda message, topic=topic: came[topic].__setitem__(
                message.seq, time.monotonic()), event_qos())

    def answer(count: int) -> None:
        print(json.dumps(came), flush=True)
        for found in came.values():
            found.clear()

    while not all(node.count_publishers(topic) for topic in topics):
        time.sleep(0.05)
    serve(executor, answer)


def robot(seconds: str = str(MOTION)) -> None:
    """Serve any number of concurrent motions of so many s each; 0: they succeed at once."""
    from action_lifecycle.ros.node.executor import make_executor
    from control_msgs.action import GripperCommand
    import rclpy
    from rclpy.action import ActionServer
    from rclpy.clock import Clock, ClockType
    from rclpy.task import Future
    rclpy.init()
    node = rclpy.create_node('robot')
    steady = Clock(clock_type=ClockType.STEADY_TIME)
    due: list[tuple[float, Any]] = []

    def tick() -> None:
        while due and due[0][0] <= time.monotonic():
            due.pop(0)[1].set_result(None)

    async def execute(handle: Any) -> Any:
        if float(seconds):
            moved = Future()
            due.append((time.monotonic() + float(seconds), moved))
            await moved
        handle.succeed()
        return GripperCommand.Result(reached_goal=True)

    # Clients of rclpy read the status of all goals that the server remembers, at each change.
    server = ActionServer(node, GripperCommand, 'move', execute, result_timeout=1)
    node.create_timer(0.01, tick, clock=steady)
    executor = make_executor()
    executor.add_node(node)
    serve(executor, lambda count: print(count, flush=True))
    server.destroy()


def sensors(period: str = '0.02') -> None:
    """Publish the fact that confirms the motions every `period` s, and the e-stop."""
    from action_lifecycle.ros.node.executor import make_executor
    import rclpy
    from rclpy.clock import Clock, ClockType
    from std_msgs.msg import Bool, Float64
    rclpy.init()
    node = rclpy.create_node('sensors')
    steady = Clock(clock_type=ClockType.STEADY_TIME)
    level, estop = node.create_publisher(Float64, 'level', 10), node.create_publisher(
        Bool, 'estop', 10)
    node.create_timer(float(period), lambda: level.publish(Float64(data=1.0)), clock=steady)
    node.create_timer(0.1, lambda: estop.publish(Bool()), clock=steady)
    executor = make_executor()
    executor.add_node(node)
    serve(executor, lambda count: print(count, flush=True))


def switch() -> None:
    """Serve a service."""
    from action_lifecycle.ros.node.executor import make_executor
    import rclpy
    from std_srvs.srv import Trigger
    rclpy.init()
    node = rclpy.create_node('switch')

    def answer(request: Any, response: Any) -> Any:
        response.success = True
        return response

    node.create_service(Trigger, 'switch', answer)
    executor = make_executor()
    executor.add_node(node)
    serve(executor, lambda count: print(count, flush=True))


def calling(folder: str, action_id: str) -> None:
    """
    Call the service as often as asked for, and print the times (s) of each call.

    Each call is between the rows of that action, which are written to a journal as it wrote them,
    up to the barrier that its end waits for. The times are those of `_calls.Cost`.
    """
    from action_lifecycle.journal import Entry, Journal, JournalReader
    from action_lifecycle.ros.node.executor import make_executor
    import rclpy
    from std_srvs.srv import Trigger
    with JournalReader(f'{folder}/ready.journal') as reader:
        entries = {row.event: Entry(*(getattr(row, name) for name in Entry._fields))
                   for row in reader.rows(flow_id='calls_0', action_id=action_id)}
    start, step, requested, verified, terminate = entries.values()
    journal = Journal(f'{folder}/bare.journal')
    rclpy.init()
    node = rclpy.create_node('calling')
    client = node.create_client(Trigger, 'switch')
    executor = make_executor()
    executor.add_node(node)
    while not client.service_is_ready():
        executor.spin_once(timeout_sec=0.05)
    settled = time.monotonic() + 1.0  # Fast DDS loses responses during discovery
    while time.monotonic() < settled:
        executor.spin_once(timeout_sec=0.05)

    async def run(count: int) -> None:
        times = []
        for _ in range(count):
            began = time.monotonic()
            journal.append(start)
            called = time.monotonic()
            journal.append(step)
            await client.call_async(Trigger.Request())
            answered = time.monotonic()
            journal.append(requested)
            journal.append(verified)
            ended = time.monotonic()
            journal.append(terminate)
            journal.barrier().result()
            times.append((answered - called, ended - began, time.monotonic() - began))
            time.sleep(PERIOD)  # calls of a flow are not back to back, either
        print(json.dumps(times), flush=True)

    serve(executor, run)  # type: ignore[arg-type]


def script(folder: str) -> None:
    """
    Send goals one after the other, as a user's script does; prints CPU and latency (s) of a block.

    It sends the goal, waits for its result, checks the first sample of the topic after it, and
    writes a line into an SQLite database.
    """
    from action_lifecycle.ros.node.executor import make_executor
    from control_msgs.action import GripperCommand
    import rclpy
    from rclpy.action import ActionClient
    from rclpy.task import Future
    from std_msgs.msg import Float64
    rclpy.init()
    node = rclpy.create_node('script')
    client = ActionClient(node, GripperCommand, 'move')
    log = sqlite3.connect(f'{folder}/script.db', check_same_thread=False)
    log.execute('CREATE TABLE actions (name TEXT, status INTEGER, level REAL, time REAL)')
    waiting: list[Any] = []

    def on_level(message: Any) -> None:
        while waiting:
            waiting.pop().set_result(message.data)

    node.create_subscription(Float64, 'level', on_level, 10)

    async def run_action(name: str) -> None:
        handle = await client.send_goal_async(GripperCommand.Goal())
        assert handle.accepted, name
        answer = await handle.get_result_async()
        seen = Future()
        waiting.append(seen)
        level = await seen
        assert answer.status == GoalStatus.STATUS_SUCCEEDED and level > 0.5, name
        log.execute('INSERT INTO actions VALUES (?, ?, ?, ?)',
                    (name, answer.status, level, time.time()))
        log.commit()

    async def run_all(count: int) -> None:
        cpu, begin = time.process_time(), time.monotonic()
        for number in range(count):
            await run_action(f'action_{number}')
        print(json.dumps({'cpu': time.process_time() - cpu,
                          'latency': (time.monotonic() - begin) / count}), flush=True)

    executor = make_executor()
    executor.add_node(node)
    client.wait_for_server()
    serve(executor, run_all)  # type: ignore[arg-type]


def bare(modules: str) -> None:
    """Run a node that only imports the same messages and subscribes to the same e-stop."""
    from action_lifecycle.ros.node.executor import make_executor
    import rclpy
    from std_msgs.msg import Bool
    for name in json.loads(modules):
        importlib.import_module(name)
    rclpy.init()
    node = rclpy.create_node('bare')
    node.create_subscription(Bool, 'estop', lambda message: None, 10)
    executor = make_executor()
    executor.add_node(node)
    executor.spin()


if __name__ == '__main__':
    name, *values = sys.argv[1:]
    {'changing': changing, 'publishing': publishing, 'listening': listening, 'bare': bare,
     'switch': switch, 'calling': calling, 'script': script,
     'robot': robot, 'sensors': sensors}[name](*values)
