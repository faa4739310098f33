# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cancels and deactivations while the node checks the flow of a goal, a request, or a job."""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

from action_lifecycle.flow import Orchestrator
from action_lifecycle.journal import Entry
from action_lifecycle.lifecycle.schedule.schedule import ScheduleSpec
from action_lifecycle.lifecycle.states import ErrorCode
import pytest

from .robot import Clock, GRAPH, one, Process, Robot, Start
from .test_planning import Service, YES

pytest.importorskip('rclpy')
flow_server = pytest.importorskip('action_lifecycle.nodes.action.flows.flow_server')
flow_sources = pytest.importorskip('action_lifecycle.nodes.action.flows.flow_sources')


class Gate:
    """Awaited by a coroutine, which goes on when the test sends it on."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Rig:
    """A flow server on a process; its checks wait until the test calls `go_on`."""

    def __init__(self, process: Process, service: Service) -> None:
        self.process = process
        self.waiting: list[Any] = []
        self.log = SimpleNamespace(
            info=lambda text: None, error=lambda text: None, exception=lambda text: None)
        node = SimpleNamespace(
            add_action_server=lambda *arguments, **options: None, spawn=self.spawn,
            now=process.clock.now, get_logger=lambda: self.log, executor=None,
            log_exception=lambda text: pytest.fail(text))
        self.server: Any = flow_server.FlowServer(node, self, service, attach=True)
        self.activate()

    def activate(self) -> None:
        self.server.activate(self.process.orchestrator, self.apart)

    def spawn(self, work: Callable[..., Any], *arguments: Any) -> None:
        self.resume(work(*arguments))

    def resume(self, coroutine: Any) -> None:
        try:
            coroutine.send(None)
        except StopIteration:
            return
        self.waiting.append(coroutine)

    def go_on(self) -> None:
        waiting, self.waiting = self.waiting, []
        for coroutine in waiting:
            self.resume(coroutine)

    def apart(self, work: Callable[[], Any], done: Callable[[Any, Exception | None], None]
              ) -> None:
        done(work(), None)

    # In place of FlowSources

    async def check(self, flow: Any) -> None:
        pass

    async def noted(self, flow: Any, order: Any, origin: Any) -> Any:
        await Gate()
        return flow_sources.CheckedFlow(flow, dict(origin))

    async def load(self, order: Any, progress: Any = None) -> Any:
        return await self.noted(self.process.parse(order.flow), order, {})

    def ask(self, flow_id: str = 'f') -> None:
        self.server.planner.begin(flow_server.PlanOrder(flow_id=flow_id, request='pick it'))


@pytest.fixture
def rig(start: Start, clock: Clock) -> Rig:
    return Rig(start(), Service(clock, YES, YES))


def test_a_request_that_is_canceled_while_its_flow_is_checked_does_not_start(
    rig: Rig, clock: Clock, robot: Robot
) -> None:
    rig.ask()
    clock.run(5.0)
    assert len(rig.waiting) == 1
    rig.server.planner.cancel('f', 'anna')
    rig.go_on()
    clock.run()
    assert robot.motions == [] and rig.process.orchestrator.runs == {}
    rows = list(rig.process.journal.rows(kind='plan'))
    assert rows[-1].event == 'failed' and rows[-1].data['error_code'] == ErrorCode.CANCELED.name


def test_a_request_of_the_same_id_after_a_cancel_starts_its_flow_once(
    rig: Rig, clock: Clock, robot: Robot
) -> None:
    rig.ask()
    clock.run(5.0)
    rig.server.planner.cancel('f', 'anna')
    rig.ask()
    rig.go_on()
    assert robot.motions == []
    clock.run(5.0)
    rig.go_on()
    clock.run()
    assert rig.process.orchestrator.runs['f'].state == 'FINISH'
    assert robot.executed('pick') == 1


def test_a_request_whose_node_was_deactivated_and_activated_while_it_was_checked_starts_once(
    rig: Rig, clock: Clock, robot: Robot
) -> None:
    rig.ask()
    clock.run(5.0)
    rig.server.interrupt()
    rig.activate()
    rig.go_on()
    rig.go_on()
    clock.run()
    assert rig.process.orchestrator.runs['f'].state == 'FINISH'
    assert robot.executed('pick') == 1
    assert [row.event for row in rig.process.journal.rows(kind='plan')][-1] == 'planned'


def test_a_flow_runs_although_the_end_of_its_request_can_not_be_recorded_at_once(
    rig: Rig, clock: Clock, robot: Robot
) -> None:
    rig.ask()
    clock.run(5.0)

    def full(entry: Entry) -> bool:
        return entry.event in ('planned', 'failed')

    with rig.process.full_disk(full) as refused:
        rig.go_on()
        clock.run(5.0)
    assert {entry.event for entry in refused} == {'planned'}
    clock.run()
    assert rig.process.orchestrator.runs['f'].state == 'FINISH'
    assert [row.event for row in rig.process.journal.rows(kind='plan')][-1] == 'planned'


@pytest.mark.parametrize('end', ['cancel', 'deactivate'])
def test_a_run_of_a_job_that_ends_while_its_flow_is_checked_does_not_start(
    rig: Rig, clock: Clock, robot: Robot, end: str
) -> None:
    order = flow_sources.FlowOrder('yaml', one(), 'f.yaml', {}, 0, '', '', '')
    now = rig.server.jobs._wall_time()
    rig.server.jobs._wall_time = lambda: now + clock.time
    job = rig.server.jobs.create(
        'j', 'one', ScheduleSpec(clock='wall', every=2.0, times=2), order.data())
    clock.run(5.0)
    assert job.running == ['j.1'] and len(rig.waiting) == 1
    if end == 'cancel':
        rig.server.jobs.cancel('j', 'anna', 'enough')
    else:
        rig.server.interrupt()
    rig.go_on()
    clock.run(5.0)
    assert robot.motions == [] and rig.process.orchestrator.runs == {}
    assert not any(row.event == 'accepted' for row in rig.process.journal.rows(kind='flow'))


def test_a_goal_whose_flow_is_checked_while_the_node_is_activated_again_follows_its_flow(
    rig: Rig, robot: Robot
) -> None:
    robot.by_hand.add('motion')
    handles = [SimpleNamespace(request=SimpleNamespace(
        kind='yaml', flow=one(), source='f.yaml', parameters_json='', priority=0, requester='',
        lease='', recipe='', flow_id='f'), is_cancel_requested=False) for _ in range(2)]
    checks = [rig.server._take(handle.request, handle) for handle in handles]
    for check in checks:
        check.send(None)
    with pytest.raises(StopIteration) as started:
        checks[0].send(None)
    old = rig.process.orchestrator
    rig.server.interrupt()
    old.halt(lambda: None)
    rig.process.orchestrator = Orchestrator(
        GRAPH, old.recorder, robot, rig.process.clock, rig.process.desk, robot, lambda run: None,
        robot)
    rig.activate()
    with pytest.raises(StopIteration) as followed:
        checks[1].send(None)
    assert started.value.value is not followed.value.value
    assert followed.value.value is rig.process.orchestrator.runs['f']
