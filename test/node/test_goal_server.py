# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals to a node on the same executor have the same answers with and without DDS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
import uuid

from action_lifecycle.ros.calls.goal_call import CallEnd, Ending, GoalCall, GoalPolicy
from action_lifecycle.ros.calls.goal_client import GoalClient
from action_lifecycle.ros.interfaces.qos import event_qos, state_qos
from action_lifecycle.ros.node.lifecycle_node import ManagedNode
from action_lifecycle.ros.node.timers import settle
from action_lifecycle_msgs.action import ConfirmOutcome
from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
import pytest
from rclpy.context import Context
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from .managed_rig import Spun

POLICY = GoalPolicy(appear=10.0, accept=10.0)


class Server(ManagedNode):
    """Does what `flow_id` of a goal says."""

    def __init__(self, context: Context) -> None:
        super().__init__('server', context=context)
        self.begun: list[str] = []
        self.open: dict[bytes, Any] = {}

    def configure(self) -> None:
        self.add_action_server(
            ConfirmOutcome, '~/act', self.act, cancel=self.cancel,
            accept=lambda goal: goal.flow_id != 'rejected')

    def cancel(self, handle: Any) -> None:
        settle(self.open.get(bytes(handle.goal_id.uuid), Future()))

    async def act(self, handle: Any) -> Any:
        order = handle.request.flow_id
        self.begun.append(order)
        handle.publish_feedback(ConfirmOutcome.Feedback(verdict=2))
        result = ConfirmOutcome.Result(verdict=1, error_msg=order)
        if order == 'error':
            raise ZeroDivisionError
        if order.startswith('wait'):
            done = self.open[bytes(handle.goal_id.uuid)] = Future()
            if handle.is_cancel_requested:
                settle(done)
            await done
            handle.canceled()
        elif order == 'abort':
            handle.abort()
        elif order != 'forgotten':
            handle.succeed()
        return result


class Rig(Spun):

    def __init__(self, local: bool) -> None:
        super().__init__()
        self.local = local
        self.server = Server(self.context)
        self.node = ManagedNode('client', context=self.context)
        for node in (self.server, self.node):
            self.executor.add_node(node)
            node.start()
        self.until(lambda: self.server.active and self.node.active)
        self.feedback: list[int] = []
        self.client = GoalClient(self.node, ConfirmOutcome, 'server/act', local=local)

    def call(self, order: str, goal_id: uuid.UUID | None = None) -> GoalCall:
        call = GoalCall(self.node, self.client, goal_id, POLICY, on_feedback=(
            lambda feedback: self.feedback.append(feedback.verdict)))
        return call.send(ConfirmOutcome.Goal(flow_id=order))

    def ended(self, order: str) -> CallEnd:
        end: CallEnd = self.wait(self.call(order).done)
        return end

    def close(self) -> None:
        self.end(self.server, self.node)


@pytest.fixture(params=[True, False], ids=['local', 'dds'])
def rig(request: Any) -> Iterator[Rig]:
    rig = Rig(request.param)
    yield rig
    rig.close()


def entities(rig: Rig) -> int:
    """Return the number of the client node's entities for the action."""
    return sum('server/act' in name for name, _ in rig.node.get_client_names_and_types_by_node(
        'client', '/')) + sum('server/act' in sub.topic_name for sub in rig.node.subscriptions)


def test_only_goals_to_other_processes_need_entities(rig: Rig) -> None:
    assert rig.ended('good').how is Ending.RESULT
    if rig.local:
        assert not entities(rig)
    else:
        rig.until(lambda: entities(rig) == 4)


@pytest.mark.parametrize(('order', 'status', 'message'), [
    ('good', GoalStatus.STATUS_SUCCEEDED, 'good'),
    ('abort', GoalStatus.STATUS_ABORTED, 'abort'),
    ('forgotten', GoalStatus.STATUS_ABORTED, 'forgotten'),
    ('error', GoalStatus.STATUS_ABORTED, 'ZeroDivisionError()'),
])
def test_a_goal_ends_as_its_server_says(
    rig: Rig, order: str, status: int, message: str
) -> None:
    end = rig.ended(order)
    assert (end.how, end.status, end.result.error_msg) == (Ending.RESULT, status, message)
    rig.until(lambda: rig.feedback == [2])


def test_a_rejected_goal_does_not_begin(rig: Rig) -> None:
    assert rig.ended('rejected').how is Ending.REJECTED
    assert rig.server.begun == []


def test_an_inactive_server_rejects_all(rig: Rig) -> None:
    assert rig.ended('good').how is Ending.RESULT
    rig.server.trigger_deactivate()
    assert rig.ended('good').how is Ending.REJECTED
    assert rig.server.begun == ['good']


def test_a_canceled_goal_ends_canceled(rig: Rig) -> None:
    call = rig.call('wait')
    rig.until(lambda: rig.server.begun)
    call.cancel()
    end = rig.wait(call.done)
    assert (end.how, end.status) == (Ending.RESULT, GoalStatus.STATUS_CANCELED)


def test_a_cancel_right_after_the_goal_is_not_lost(rig: Rig) -> None:
    assert rig.ended('good').how is Ending.RESULT  # the server is known
    call = rig.call('wait')
    call.cancel()
    end = rig.wait(call.done)
    assert (end.how, end.status) == (Ending.RESULT, GoalStatus.STATUS_CANCELED)


def test_a_goal_id_is_accepted_once(rig: Rig) -> None:
    goal_id = uuid.uuid4()
    assert rig.wait(rig.call('good', goal_id).done).how is Ending.RESULT
    rig.wait(rig.call('good', goal_id).done)
    assert rig.server.begun == ['good']


def test_an_unknown_goal_has_no_result_and_no_cancel(rig: Rig) -> None:
    rig.until(rig.client.server_is_ready)
    goal_id = UUID(uuid=list(uuid.uuid4().bytes))
    result = rig.wait(rig.client.ask_result(goal_id))
    assert result.status == GoalStatus.STATUS_UNKNOWN
    answer = rig.wait(rig.client.cancel(goal_id))
    assert answer.return_code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID
    assert rig.ended('good').how is Ending.RESULT
    ended = UUID(uuid=list(uuid.uuid4().bytes))
    rig.wait(rig.call('good', uuid.UUID(bytes=bytes(ended.uuid))).done)
    assert rig.wait(rig.client.ask_result(ended)).status == GoalStatus.STATUS_SUCCEEDED
    answer = rig.wait(rig.client.cancel(ended))
    assert answer.return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED


def test_hundreds_of_goals_at_once_all_end(rig: Rig) -> None:
    calls = [rig.call('good') for _ in range(300)]
    rig.until(lambda: all(call.done.done() for call in calls), 30.0)
    assert {call.done.result().status for call in calls} == {GoalStatus.STATUS_SUCCEEDED}
    assert len(rig.server.begun) == 300


@pytest.mark.parametrize('rig', [True], indirect=True)
def test_results_are_not_kept_for_ever(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('action_lifecycle.ros.node.goal_server.RESULT_TIMEOUT', 0.0)
    for _ in range(50):
        rig.ended('good')
    (server,) = rig.server.goal_servers.values()
    assert len(server._goals) <= 2


def test_others_see_the_goals_on_the_topics_of_the_action(rig: Rig) -> None:
    statuses: set[int] = set()
    verdicts: list[int] = []
    rig.node.create_subscription(
        GoalStatusArray, 'server/act/_action/status',
        lambda message: statuses.update(goal.status for goal in message.status_list), state_qos())
    rig.node.create_subscription(
        ConfirmOutcome.Impl.FeedbackMessage, 'server/act/_action/feedback',
        lambda message: verdicts.append(message.feedback.verdict), event_qos())
    rig.until(lambda: all(rig.server.count_subscribers(f'server/act/_action/{topic}')
                          for topic in ('status', 'feedback')))
    call = rig.call('wait')
    rig.until(lambda: verdicts and GoalStatus.STATUS_EXECUTING in statuses)
    call.cancel()
    rig.until(lambda: GoalStatus.STATUS_CANCELED in statuses)


def test_a_cancel_without_an_id_cancels_all_goals_or_those_up_to_a_time(rig: Rig) -> None:
    first = rig.call('wait')
    rig.until(lambda: len(rig.server.open) == 1)
    stamp = rig.node.get_clock().now().to_msg()
    second, third = rig.call('wait'), rig.call('wait')
    rig.until(lambda: len(rig.server.open) == 3)
    client = rig.node.create_client(CancelGoal, 'server/act/_action/cancel_goal')
    rig.until(client.service_is_ready)
    answers: list[Any] = []

    def canceled(request: CancelGoal.Request, calls: list[GoalCall]) -> bool:
        if not answers or answers[-1].done():  # Fast DDS may lose an answer at first
            answers.append(client.call_async(request))
        return all(call.done.done() for call in calls)

    earlier = CancelGoal.Request()
    earlier.goal_info.stamp = stamp
    rig.until(lambda: canceled(earlier, [first]))
    assert not second.done.done() and not third.done.done()
    answers.clear()
    rig.until(lambda: canceled(CancelGoal.Request(), [second, third]))


def test_a_server_is_made_anew_when_its_node_is_configured_again(rig: Rig) -> None:
    assert rig.ended('good').how is Ending.RESULT
    for change in (rig.server.trigger_deactivate, rig.server.trigger_cleanup):
        change()
    assert not rig.server.goal_servers
    rig.server.trigger_configure()
    rig.server.trigger_activate()
    assert rig.ended('good').how is Ending.RESULT
