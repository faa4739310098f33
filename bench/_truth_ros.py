# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
One episode over DDS: the nodes of the cell and its e-stop, bridge and action node, in one process.

The nodes use topics, services and actions, as on a robot. Only the judge must be in the process of
the cell, as it reads the state of the physics.
"""

from __future__ import annotations

import os
from pathlib import Path
import tempfile
import time
from typing import Any

from _process import domain_id
from _truth_judge import draw, drawn_of, Episode, FACTS, FLOW, Judge, LONGEST
from action_lifecycle.nodes.action.node import ActionLifecycleNode
from action_lifecycle.nodes.bridge.node import WorldModelBridge
from action_lifecycle.ros.conversions.basic import to_code
from action_lifecycle.ros.interfaces.qos import event_qos
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle.sim.estop import EStopNode
from action_lifecycle.sim.node import CellNode, DRAWN
from action_lifecycle.world import load_facts
from action_lifecycle.world.evidence_messages import evidence_from
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ActionStateChange
import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.parameter import Parameter


def run_over_dds(seed: int, number: int) -> Episode:
    """Run one episode in real time."""
    config, knocks = draw(seed, number)
    episode = Episode(number, drawn_of(config, knocks))
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    context = Context()
    rclpy.init(context=context, domain_id=domain_id())
    with tempfile.TemporaryDirectory() as folder:
        drawn = {name: getattr(config, name) for name in DRAWN}
        for quantity in ('friction', 'mass'):
            for part, value in getattr(config, quantity).items():
                drawn[f'{quantity}.{part}'] = value
        cell = CellNode(context=context, parameter_overrides=_parameters(drawn))
        button = EStopNode(context=context)
        bridge = WorldModelBridge(context=context, parameter_overrides=_parameters(
            {'facts_file': str(FACTS), 'use_sim_time': True}))
        lifecycle = ActionLifecycleNode(context=context, parameter_overrides=_parameters(
            {'journal_path': str(Path(folder) / 'journal'), 'use_sim_time': True}))
        asker = rclpy.create_node('truth', context=context)
        executor = make_executor(context=context)
        nodes = [cell, button, bridge, lifecycle, asker]
        for node in nodes:
            executor.add_node(node)
        judge = Judge(episode, cell.cell, facts=load_facts(FACTS))

        def changed(message: ActionStateChange) -> None:
            judge.changed(message.action_id, message.from_state, message.to_state, {
                'evidence': [evidence_from(entry) for entry in message.evidence],
                'cause': message.cause, 'error_code': to_code(message.error_code).name})

        asker.create_subscription(
            ActionStateChange, 'action_lifecycle/state_changes', changed, event_qos())
        client = ActionClient(asker, ExecuteFlow, 'action_lifecycle/execute_flow')
        assert bridge.start() and lifecycle.start()

        def spin(until: Any, limit: float) -> None:
            end = time.monotonic() + limit
            while not until() and time.monotonic() < end:
                executor.spin_once(timeout_sec=0.01)
                judge.look()
                while knocks and knocks[0].time <= cell.cell.time - began:
                    knock = knocks.pop(0)
                    cell.cell.knock(knock.part, knock.impulse)

        began = float('inf')
        spin(client.server_is_ready, 20.0)
        spin(lambda: bridge._guard.trouble() is None, 20.0)
        if bridge._guard.trouble() is not None:
            raise SystemExit(f'the bridge is not ready: {bridge._guard.trouble()}')
        began = cell.cell.time
        sending = client.send_goal_async(ExecuteFlow.Goal(
            flow=FLOW.read_text(), kind='yaml', source=str(FLOW)))
        spin(sending.done, 20.0)
        result = sending.result().get_result_async()
        spin(result.done, LONGEST)
        spin(lambda: False, 0.2)  # to receive the last changes
        if result.done() and not result.result().result.flow_id:
            raise SystemExit(f'the flow was refused: {result.result().result.error_msg}')
        episode.ended, episode.simulated = bool(result.done()), cell.cell.time
        judge.end()
        episode.counts['failed'] = len(judge.failed)
        for node in (lifecycle, bridge):
            node.trigger_shutdown()
        executor.shutdown()
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown(context=context)
    return episode


def _parameters(values: dict[str, Any]) -> list[Parameter]:
    return [Parameter(name, value=value) for name, value in values.items()]
