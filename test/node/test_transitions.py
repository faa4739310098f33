# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The three nodes through their transitions: again and again, under load, by a nav2 manager."""

from __future__ import annotations

from collections.abc import Iterator
import gc
import os
from pathlib import Path
from typing import Any

from action_lifecycle.nodes.action.node import ActionLifecycleNode
from action_lifecycle.nodes.bridge.node import WorldModelBridge
from action_lifecycle.nodes.ledger.node import LedgerNode
from action_lifecycle.ros.node.executor import make_executor
from action_lifecycle_msgs.srv import ListActions
from isolation import domain_id
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
import pytest
import rclpy
from rclpy.context import Context
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from .ending import destroy

NAMES = ('world_model_bridge', 'ledger', 'action_lifecycle')
ROUNDS = int(os.environ.get('TRANSITION_ROUNDS', '15'))
WARM_UP = 10  # rounds after which memory has settled
MEMORY = 4.0  # MB that the other rounds may take; heap fragmentation, seen to end after some 100
FACTS = """\
estop: {topic: estop, type: std_msgs/msg/Bool, field: data, max_age: 5.0}
facts:
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[0]', always: true}
  slow: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[0]',
         max_rate: 20, always: true}
"""


class Fleet:
    """The nodes in this process, somebody who asks them, and load."""

    def __init__(self, folder: Path, executor: str = 'auto') -> None:
        (folder / 'facts.yaml').write_text(FACTS)
        given = {'journal_path': str(folder / 'journal'), 'facts_file': str(folder / 'facts.yaml')}
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id())
        self.executor = make_executor(executor, self.context)
        self.nodes: list[Any] = [kind(context=self.context, parameter_overrides=[
            Parameter(name, value=value) for name, value in given.items()])
            for kind in (WorldModelBridge, LedgerNode, ActionLifecycleNode)]
        self.other = rclpy.create_node('asker', context=self.context)
        for node in (*self.nodes, self.other):
            self.executor.add_node(node)
        self.clients = {(kind, name): self.other.create_client(kind, f'{name}/{service}')
                        for kind, service in ((ChangeState, 'change_state'),
                                              (GetState, 'get_state')) for name in NAMES}
        self.asked = 0
        self.list = self.other.create_client(ListActions, 'action_lifecycle/list_actions')
        self.topics = [(self.other.create_publisher(kind, topic, 10), message)
                       for kind, topic, message in (
            (Bool, 'estop', Bool()), (JointState, 'joint_states', JointState(position=[0.1])))]
        self.other.create_timer(0.002, self.load)

    def load(self) -> None:
        """Publish what they read, and ask without waiting."""
        for publisher, message in self.topics:
            publisher.publish(message)
        if self.asked % 5 == 0 and self.list.service_is_ready():
            self.list.call_async(ListActions.Request())
        self.asked += 1

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.clients[kind, name]
        assert client.wait_for_service(10.0)
        call = client.call_async(request)
        self.executor.spin_until_future_complete(call, 10.0)
        assert call.done(), f'{name} does not answer'
        return call.result()

    def change(self, name: str, transition: int) -> bool:
        return bool(self.call(ChangeState, name, ChangeState.Request(
            transition=Transition(id=transition))).success)

    def state(self, name: str) -> int:
        return int(self.call(GetState, name, GetState.Request()).current_state.id)

    def close(self) -> None:
        self.executor.shutdown()
        destroy(*self.nodes, self.other)
        self.context.try_shutdown()


@pytest.fixture
def fleet(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path, getattr(request, 'param', 'auto'))
    yield fleet
    fleet.close()


def _held(fleet: Fleet) -> tuple[Any, ...]:
    """Return the entities."""
    return tuple(
        tuple(len(list(kind)) for kind in (
            node.publishers, node.subscriptions, node.services, node.timers, node.clients,
            node._entities._exit_callbacks))
        for node in fleet.nodes)


def _handles() -> int:
    """Return the open files and the threads of this process, Python's and others."""
    return len(os.listdir('/proc/self/fd')) + len(os.listdir('/proc/self/task'))


def _memory() -> float:
    """Return the resident memory of this process in MB."""
    gc.collect()
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 1e6


@pytest.mark.parametrize(('fleet', 'rounds'), [
    ('auto', ROUNDS), pytest.param('single_threaded', 20, marks=pytest.mark.long)],
    indirect=['fleet'])
def test_rounds_under_load_leave_nothing_behind(fleet: Fleet, rounds: int) -> None:
    unconfigured = active = None
    memory, handles = 0.0, 0
    for number in range(rounds):
        for name in NAMES:
            assert fleet.change(name, Transition.TRANSITION_CONFIGURE)
        for name in NAMES:
            assert fleet.change(name, Transition.TRANSITION_ACTIVATE)
        if number == WARM_UP:
            active = _held(fleet)
        elif number > WARM_UP:
            assert _held(fleet) == active, number
        for name in reversed(NAMES):
            assert fleet.change(name, Transition.TRANSITION_DEACTIVATE)
        for name in reversed(NAMES):
            assert fleet.change(name, Transition.TRANSITION_CLEANUP)
        if number == WARM_UP:
            unconfigured, memory, handles = _held(fleet), _memory(), _handles()
        elif number > WARM_UP:
            assert _held(fleet) == unconfigured, number
            assert _handles() <= handles + 2  # a checkpoint of the journal may be under way
    print(f'{_memory() - memory:.1f} MB more')
    assert _memory() - memory < MEMORY


class Nav2Manager:
    """
    The calls that nav2_lifecycle_manager (1.3) makes, with bond_timeout 0.0.

    For each node in order, or in reverse: change_state, then get_state must be what was wanted;
    the first that fails ends it. `is_active` is its own service.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.active = False
        fleet.other.create_service(Trigger, 'lifecycle_manager/is_active', self.is_active)

    def is_active(self, request: Any, response: Any) -> Any:
        response.success = self.active
        return response

    def _all(self, transition: int, wanted: int, *, reverse: bool = False) -> bool:
        return all(self.fleet.change(name, transition) and self.fleet.state(name) == wanted
                   for name in (reversed(NAMES) if reverse else NAMES))

    def startup(self) -> bool:
        self.active = (
            self._all(Transition.TRANSITION_CONFIGURE, State.PRIMARY_STATE_INACTIVE)
            and self._all(Transition.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE))
        return self.active

    def pause(self) -> bool:
        self.active = False
        return self._all(Transition.TRANSITION_DEACTIVATE, State.PRIMARY_STATE_INACTIVE,
                         reverse=True)

    def resume(self) -> bool:
        self.active = self._all(Transition.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE)
        return self.active

    def reset(self) -> bool:
        return self.pause() and self._all(
            Transition.TRANSITION_CLEANUP, State.PRIMARY_STATE_UNCONFIGURED, reverse=True)

    def shutdown(self) -> bool:
        return self.reset() and self._all(
            Transition.TRANSITION_UNCONFIGURED_SHUTDOWN, State.PRIMARY_STATE_FINALIZED,
            reverse=True)


def test_the_calls_of_nav2s_lifecycle_manager_bring_them_up_and_down(fleet: Fleet) -> None:
    manager = Nav2Manager(fleet)
    assert all(fleet.state(name) == State.PRIMARY_STATE_UNCONFIGURED for name in NAMES)
    assert manager.startup() and manager.pause() and manager.resume()
    asked = fleet.other.create_client(Trigger, 'lifecycle_manager/is_active')
    call = asked.call_async(Trigger.Request())
    fleet.executor.spin_until_future_complete(call, 10.0)
    assert call.result().success
    assert manager.reset() and manager.startup() and manager.shutdown()


def test_a_manager_and_autostart_at_once_do_no_harm(fleet: Fleet) -> None:
    manager = Nav2Manager(fleet)
    assert all(node.start() for node in fleet.nodes)
    assert not manager.startup()  # they cannot be configured again, say so, and stay as they are
    assert [fleet.state(name) for name in NAMES] == [State.PRIMARY_STATE_ACTIVE] * 3
    assert manager.reset() and manager.startup()
