# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Samples that may not be what they seem: of another definition, publisher or frame."""

from __future__ import annotations

from collections.abc import Iterable

from action_lifecycle.world import Condition, Safety, Validity, WatchOutcome, WorldModel
from action_lifecycle.world.unmet_conditions import Topics, unmet_text
import pytest

from . import messages
from .gripper import Answers, confirm, gap
from .test_safety import Watcher

OTHER = "topic '/joint_states' has another definition of sensor_msgs/msg/JointState"
NO_TOPICS = Topics({}, lambda topic: '')


def words(answers: Answers) -> str:
    return unmet_text(answers.results[0].evidence, NO_TOPICS)


@pytest.mark.parametrize('name', ['gap', 'gap_mm', 'mean_gap', 'gap_rate', 'gap_age'])
def test_facts_of_a_topic_of_another_definition_are_unknown(
    model: WorldModel, name: str
) -> None:
    gap(model, 0.02, 1.0)
    answers = confirm(model, f'{name} > -1', 1.0, hold=0.3)
    model.distrust('joint_states', OTHER, 1.1)
    gap(model, 0.02, 1.2)  # what was sent before
    model.advance(2.0)
    assert answers.outcome == WatchOutcome.TIMED_OUT
    assert f'{name} unknown: ' in words(answers) and OTHER in words(answers)
    model.distrust('joint_states', '', 2.0)
    assert model.value(name, 2.0).validity == Validity.UNKNOWN, 'nothing from before counts'
    gap(model, 0.02, 2.1)
    assert model.value(name, 2.1).validity == Validity.VALID


@pytest.mark.parametrize('topic', ['/tf', '/tf_static'])
def test_transforms_of_another_definition_give_no_pose(model: WorldModel, topic: str) -> None:
    model.ingest(topic, messages.transforms(
        1.0, tool=('world', (1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))), 1.0)
    assert model.value('tool', 1.0).validity == Validity.VALID
    model.distrust(topic, OTHER, 1.1)
    model.distrust('/tf_static' if topic == '/tf' else '/tf', '', 1.1)
    assert model.value('tool', 1.1).note == OTHER


def test_a_maintained_condition_is_judged_anew_when_a_definition_differs(
    model: WorldModel
) -> None:
    gap(model, 0.02, 1.0)
    answers = Answers()
    model.maintain([Condition('maintain', 'gap > 0.01', within=0.1)], 1.0, answers)
    model.distrust('joint_states', OTHER, 1.05)
    model.advance(1.16)
    assert answers.outcome == WatchOutcome.VIOLATED and OTHER in words(answers)


def test_the_publishers_are_looked_at_before_each_decision(model: WorldModel) -> None:
    def look(topics: Iterable[str]) -> None:
        model.distrust(*topics, OTHER, model.now)

    gap(model, 0.02, 1.0)
    model.look = look
    answers = confirm(model, 'gap > 0.01', 1.0)
    model.advance(2.0)
    assert answers.outcome == WatchOutcome.TIMED_OUT
    assert model.evaluate([Condition('maintain', 'gap > 0.01')], 2.0)[0].name == 'UNKNOWN'
    model.distrust('joint_states', '', 2.0)
    gap(model, 0.02, 2.1)
    value, why = model.expression('gap', 2.1)
    assert value is None and OTHER in why


def test_a_refusal_says_for_how_long_a_condition_was_true(model: WorldModel) -> None:
    answers = confirm(model, 'gap > 0.01', 1.0, hold=0.3)
    for step in range(10):
        gap(model, 0.0 if step % 2 else 0.02, 1.08 + 0.1 * step)
    model.advance(2.0)
    assert words(answers) == (
        'confirm: gap > 0.01 is false, and was true for 0.1 s of 0.3 s before (gap 0 m)')
    answers = confirm(model, 'gap > 0.01', 2.0, hold=0.3)
    gap(model, 0.02, 2.96)
    model.advance(3.0)
    assert words(answers) == 'confirm: gap > 0.01 was true for 0.04 s of 0.3 s (gap 0.02 m)'


@pytest.mark.parametrize('moved', [False, True])
def test_a_safety_topic_of_another_definition_does_not_count(moved: bool) -> None:
    watcher = Watcher()
    watcher.ready(1.0, moved=moved)
    watcher.monitor.distrust(watcher.door_spec, 'has another definition', 1.1)
    assert watcher.state == (Safety.STOPPED if moved else Safety.NOT_READY)
    assert 'is not heard: it has another definition' in watcher.changes[-1].reason
    watcher.door(True, 1.2)
    watcher.beat(1.3)
    assert watcher.monitor.clear(1.3) != '' or not moved
    watcher.monitor.distrust(watcher.door_spec, '', 1.4)
    watcher.beat(1.5)
    assert watcher.state != Safety.READY, 'what it said before does not count'
    watcher.door(True, 1.5)
    assert watcher.monitor.clear(1.5) == '' and watcher.state == Safety.READY
