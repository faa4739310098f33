# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pauses while the flow of an order begins, and their races; flow and action node are doubles."""

from __future__ import annotations

from collections import deque
import contextlib
from types import SimpleNamespace

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.nodes.vda5050.instant_actions import InstantActions
from action_lifecycle.nodes.vda5050.order_runner import OrderRunner
from action_lifecycle.vda5050.errors import error, WARNING
from action_lifecycle.vda5050.judge import Taken
from action_lifecycle.vda5050.order import read_order
from action_lifecycle.vda5050.record import InstantAction, Record
import pytest
from rclpy.task import Future
from unit.vda5050.orders import action, HEADER, line

STEPS = 10
"""More steps than a call has."""


class Runner(OrderRunner):
    """With a flow that was sent and has not begun; `asked`: what the action node was asked."""

    def __init__(self, path, answer):
        self.record = Record(path / 'order.json', 'acme/1')
        self.flow = SimpleNamespace(flow_id='order-o1.0', is_running=True, begun=Future())
        self.asked = []
        self.flow_paused = False
        self.controls = 0
        self._node = SimpleNamespace(executor=None)
        self._control_done = self._unpaused = None
        self._changed = lambda: None

        async def control(flow_id, verb, hold):
            self.asked.append((flow_id, verb, hold))
            return answer
        self._orders = SimpleNamespace(control=control)


@pytest.mark.parametrize('why', ['', 'no answer'])
def test_a_pause_waits_until_the_flow_has_begun(tmp_path, why):
    runner = Runner(tmp_path, why)
    pause = runner.pause(True)
    pause.send(None)
    assert runner.asked == [] and runner.record.paused
    runner.flow.begun.set_result('')
    with pytest.raises(StopIteration) as ended:
        pause.send(None)
    assert runner.asked == [('order-o1.0', 'pause', True)]
    assert (ended.value.value, runner.record.paused) == (why, not why)


class Pauses(InstantActions):
    """Instant actions that send nothing; the calls of the action node wait for `work()`."""

    def __init__(self, runner):
        self.jobs = []
        runner.spawn = lambda what, work: self.jobs.append((work(), None))
        runner.refuse = lambda refused: runner.report(
            refused.kind, str(refused), refused.references)
        runner.report = lambda kind, text, references: runner.record.errors.append(
            error(kind, text, WARNING, references))
        super().__init__(SimpleNamespace(), runner, SimpleNamespace(), lambda: None, lambda: None,
                         lambda: None)

    def order(self, *kinds):
        """Take a message with these instant actions."""
        self.take({**HEADER, 'actions': [action(kind, 'NONE', kind) for kind in kinds]})

    def work(self):
        """Go on with the calls until none can, in order."""
        for _ in range(STEPS):
            left = []
            for job, awaited in self.jobs:
                with contextlib.suppress(StopIteration):
                    # older versions of rclpy do not say what is awaited
                    left.append((job, job.send(None) if awaited is None or awaited.done()
                                 else awaited))
            self.jobs = left
        self.settle_pauses()

    @property
    def states(self):
        return {one.action_id: one.status for one in self._record.instants}


@pytest.mark.parametrize('begun', [True, False])
def test_a_pause_that_is_overtaken_before_it_has_effect_has_failed(tmp_path, begun):
    runner = Runner(tmp_path, '')
    pauses = Pauses(runner)
    if begun:
        runner.flow.begun.set_result('')
    pauses.order('startPause', 'stopPause')
    assert pauses.states == {'startPause': 'FAILED', 'stopPause': 'RUNNING'}
    assert "overtaken by stopPause 'stopPause'" in runner.record.instants[0].message
    pauses.work()
    runner.flow.begun.set_result('')
    pauses.work()
    assert pauses.states == {'startPause': 'FAILED', 'stopPause': 'FINISHED'}
    assert runner.asked == [('order-o1.0', 'resume', False)]  # no pause that would stay
    assert (runner.record.paused, runner.record.errors) == (False, [])


def test_a_resume_waits_until_the_pause_before_it_is_answered(tmp_path):
    runner, answers = Runner(tmp_path, ''), {'pause': Future(), 'resume': Future()}

    async def control(flow_id, verb, hold):
        runner.asked.append(verb)
        await answers[verb]
        runner.flow_paused = verb == 'pause'
        return ''
    runner._orders = SimpleNamespace(control=control)
    runner.flow.begun.set_result('')
    pauses = Pauses(runner)
    pauses.order('startPause')
    pauses.work()
    pauses.order('stopPause')
    pauses.work()
    assert runner.asked == ['pause']  # a repetition of it would come after a resume
    assert pauses.states == {'startPause': 'FAILED', 'stopPause': 'RUNNING'}
    answers['pause'].set_result(None)
    pauses.work()
    assert runner.asked == ['pause', 'resume'] and pauses.states['stopPause'] == 'RUNNING'
    answers['resume'].set_result(None)
    pauses.work()
    assert pauses.states == {'startPause': 'FAILED', 'stopPause': 'FINISHED'}
    assert not runner.flow_paused


def test_a_pause_that_had_effect_is_finished_before_a_resume(tmp_path):
    runner = Runner(tmp_path, '')
    runner.flow.begun.set_result('')
    pauses = Pauses(runner)
    pauses.order('startPause')
    pauses.work()
    runner.flow_paused = True
    pauses.order('stopPause')
    assert pauses.states == {'startPause': 'FINISHED', 'stopPause': 'RUNNING'}
    runner.flow_paused = False
    pauses.work()
    assert pauses.states == {'startPause': 'FINISHED', 'stopPause': 'FINISHED'}


def test_two_pauses_that_the_action_node_refuses_have_both_failed(tmp_path):
    runner = Runner(tmp_path, 'no answer')
    pauses = Pauses(runner)
    pauses.take({**HEADER, 'actions': [action('startPause', 'NONE', name) for name in 'ab']})
    pauses.work()
    runner.flow.begun.set_result('')
    pauses.work()
    assert pauses.states == {'a': 'FAILED', 'b': 'FAILED'}
    assert runner.record.instants[0].message == 'no answer'
    assert runner.asked == [('order-o1.0', 'pause', True)]


def test_instant_actions_in_a_field_of_another_name_are_taken_and_the_name_reported(tmp_path):
    runner = Runner(tmp_path, '')
    runner.flow.begun.set_result('')
    pauses = Pauses(runner)
    pauses.take({**HEADER, 'instantActions': [action('startPause', 'NONE', 'a')]})
    pauses.work()
    assert runner.asked == [('order-o1.0', 'pause', True)]
    told, = runner.record.errors
    assert told['errorType'] == 'validationError' and 'instantActions' in told['errorDescription']
    assert {'referenceKey': 'topic', 'referenceValue': 'instantActions'} in told['errorReferences']


def test_a_pause_that_can_not_be_recorded_has_failed(tmp_path):
    runner = Runner(tmp_path / 'file', '')
    (tmp_path / 'file').write_text('no folder')
    pauses = Pauses(runner)
    with pytest.raises(LifecycleError, match='can not be written'):
        pauses.order('startPause')
    assert pauses.states == {'startPause': 'FAILED'} and not runner.record.paused


@pytest.mark.parametrize(('paused', 'states', 'asked'), [
    (False, {'startPause': 'FAILED', 'stopPause': 'FINISHED'}, []),
    (True, {'startPause': 'FINISHED', 'stopPause': 'FINISHED'}, [('order-o1.0', 'pause', True)]),
])
def test_only_the_last_pause_is_asked_for_again_after_a_restart(tmp_path, paused, states, asked):
    runner = Runner(tmp_path, '')
    runner.flow.begun.set_result('')
    runner.record.paused = paused
    runner.record.instants += [InstantAction('startPause', 'startPause', 'RUNNING'),
                               InstantAction('stopPause', 'stopPause', 'FINISHED')]
    pauses = Pauses(runner)
    pauses.restore()
    pauses.work()
    runner.flow_paused = paused
    pauses.work()
    assert (pauses.states, runner.asked) == (states, asked)


def test_an_end_that_is_later_than_an_order_is_kept_when_it_is_taken_over(tmp_path):
    runner, jobs = Runner(tmp_path, ''), []
    runner._messages, runner._at_work, runner._committed = deque(), False, lambda: None
    runner.spawn = lambda what, work: jobs.append(work())

    async def judged(message):
        return Taken(read_order(message), 'order-o1.0', [], '', False, '')
    runner._judged = judged
    runner.record.note_instant(InstantAction('old', 'startPause', 'FINISHED'))
    runner.take(line(0, 1))
    runner.record.note_instant(InstantAction('new', 'startPause', 'FAILED'))
    with pytest.raises(StopIteration):
        jobs[0].send(None)
    assert [one.action_id for one in runner.record.instants] == ['new']


def test_an_action_id_with_other_contents_is_refused(tmp_path):
    runner = Runner(tmp_path, '')
    pauses = Pauses(runner)
    given = action('stateRequest', 'NONE', 'a')
    for one in (given, given):  # the second one is ignored
        pauses.take({**HEADER, 'actions': [one]})
    assert runner.record.errors == [] and pauses.states == {'a': 'FINISHED'}
    for other in (action('factsheetRequest', 'NONE', 'a'),
                  action('stateRequest', 'NONE', 'a', x=1)):
        runner.record.errors.clear()
        pauses.take({**HEADER, 'actions': [other]})
        found, = runner.record.errors
        assert found['errorType'] == 'instantActionError'
        assert "the robot has actionId 'a' with another" in found['errorDescription']
    assert pauses.states == {'a': 'FINISHED'}
