# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Requests of other nodes and people: events, answers, parameters, conditions, evidence."""

from __future__ import annotations

import json
import random
from typing import Any

from action_lifecycle.documents.errors import LifecycleError, TransitionNotAllowed

from .case import Case
from .edits import plain_flow
from .expressions import condition
from .rig import hand_over, Rig
from .values import how_many, misspelt, mutated, number, spoilt, text, value
from .yaml_text import Writer


def json_text(rng: random.Random, data: Any) -> str:
    """Return data as JSON, or something like it."""
    made = json.dumps(mutated(rng, data, how_many(rng) // 2))
    kind = rng.random()
    if kind < 0.1:
        return spoilt(rng, made)
    if kind < 0.12:
        return rng.choice(('[' * 100_000, '{"a":' * 50_000, '{"a": ' + '9' * 5000 + '}', '',
                           '{"a": NaN}', '{"a": 1, "a": 2}', '{"\\ud800": 1}', 'null', '[]', '"'))
    return made


class Requests(Case):
    """What services of the nodes are asked, on flows in many states."""

    block = 128
    rig: Rig | None = None

    def prepare(self) -> None:
        from action_lifecycle.nodes.action.flows import send_event
        from action_lifecycle.nodes.action.flows.flow_sources import order_from
        from action_lifecycle.ros.conversions import evidence, motion, status
        from action_lifecycle.ros.interfaces.limits import message_fault
        from action_lifecycle.world import parse_facts, WorldModel
        from action_lifecycle.world.evidence_messages import evidence_from
        from action_lifecycle.world.unmet_conditions import Topics, unmet_text
        from action_lifecycle_msgs import action, msg, srv
        self.action, self.msg, self.srv = action, msg, srv
        self.send_event, self.in_words = send_event, unmet_text
        self.evidence, self.motion, self.status = evidence, motion, status
        self.evidence_from = evidence_from
        self.order_from, self.message_fault = order_from, message_fault
        self.model = WorldModel(parse_facts(
            'estop: none\nfacts: {gap: {constant: 0.1}, tool: {constant: [1, 2]}, '
            'mode: {constant: a}}\n'))
        self.topics = Topics({}, lambda topic: '')

    def begin(self, rng: random.Random) -> None:
        if self.rig is not None:
            self.rig.close()
        self.rig = Rig('requests')
        hand_over(rng, self.rig.robot)
        for _ in range(5):
            self.rig.submit(Writer(rng).write(plain_flow(rng)))
            self.rig.clock.run(rng.choice((0.0, 0.5, 1.5)))

    def make(self, rng: random.Random) -> Any:
        kind = rng.choice(('event', 'event', 'event', 'event', 'answer', 'evaluate', 'step',
                           'evidence', 'order', 'fact'))
        return getattr(self, f'_make_{kind}')(rng)

    def check(self, given: Any) -> bool:
        kind, *arguments = given
        if any(self.message_fault(argument) for argument in arguments
               if hasattr(argument, 'SLOT_TYPES')):
            return False
        return bool(getattr(self, f'_check_{kind}')(*arguments))

    # Events

    def _make_event(self, rng: random.Random) -> Any:
        event = rng.choice(self.send_event.FROM_OUTSIDE)
        data: Any = {}
        if event == 'receive_fallback' or rng.random() < 0.1:
            data = {'parameters': {rng.choice(('force', 'x')): rng.choice((
                2.0, number(rng), value(rng)))}} if rng.random() < 0.8 else value(rng)
        request = self.srv.SendEvent.Request(
            flow_id=f'f{rng.randrange(1, 6)}', action_id=f'a{rng.randrange(4)}',
            event=event if rng.random() < 0.95 else utf8(misspelt(rng, event)),
            expected_state='assigned' if rng.random() < 0.03 else '',
            actor=rng.choice(('me', 'me', 'me', utf8(text(rng)))), reason=utf8(text(rng)),
            data_json=utf8(json_text(rng, data)))
        return 'event', request, rng.choice((0.0, 0.0, 0.1, 1.0, 3.0)), rng.choice(
            ('', '', 'executed', 'failed', 'confirmed', 'refuted', 'stale'))

    def _check_event(self, request: Any, seconds: float, told: str) -> bool:
        rig = self.rig
        assert rig is not None
        self._tell(told)
        rig.clock.run(seconds)
        run = rig.orchestrator.runs.get(request.flow_id)
        if run is None or request.action_id not in run.runners:
            return False
        action = run.runners[request.action_id].action
        try:
            data = self.send_event.event_data(request, action)
            rig.orchestrator.fire(request.flow_id, request.action_id, request.event, **data)
        except TransitionNotAllowed as error:
            return bool(str(error)) and bool(request.actor)  # as a service, it answers why
        finally:
            self.status.status_to(action, now=rig.clock.now())
            self.status.flow_to(run, rig.clock.now())
        rows = list(rig.process.journal.rows(
            flow_id=request.flow_id, action_id=request.action_id, kind='transition'))
        if rows:
            self.status.change_to(rows[-1])
        return True

    def _tell(self, told: str) -> None:
        """Let the robot end one of the things that it does only when it is told to."""
        assert self.rig is not None
        robot = self.rig.robot
        if told in ('executed', 'failed') and robot.motions:
            motion = robot.motions.pop(0)
            if not motion.canceled:
                motion.end(told)
        elif told and robot.questions:
            question = robot.questions.pop(0)
            if not question.canceled:
                question.answer(told)

    # Answers of people

    def _make_answer(self, rng: random.Random) -> Any:
        return ('answer', rng.randrange(9), rng.choice(('completed', 'pending', 'error', 'retry',
                                                        'give_up', text(rng))),
                rng.choice(('me', 'me', text(rng))), text(rng) if rng.random() < 0.5 else '')

    def _check_answer(self, which: int, answer: str, actor: str, comment: str) -> bool:
        assert self.rig is not None
        desk = self.rig.process.desk
        names = [*desk.open, 'nothing']
        for request in desk.open.values():
            self.status.asked_in_words(self.status.request_to(request))
        request_id = names[which % len(names)]
        try:
            desk.respond(request_id, answer, actor, comment)
        except LifecycleError:
            if request_id == 'nothing':
                return actor == 'me'  # answered as it should be
            raise
        return True

    # Questions to the bridge

    def _make_evaluate(self, rng: random.Random) -> Any:
        asked = self.msg.Condition(
            name='c', expression=utf8(condition(rng)) if rng.random() < 0.5 else 'gap < limit',
            hold=0.0, within=_double(rng, 1.0), max_age=_double(rng, 1.0))
        parameters = {'limit': 1.0, 'force': 2.0, 'q': [1.0, 2.0], 'done': True}
        return 'evaluate', asked, utf8(json_text(rng, parameters))

    def _check_evaluate(self, asked: Any, parameters_json: str) -> bool:
        parameters = self.motion.parameters_from(parameters_json)
        made = self.motion.condition_from(asked)
        _, evidence = self.model.evaluate([made], 10.0, parameters)
        for entry in evidence:
            self.evidence_from(self.evidence.evidence_to(entry.as_dict(), self.topics))
        self.in_words(evidence, self.topics)
        return True

    def _make_step(self, rng: random.Random) -> Any:
        return 'step', self.msg.Motion(
            server='gripper', type='control_msgs/action/GripperCommand',
            goal_json=utf8(json_text(rng, {'command': {'position': 0.1, 'max_effort': 1.0}})),
            server_timeout=_double(rng, 5.0), timeout=_double(rng, 60.0))

    def _check_step(self, step: Any) -> bool:
        self.motion.steps_from([step])
        return True

    def _make_order(self, rng: random.Random) -> Any:
        goal = self.action.ExecuteFlow.Goal(
            flow=utf8(text(rng)), kind=rng.choice(('', 'yaml', 'file', 'request', 'recipe', 'x')),
            parameters_json=utf8(json_text(rng, {'force': 1.0, 'part': 'a'})))
        return 'order', goal

    def _check_order(self, goal: Any) -> bool:
        json.dumps(self.order_from(goal).data())
        return True

    # Messages of the bridge

    def _fact(self, rng: random.Random) -> Any:
        from builtin_interfaces.msg import Time
        return self.msg.Fact(
            name='gap', topic='/t', unit='m', stamp=Time(
                sec=rng.choice((0, 1, 2**31 - 1, -2**31)), nanosec=rng.choice((0, 2**32 - 1))),
            validity=rng.choice((0, 1, 2, 1, 1, 255 if rng.random() < 0.1 else 1)),
            numbers=[_double(rng, 1.0) for _ in range(rng.randrange(4))],
            value_json='' if rng.random() < 0.6 else utf8(json_text(rng, rng.choice(
                ('auto', ['a', 'b'], None, True)))))

    def _make_fact(self, rng: random.Random) -> Any:
        return 'fact', self._fact(rng)

    def _check_fact(self, fact: Any) -> bool:
        self.evidence.fact_value(fact)
        return True

    def _make_evidence(self, rng: random.Random) -> Any:
        return 'evidence', self.msg.Evidence(
            condition='confirm', expression='gap > 0',
            verdict=rng.choice((0, 1, 2, 1, 1, 255 if rng.random() < 0.1 else 1)),
            held=_double(rng, 0.5), facts=[self._fact(rng) for _ in range(rng.randrange(3))])

    def _check_evidence(self, evidence: Any) -> bool:
        made = self.evidence_from(evidence)
        json.dumps(made, allow_nan=False)
        self.evidence.evidence_to(made)
        return True


def utf8(given: Any) -> str:
    """Return what of a text can be in a message."""
    made = given if isinstance(given, str) else str(given)
    return made.encode('utf-8', 'replace').decode().replace('\x00', '')


def _double(rng: random.Random, most: float) -> float:
    if rng.random() < 0.9:
        return rng.uniform(0.0, most)
    try:
        return float(number(rng))
    except OverflowError:
        return -1.0


CASE = Requests()
