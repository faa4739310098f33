# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Requests to a planner that misbehaves, recipes, and jobs, with the nodes as real processes."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
import signal
import sys
import time
from typing import Any

from action_lifecycle.ros.flow_client import FlowClient
from action_lifecycle.world import load_facts
from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ErrorCode
from action_lifecycle_msgs.srv import CancelJob, ListJobs
import pytest
from rclpy.action import ActionClient

from .forked import Forked
from .planner_process import GOOD
from .system import System
from .waiting import until_answered


class Rig:
    """The cell, the nodes and a planner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.system = System(folder)
        self.system.start_all()
        self.system.kill('action_lifecycle_node')
        self.clients: dict[str, Any] = {}
        self.start()
        self.planner()
        self.system.until(lambda: 'gripper_controller' in self.system.motions, 30.0, 'the cell')
        self.client = ActionClient(
            self.system.node, ExecuteFlow, 'action_lifecycle/execute_flow')

    def start(self, second_goal: str = 'attach') -> None:
        self.system.start('action_lifecycle_node', planner='planner/plan', planner_timeout=6.0,
                          second_goal=second_goal)

    def planner(self) -> None:
        with open(self.folder / 'planner.log', 'ab') as log:
            self.system.processes['planner'] = Forked(
                [sys.executable, '-m', 'node.planner_process', str(self.folder)],
                self.system.environment, log)

    def send(self, flow: str, kind: str = 'request', told: Any = None, **goal: Any) -> Any:
        """Send a goal; return the future of its result. `told` gets each feedback."""
        self.system.until(self.client.server_is_ready, 30.0, 'execute_flow')
        for _ in range(100):
            sent = self.client.send_goal_async(
                ExecuteFlow.Goal(flow=flow, kind=kind, **goal), told)
            self.system.until(sent.done, 40.0, 'an answer to the goal')
            if sent.result().accepted:
                return sent.result().get_result_async()
            time.sleep(0.1)  # not active yet
        raise AssertionError('the goal is not accepted')

    def until_answered(self) -> None:
        """Wait until the node is there and its answers reach us."""
        self.system.until(self.client.server_is_ready, 30.0, 'execute_flow')
        until_answered(self.system.until, self.client)

    def result(self, sent: Any, timeout: float = 40.0) -> Any:
        self.system.until(sent.done, timeout, 'the result')
        return sent.result().result

    def run(self, flow: str, kind: str = 'request', **goal: Any) -> Any:
        return self.result(self.send(flow, kind, **goal))

    def asked(self, request: str) -> list[dict[str, Any]]:
        """Return what the planner was asked, word for word the same."""
        path = self.folder / 'asked'
        lines = path.read_text().splitlines() if path.exists() else []
        return [entry for entry in map(json.loads, lines) if entry['request'] == request]

    def call(self, service: type, name: str, request: Any) -> Any:
        if name not in self.clients:
            self.clients[name] = self.system.node.create_client(
                service, f'action_lifecycle/{name}')
        client = self.clients[name]
        self.system.until(client.service_is_ready, 20.0, name)
        answers: list[Any] = []

        def answered() -> Any:
            if not answers or (time.monotonic() - answers[-1][0] > 2.0):  # the answer was lost
                answers.append((time.monotonic(), client.call_async(request)))
            return next((future.result() for _, future in answers if future.done()), None)

        return self.system.until(answered, 20.0, name)


@pytest.fixture(scope='module')
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp('sources'))
    rig.until_answered()
    rig.run(GOOD, 'yaml')  # by then the nodes have found the servers that planners are told of
    yield rig
    rig.system.close()


# Requests


def test_words_become_a_flow_that_runs_and_is_verified(rig: Rig) -> None:
    result = rig.run('good', flow_id='words')
    assert (result.error_code, result.state) == (ErrorCode.NONE, 'FINISH'), result.error_msg
    (asked,) = rig.asked('good')
    assert any(line.startswith(
        'gripper_controller/gripper_cmd control_msgs/action/GripperCommand resources: arm')
        for line in asked['capabilities'])
    assert not any('execute_motion' in line for line in asked['capabilities'])
    assert set(asked['facts']) == set(load_facts(rig.system.facts))  # most are not read
    assert asked['facts']['gap'][0] == 'm'
    events = [row.event for row in rig.system.rows(kind='plan', action_id='words')]
    assert events == ['requested', 'asked', 'answered', 'planned']
    answered = rig.system.rows(kind='plan', action_id='words')[2]
    assert answered.data['answer'] == GOOD and answered.data['order']['request'] == 'good'


@pytest.mark.parametrize(('word', 'said'), [
    ('invalid', 'planned.yaml'),
    ('server', "there is no action server 'gripper_controller/griper_cmd' of type "
     "'control_msgs/action/GripperCommand' among those that the planner was told of: "),
    ('fact', "there is no fact 'gripe' among those that the planner was told of: "),
    ('name', 'gripper cmd?'), ('field', 'max_efort'), ('limit', '2000'),
    ('unsafe', 'reads no fact'), ('bomb', 'expands'), ('refuse', 'I would rather not')])
def test_what_is_wrong_is_told_to_the_planner_and_nothing_moves(
    rig: Rig, word: str, said: str
) -> None:
    request = f'{word} good'
    before = rig.system.motions['gripper_controller']
    result = rig.run(request, flow_id=f'told-{word}')
    first, second = rig.asked(request)
    assert not first['errors']
    assert said.replace('planned.yaml', f'told-{word}.yaml') in '\n'.join(second['errors'])
    assert result.error_code == ErrorCode.NONE, result.error_msg
    rig.system.until(
        lambda: rig.system.motions['gripper_controller'] == before + 1, 5.0, 'one motion')


def test_after_three_answers_that_can_not_be_run_it_is_given_up(rig: Rig) -> None:
    before = rig.system.motions['gripper_controller']
    result = rig.run('invalid limit server')
    assert result.error_code == ErrorCode.PLAN_FAILED and result.state == 'FAIL'
    assert 'griper_cmd' in result.error_msg
    assert len(rig.asked('invalid limit server')) == 3
    assert rig.system.motions['gripper_controller'] == before


def test_a_cycle_fails_at_once(rig: Rig) -> None:
    result = rig.run('cycle good')
    assert result.error_code == ErrorCode.FLOW_CYCLE and 'open' in result.error_msg
    assert len(rig.asked('cycle good')) == 1


def test_a_slow_planner_is_asked_again_and_holds_up_nobody(rig: Rig) -> None:
    def asks() -> int:
        return sum(row.event == 'asked'
                   for row in rig.system.rows(kind='plan', action_id='slow'))

    planner = rig.system.processes['planner']
    planner.send_signal(signal.SIGSTOP)  # until it was asked again
    try:
        slow = rig.send('late good', flow_id='slow')
        rig.system.until(lambda: asks() == 1, 20.0, 'it is asked')
        started = time.monotonic()
        other = rig.run(GOOD, 'yaml')
        assert other.error_code == ErrorCode.NONE and time.monotonic() - started < 20.0
        assert not slow.done()
        rig.system.until(lambda: asks() == 2, 20.0, 'it is asked again')
    finally:
        planner.send_signal(signal.SIGCONT)
    assert rig.result(slow).error_code == ErrorCode.NONE
    rig.system.until(lambda: len(rig.asked('late good')) >= 2, 5.0, 'the planner has read both')
    assert len(rig.asked('late good')) == 2


def test_a_planner_that_dies_is_waited_for(rig: Rig) -> None:
    sent = rig.send('die good')
    process = rig.system.processes['planner']
    rig.system.until(lambda: process.poll() is not None, 20.0, 'the planner dies')
    rig.planner()
    assert rig.result(sent).error_code == ErrorCode.NONE
    assert len(rig.asked('die good')) == 2


def test_killed_while_the_planner_thinks_the_node_asks_again_and_runs_it_once(rig: Rig) -> None:
    rig.send('slow good good', flow_id='survivor')
    rig.system.until(lambda: rig.asked('slow good good'), 40.0, 'the planner is asked')
    rig.system.kill('action_lifecycle_node')
    rig.start()
    rig.system.until(lambda: any(row.to_state == 'FINISH' for row in rig.system.rows(
        flow_id='survivor', kind='flow')), 40.0, 'the flow ends')
    assert rig.system.rows(kind='plan', action_id='survivor')[-1].final
    assert len([row for row in rig.system.rows(flow_id='survivor', kind='transition')
                if row.event == 'execute']) == 1


def test_a_canceled_request_is_given_up(rig: Rig) -> None:
    rig.until_answered()
    sent = rig.client.send_goal_async(ExecuteFlow.Goal(flow='slow slow slow', kind='request'))
    rig.system.until(sent.done, 40.0, 'an answer')
    handle = sent.result()
    result = handle.get_result_async()
    rig.system.until(lambda: rig.asked('slow slow slow'), 40.0, 'the planner is asked')
    handle.cancel_goal_async()
    assert rig.result(result, 15.0).error_code == ErrorCode.CANCELED


def test_a_planner_steers_a_flow_and_its_edits_are_checked_too(rig: Rig) -> None:
    result = rig.run('steer over the limits', flow_id='steered')
    assert result.error_code == ErrorCode.NONE, result.error_msg
    assert [action.action_id for action in result.status.actions] == ['open', 'close']
    edits = [entry for entry in rig.asked('steer over the limits') if entry['completed']]
    assert edits[0]['completed'] == ['open'] and not edits[0]['errors']
    assert '2000' in '\n'.join(edits[1]['errors'])
    assert edits[-1]['completed'] == ['close']


def test_feedback_tells_each_lasting_state_and_its_progress_never_falls_back(rig: Rig) -> None:
    told = list[Any]()
    rig.run('steer a long motion', told=lambda message: told.append(message.feedback))
    rig.system.until(lambda: told and told[-1].progress == 1.0, 20.0, 'the last feedback')
    progress = [feedback.progress for feedback in told]
    assert progress == sorted(progress) and progress[-1] == 1.0
    totals = [feedback.status.total for feedback in told]
    assert totals[-1] == 2 and 1 in totals  # the planner has added one that is not done
    # Feedback of a state is passed over when the next one is there already: this one lasts 3 s.
    moving = [(action.action_id, feedback.status.running)
              for feedback in told for action in feedback.status.actions
              if action.state.value == 'executing_motion']
    assert ('turn', 1) in moving, told


def test_a_second_goal_for_a_flow_that_runs_follows_it(rig: Rig) -> None:
    request = 'slow steer'
    first = rig.send(request, flow_id='shared')
    rig.system.until(lambda: rig.asked(request), 40.0, 'the planner is asked')
    second = rig.send('something else', flow_id='shared')
    results = [rig.result(first), rig.result(second)]
    assert [result.error_code for result in results] == [ErrorCode.NONE] * 2
    assert results[0].summary_json == results[1].summary_json
    late = rig.run('good', flow_id='shared')  # it has ended: there is nothing to follow
    assert late.error_code == ErrorCode.FLOW_RUNNING
    assert not rig.asked('something else')


def test_a_second_goal_for_a_flow_that_runs_may_be_refused(rig: Rig) -> None:
    def restart(second_goal: str) -> None:
        rig.system.stop('action_lifecycle_node')
        rig.system.until(lambda: not rig.client.server_is_ready(), 20.0, 'it has gone')
        rig.start(second_goal)
        rig.until_answered()

    restart('refuse')
    request = 'slow good good good'
    first = rig.send(request, flow_id='alone')
    rig.system.until(lambda: rig.asked(request), 40.0, 'the planner is asked')
    for flow, kind in (('something else', 'request'), (GOOD, 'yaml')):
        refused = rig.run(flow, kind, flow_id='alone')
        assert (refused.error_code, refused.state) == (ErrorCode.FLOW_RUNNING, 'FAIL')
        assert "'alone'" in refused.error_msg and not first.done()
    assert rig.result(first).error_code == ErrorCode.NONE
    assert not rig.asked('something else')
    restart('attach')
    for flow, kind in (('something else', 'request'), (GOOD, 'yaml')):  # known from the journal
        assert rig.run(flow, kind, flow_id='alone').error_code == ErrorCode.FLOW_RUNNING
    client = FlowClient(rig.system.node)
    run = client.start(GOOD, flow_id='alone')
    rig.system.until(run.done.done, 40.0, 'the end of the flow, from the journal')
    end = run.done.result()
    assert (end.error_code, end.flow_id) == (ErrorCode.NONE, 'alone') and end.outcomes
    client.destroy()


# Recipes


def test_a_verified_flow_is_executed_again_from_its_recipe_until_it_changes(
    rig: Rig, tmp_path: Path
) -> None:
    file = tmp_path / 'open.yaml'
    file.write_text(GOOD.replace('position: 0.07', 'position: {expr: gap * 0 + 0.07}'))
    run = rig.system.run(file, '--recipe', 'open')
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 0 and 'longest path' in output, output
    path = rig.folder / 'journal.recipes' / 'open.json'
    recipe = json.loads(path.read_text())
    assert recipe['actions'][0]['fields']['motion'][0]['goal']['command']['position'] == \
        pytest.approx(0.07)
    assert recipe['world']['gap']['unit'] == 'm'
    assert path.name in output

    recipe['world']['gap']['numbers'] = [0.07]
    path.write_text(json.dumps(recipe))
    again = rig.run('open', 'recipe')
    assert again.error_code == ErrorCode.NONE, again.error_msg

    recipe['world']['gap']['numbers'] = [0.01]
    path.write_text(json.dumps(recipe))
    refused = rig.run('open', 'recipe')
    assert refused.error_code == ErrorCode.RECIPE_REFUSED
    assert "fact 'gap': [0.01] then" in refused.error_msg

    recipe['world']['gap']['numbers'] = [0.07]
    path.write_text(json.dumps(recipe))
    file.write_text(file.read_text().replace('20.0', '25.0'))
    refused = rig.system.shell('run', '--reuse', 'open', '--wait', '30')
    assert refused.returncode == 2
    assert 'has changed' in refused.stdout and '25.0' in refused.stdout


# Jobs


def test_a_scheduled_flow_starts_by_itself_also_after_kill_9(rig: Rig) -> None:
    text = GOOD.replace('flow: planned', 'flow: often').replace(
        'actions:',
        'schedule: {every: 2.0, times: 2, clock: wall, missed: all, overlap: queue}\nactions:')
    result = rig.run(text, 'yaml', flow_id='job')
    assert result.error_code == ErrorCode.NONE and 'job' in json.loads(result.summary_json)
    (job,) = rig.call(ListJobs, 'list_jobs', ListJobs.Request()).jobs
    assert (job.id, job.schedule, job.clock, job.missed) == ('job', 'every: 2', 'wall', 'all')
    assert job.next.sec > time.time() - 1
    rig.system.kill('action_lifecycle_node')
    rig.start()
    for flow_id in ('job.1', 'job.2'):
        rig.system.until(lambda flow_id=flow_id: any(
            row.to_state == 'FINISH' for row in rig.system.rows(flow_id=flow_id, kind='flow')),
            40.0, flow_id)
    rig.system.until(lambda: not rig.call(
        ListJobs, 'list_jobs', ListJobs.Request()).jobs, 10.0, 'the job is done')


def test_a_job_is_taken_away(rig: Rig) -> None:
    rig.until_answered()
    result = rig.run('scheduled', flow_id='later')
    assert json.loads(result.summary_json)['job']['id'] == 'later'
    answer = rig.call(CancelJob, 'cancel_job', CancelJob.Request(id='latr', actor='test'))
    assert answer.error_code == ErrorCode.NOT_FOUND and "'later'" in answer.error_msg
    assert rig.call(CancelJob, 'cancel_job', CancelJob.Request(id='later')).error_code
    answer = rig.call(CancelJob, 'cancel_job', CancelJob.Request(id='later', actor='test'))
    assert answer.accepted
    assert not rig.call(ListJobs, 'list_jobs', ListJobs.Request()).jobs


def test_the_command_says_what_it_waits_for_and_what_was_wrong(rig: Rig, tmp_path: Path) -> None:
    file = tmp_path / 'typo.yaml'
    file.write_text(GOOD.replace('gripper_cmd', 'griper_cmd'))
    found = rig.system.shell('run', str(file), '--plain')
    assert found.returncode == 2
    assert 'waiting' in found.stdout and 'griper_cmd' in found.stdout
    found = rig.system.shell('run', str(file), '--namespace', 'nowhere', '--wait', '5')
    assert found.returncode == 3 and 'waiting for up to 5 s' in found.stderr
    assert "there is '/action_lifecycle/execute_flow': --namespace /" in found.stderr
