# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flow from end to end on each middleware, in simulated time, with topics of another QoS."""

from __future__ import annotations

from pathlib import Path

from isolation import as_it_comes
import pytest
from rclpy.qos import QoSDurabilityPolicy

from .system import System
from .test_flow_on_cell import finish, flow_file

TOPICS = {  # every topic that the nodes publish
    'action_lifecycle_node': (
        'action_lifecycle/state_changes', 'action_lifecycle/actions', 'action_lifecycle/flow',
        'action_lifecycle/flow_changes', 'action_lifecycle/operator_requests',
        'action_lifecycle/safety', 'diagnostics'),
    'world_model_bridge': ('world_model_bridge/facts', 'world_model_bridge/safety'),
    'ledger': ('ledger/sync',)}


@pytest.mark.parametrize(('middleware', 'udp'), [
    ('rmw_fastrtps_cpp', False), ('rmw_cyclonedds_cpp', False), ('rmw_fastrtps_cpp', True)],
    ids=['fast dds', 'cyclone dds', 'udp'])
def test_a_flow_runs_and_is_confirmed(
    system: System, tmp_path: Path, middleware: str, udp: bool
) -> None:
    if not udp:
        system.environment = as_it_comes(system.environment)
    system.environment['RMW_IMPLEMENTATION'] = middleware
    system.start('sim_cell', real_time_factor=2.0)
    for name in TOPICS:
        system.start(name)
    code, output = finish(system.run(flow_file(tmp_path)))
    assert code == 0, output + system.logs()
    mapped = {name for process in system.processes.values()
              for name in Path(f'/proc/{process.pid}/maps').read_text().split()
              if name.startswith('/dev/shm/fastrtps')}
    assert bool(mapped) is (middleware == 'rmw_fastrtps_cpp' and not udp)
    rows = [row for row in system.rows(action_id='move') if row.kind == 'transition']
    assert [row.to_state for row in rows] == [
        'in_progress', 'executing_motion', 'sensor_confirm', 'status_verification_requested',
        'completed', 'terminated'], system.logs()
    stamps = [row.ros_time for row in rows]  # of the cell's clock, which began at zero
    assert stamps == sorted(stamps) and stamps[0] > 0 and stamps[-1] < 300
    assert rows[-1].ros_time - rows[0].ros_time > 1.0  # the motion takes 1 s of it


def test_each_topic_takes_another_qos_from_parameters(system: System) -> None:
    for name, topics in TOPICS.items():
        system.start(name, **{
            f'qos_overrides./{topic}.publisher.durability': 'transient_local'
            for topic in topics}, **{
            f'qos_overrides./{topic}.publisher.depth': 7 for topic in topics})

    def profiles(topic: str) -> list[tuple[QoSDurabilityPolicy, int]]:
        return [(info.qos_profile.durability, info.node_name)
                for info in system.node.get_publishers_info_by_topic(f'/{topic}')]

    for name, topics in TOPICS.items():
        node = name.removesuffix('_node')
        for topic in topics:
            system.until(
                lambda topic=topic, node=node: (
                    QoSDurabilityPolicy.TRANSIENT_LOCAL, node) in profiles(topic), 20, topic)
    assert 'is not known' not in system.logs()
