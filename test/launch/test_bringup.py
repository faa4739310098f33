# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the arguments of the bringup do, and what its nodes tell of themselves meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import signal
from typing import Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from node.launched import NODES, Robot
import pytest
from rcl_interfaces.srv import GetParameters
from rclpy.qos import qos_profile_action_status_default

DOCS = Path(__file__).parents[2] / 'docs' / 'nodes.md'
PARAMETERS = """\
/**:
  world_model_bridge:
    ros__parameters: {facts_rate: 7.0, facts_raet: 1.0}
"""
NO_REDIS = 'redis://127.0.0.1:9/0'
STATUS = ('action_lifecycle/execute_flow', 'world_model_bridge/execute_motion')


class Watched(Robot):
    """The robot, with what its nodes tell."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.health: dict[str, DiagnosticStatus] = {}
        self.status: dict[str, set[int]] = {name: set() for name in STATUS}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._told, 10)
        for name, seen in self.status.items():
            self.node.create_subscription(
                GoalStatusArray, f'{name}/_action/status',
                lambda message, seen=seen: seen.update(
                    status.status for status in message.status_list),
                qos_profile_action_status_default)

    def _told(self, message: DiagnosticArray) -> None:
        self.health.update({status.name: status for status in message.status})

    def value(self, name: str, key: str) -> str:
        """Return a figure of a task, empty while there is none."""
        task = self.health.get(name, DiagnosticStatus())
        return {entry.key: entry.value for entry in task.values}.get(key, '')

    def ask(self, client: Any, request: Any) -> Any:
        """Ask until it answers: that may get lost while both still discover each other."""
        def once() -> Any:
            answer = client.call_async(request)
            self.executor.spin_until_future_complete(answer, 0.5)
            return answer.result() if answer.done() else None
        return self.until(once, 30.0, f'{client.srv_name} answers')


@pytest.fixture(scope='module')
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp('bringup')
    robot = Watched(folder)
    (folder / 'parameters.yaml').write_text(PARAMETERS)
    try:
        robot.launch('bringup.launch.yaml', compose='true', log_level='debug',
                     params_file=folder / 'parameters.yaml', ledger_url=NO_REDIS,
                     flow=folder / 'flow.yaml')
        robot.until_active()
        robot.until(lambda: robot.goals, 40.0, 'the flow of the launch has come to its motion')
        yield robot
    finally:
        robot.close()


def test_parameters_come_from_the_file_and_from_the_arguments(robot: Watched) -> None:
    def value(node: str, name: str) -> Any:
        client = robot.node.create_client(GetParameters, f'{node}/get_parameters')
        return robot.ask(client, GetParameters.Request(names=[name])).values[0]

    assert value('world_model_bridge', 'facts_rate').double_value == 7.0
    assert value('ledger', 'ledger_url').string_value == NO_REDIS
    launch = robot.launches[0]
    robot.until(
        lambda: "'facts_raet' is not known and changes nothing; did you mean" in launch.text,
        20.0, 'the unknown parameter is told of')
    robot.until(
        lambda: re.search(r'\[DEBUG\].*\[action_lifecycle\]: activate: done', launch.text),
        20.0, 'what is told for debugging')


def test_each_task_of_the_page_is_told_and_no_other(robot: Watched) -> None:
    page = DOCS.read_text().partition('## Diagnostics')[2].partition('\n## ')[0]
    expected = {
        f'{node}: {task}'
        for task, of in re.findall(r'^\| `(\w+)` \| ([\w, ]+) \|', page, re.MULTILINE)
        for node in (NODES if of == 'all' else of.split(', ')) if node in NODES}
    assert len(expected) > len(NODES)
    robot.until(lambda: expected <= set(robot.health), 20.0, 'all have told')
    assert set(robot.health) == expected


def test_health_tells_what_is_so(robot: Watched) -> None:
    def until(name: str, key: str, value: str) -> None:
        robot.until(lambda: robot.value(name, key) == value, 20.0, f'{name}: {key} {value}')

    until('action_lifecycle: actions', 'open actions', '1')
    until('action_lifecycle: actions', 'executing_motion', '1')
    until('world_model_bridge: motions', 'motion 1', 'step 0, executing')
    until('action_lifecycle: journal', 'path', str(robot.journal_path))
    until('world_model_bridge: facts', 'facts without a value', '0')
    assert int(robot.value('action_lifecycle: journal', 'rows')) > 0
    assert float(robot.value('ledger: executor', 'late (ms)')) >= 0.0
    robot.until(lambda: robot.health['ledger: sync'].level != DiagnosticStatus.OK, 30.0,
                'the missing Redis is told of')


def test_status_of_flow_and_motion_is_that_of_any_action(robot: Watched) -> None:
    executing = GoalStatus.STATUS_EXECUTING
    for name, seen in robot.status.items():
        robot.until(lambda seen=seen: executing in seen, 20.0, name)
    robot.finish()
    for name, seen in robot.status.items():
        robot.until(lambda seen=seen: GoalStatus.STATUS_SUCCEEDED in seen, 20.0, name)
    launch = robot.launches[0]
    robot.until(lambda: 'process has finished cleanly' in launch.text, 20.0, 'the run has ended')


def test_each_change_of_state_is_one_line_of_the_log(robot: Watched) -> None:
    def told() -> list[tuple[str, str]]:
        return re.findall(r'\[INFO\].*\[action_lifecycle\]: \S+/grip #1: (\w+) → (\w+)',
                          robot.launches[0].text)

    changes = [(row.from_state, row.to_state)
               for row in robot.rows(action_id='grip', kind='transition')]
    robot.until(lambda: len(told()) >= len(changes), 20.0, 'all are told')
    assert told() == changes


def test_without_autostart_a_lifecycle_manager_brings_the_nodes_up(robot: Watched) -> None:
    robot.launch(autostart='false', compose='true', namespace='manual',
                 journal_path=robot.folder / 'manual')

    def change(client: Any, number: int) -> bool:
        robot.until(client.service_is_ready, 30.0, client.srv_name)
        answer = client.call_async(ChangeState.Request(transition=Transition(id=number)))
        robot.until(answer.done, 20.0, client.srv_name)
        return bool(answer.result().success)

    for name in NODES:
        client = robot.node.create_client(ChangeState, f'manual/{name}/change_state')
        later = robot.node.create_client(GetState, f'manual/{name}/get_state')
        robot.ask(later, GetState.Request())  # a node that answers this one knows the other too
        assert not change(client, Transition.TRANSITION_ACTIVATE), 'it was configured already'
        assert change(client, Transition.TRANSITION_CONFIGURE)
        assert change(client, Transition.TRANSITION_ACTIVATE)


def test_an_estop_is_told_by_both_nodes_that_heed_it(robot: Watched) -> None:
    robot.pressed = True
    for node in ('world_model_bridge', 'action_lifecycle'):
        name = f'{node}: safety'
        robot.until(lambda name=name: robot.health[name].level == DiagnosticStatus.ERROR, 20.0,
                    name)
        assert 'estop' in robot.health[name].message
        assert robot.value(name, 'error code') == 'ESTOP'
    robot.pressed = False


def test_it_ends_as_a_whole(robot: Watched) -> None:
    for launch in robot.launches:
        assert launch.end() == 128 + signal.SIGINT
        assert not re.search(r'\[composed-\d+\]: process has died', launch.text)
