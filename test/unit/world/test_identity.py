# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Samples that may not be what they seem: of another definition, publisher or frame."""

from __future__ import annotations

from collections.abc import Iterable

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.world import (
    Condition,
    parse_facts,
    Safety,
    Validity,
    WatchOutcome,
    WorldModel,
)
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


BOTH = ['/driver', '/joint_state_publisher']
NAMED = "'joint_states' has 2 publishers (/driver, /joint_state_publisher)"


def publish(model: WorldModel, start: float, end: float, *values: float | None,
            rate: float = 50.0) -> None:
    """Send joint states in turns from `start` to `end`; None: of another joint."""
    for step in range(round((end - start) * rate)):
        now, value = start + step / rate, values[step % len(values)]
        if value is None:
            model.ingest('joint_states', messages.joints(now, elbow=1.0), now)
        else:
            gap(model, value, now)
    model.advance(end)


@pytest.mark.parametrize('text', ['gap < 0.005', 'not gap > 0.005', 'gap_mm < 5', 'gap > 0.005'])
@pytest.mark.parametrize('hold', [0.0, 0.3])
@pytest.mark.parametrize('values', [(0.03, 0.0), (0.0, *[0.03] * 20), (0.03, *[0.0] * 20)])
def test_two_publishers_that_contradict_confirm_nothing(
    model: WorldModel, text: str, hold: float, values: tuple[float, ...]
) -> None:
    publish(model, 0.0, 1.0, values[-1])
    model.set_publishers('joint_states', BOTH, 1.0)
    answers = confirm(model, text, 1.0, hold=hold, within=3.0)
    publish(model, 1.0, 4.1, *values)
    assert answers.outcome == WatchOutcome.TIMED_OUT
    assert NAMED in words(answers) and 'is not known' in words(answers)
    assert model.evaluate([Condition('require', text)], 4.1)[0].name == 'UNKNOWN'
    value, why = model.expression('gap', 4.1)
    assert value is None and NAMED in why


def test_alternating_samples_are_told_without_a_condition(model: WorldModel) -> None:
    model.set_publishers('joint_states', BOTH, 1.0)
    publish(model, 1.0, 2.0, 0.03, 0.0)
    assert NAMED in model.value('gap', 2.0).note
    publish(model, 2.0, 5.0, 0.03)
    assert model.value('gap', 5.0).validity == Validity.VALID


def test_the_publisher_that_appears_with_its_first_sample_confirms_nothing(
    model: WorldModel
) -> None:
    found: list[str] = []

    def look(topics: Iterable[str]) -> None:
        if not found:
            found.extend(BOTH)
            model.set_publishers('joint_states', BOTH, model.now)

    publish(model, 0.0, 1.0, 0.03)
    model.look = look
    answers = confirm(model, 'gap < 0.005', 1.0, within=2.0)
    publish(model, 1.2, 3.1, 0.0, 0.03)
    assert answers.outcome == WatchOutcome.TIMED_OUT and NAMED in words(answers)


def test_a_publisher_that_has_not_been_heard_yet_is_waited_for(model: WorldModel) -> None:
    sent_by = 1
    model.set_publishers('joint_states', BOTH, 0.0, sender=lambda: sent_by)
    answers = confirm(model, 'gap > 0.01', 0.0, within=20.0)
    publish(model, 0.0, 4.0, 0.03)  # the other one looks for the subscription
    assert not answers.results
    sent_by = 2
    publish(model, 4.0, 4.1, 0.0)
    sent_by = 1
    publish(model, 4.1, 4.5, 0.03)
    assert not answers.results
    sent_by = 2
    publish(model, 4.5, 4.7, 0.03)  # both have been heard, the last contradiction 0.5 s ago
    assert answers.outcome == WatchOutcome.CONFIRMED


def test_while_a_publisher_that_gave_the_fact_is_silent_nothing_is_confirmed(
    model: WorldModel
) -> None:
    sent_by = 1
    model.set_publishers('joint_states', BOTH, 0.0, sender=lambda: sent_by)
    answers = confirm(model, 'gap > 0.01', 0.0, within=5.0)
    publish(model, 0.0, 0.1, 0.0)
    sent_by = 2
    publish(model, 0.1, 5.1, 0.03)
    assert answers.outcome == WatchOutcome.TIMED_OUT and NAMED in words(answers)
    model.set_publishers('joint_states', BOTH[:1], 5.1)  # it has left
    answers = confirm(model, 'gap > 0.01', 5.1)
    publish(model, 5.1, 5.2, 0.03)
    assert answers.outcome == WatchOutcome.CONFIRMED


@pytest.mark.parametrize('late', [0.0, 0.2])
def test_samples_of_another_publisher_that_come_late_contradict_too(
    model: WorldModel, late: float
) -> None:
    model.set_publishers('joint_states', BOTH, 0.0)
    answers = confirm(model, 'gap > 0.01', 0.0, within=4.0)
    for step in range(200):
        now = step / 50
        gap(model, 0.03, now)
        if step % 20 == 0:
            model.ingest('joint_states', messages.joints(now - late, gripper=0.0), now)
    model.advance(4.1)
    assert answers.outcome == WatchOutcome.TIMED_OUT and NAMED in words(answers)


def test_a_publisher_that_sends_nothing_is_not_waited_for_longer(model: WorldModel) -> None:
    model.set_publishers('joint_states', BOTH, 0.0, sender=lambda: 1)
    answers = confirm(model, 'gap > 0.01', 0.0, within=20.0)
    publish(model, 0.0, 9.9, 0.03)
    assert not answers.results
    publish(model, 9.9, 10.1, 0.03)
    assert answers.outcome == WatchOutcome.CONFIRMED


def test_a_noisy_moving_fact_beside_a_silent_publisher_is_confirmed_later(
    model: WorldModel
) -> None:
    model.set_publishers('joint_states', BOTH, 0.0)
    answers = confirm(model, 'gap < 0.0101', 0.0, within=3.0)
    for step in range(100):
        gap(model, max(0.01, 0.03 - step * 0.001) + 1e-5 * (step % 3), step / 50)
    assert answers.outcome == WatchOutcome.CONFIRMED
    assert answers.results[0].stamp == pytest.approx(0.4 + 0.5), 'max_age after it was true'
    assert answers.results[0].evidence[0].held == pytest.approx(0.5)


def test_messages_without_the_fact_are_no_contradiction(model: WorldModel) -> None:
    model.set_publishers('joint_states', BOTH, 0.0)
    publish(model, 0.0, 1.0, 0.03, None)
    answers = confirm(model, 'gap < 0.005', 1.0)
    publish(model, 1.0, 1.04, 0.0, None)
    assert answers.outcome == WatchOutcome.CONFIRMED
    assert model.expression('gap', 1.04) == (0.0, '')


def test_a_maintained_condition_is_violated_by_one_of_the_publishers(model: WorldModel) -> None:
    publish(model, 0.0, 1.0, 0.03)
    model.set_publishers('joint_states', BOTH, 1.0)
    answers = Answers()
    model.maintain([Condition('maintain', 'gap > 0.01', within=5.0)], 1.0, answers)
    publish(model, 1.0, 2.0, 0.03)
    assert answers.outcome is None
    gap(model, 0.0, 2.0)
    assert answers.outcome == WatchOutcome.VIOLATED


@pytest.mark.parametrize(('declared', 'nodes', 'outcome'), [
    ('any', 3, WatchOutcome.CONFIRMED), (2, 2, WatchOutcome.CONFIRMED),
    (2, 3, WatchOutcome.TIMED_OUT), (1, 2, WatchOutcome.TIMED_OUT)])
def test_declared_publishers(declared: object, nodes: int, outcome: WatchOutcome) -> None:
    model = WorldModel(parse_facts(f"""
estop: none
facts:
  gap: {{topic: joint_states, type: sensor_msgs/msg/JointState, max_age: 0.5,
        field: 'position[name=gripper]', publishers: {declared}}}
"""))
    model.set_publishers('joint_states', ['/a', '/b', '/c'][:nodes], 0.0)
    answers = confirm(model, 'gap < 0.005', 0.0)
    publish(model, 0.0, 1.1, 0.03, 0.0)
    assert answers.outcome == outcome
    if outcome == WatchOutcome.TIMED_OUT:
        assert f'{nodes} publishers (/a, /b' in words(answers)
        assert f'the facts file says at most {declared}' in words(answers)


def test_more_publishers_than_declared_confirm_nothing_although_they_agree() -> None:
    model = WorldModel(parse_facts("""
estop: none
facts:
  gap: {topic: joint_states, type: sensor_msgs/msg/JointState, max_age: 0.5,
        field: 'position[name=gripper]', publishers: 1}
"""))
    model.set_publishers('joint_states', BOTH, 0.0)
    answers = confirm(model, 'gap < 0.005', 0.0, hold=0.0, within=3.0)
    for step in range(60):
        gap(model, 0.0, step * 0.05)
    model.advance(3.0)
    assert answers.outcome == WatchOutcome.TIMED_OUT


def test_a_value_that_changes_steadily_does_not_alternate(model: WorldModel) -> None:
    model.set_publishers('joint_states', BOTH, 0.0)
    for step in range(20):
        gap(model, 0.001 * step, step * 0.05)
    assert model.value('gap', 0.95).validity == Validity.VALID


@pytest.mark.parametrize('wrong', [0, -1, 1.5, 'all'])
def test_wrong_numbers_of_publishers_are_refused(wrong: object) -> None:
    for fact in ('topic: t, type: std_msgs/msg/Bool, field: data', 'constant: 1'):
        with pytest.raises(DocumentError, match='publishers'):
            parse_facts(f'estop: none\nfacts: {{x: {{{fact}, publishers: {wrong}}}}}')
    with pytest.raises(DocumentError, match="fact 'x': only a topic has publishers"):
        parse_facts('estop: none\nfacts: {x: {constant: 1, publishers: any}}')
    with pytest.raises(DocumentError, match="publishers, that of tf may be 'any'"):
        parse_facts('estop: none\nfacts: {x: {tf: {target: a, source: b}, publishers: 2}}')


def test_latched_values_of_two_publishers_that_differ_are_unknown(model: WorldModel) -> None:
    model.set_publishers('present', ['/one', '/two'], 0.0)
    model.ingest('present', messages.flag(True), 0.1)
    answers = confirm(model, 'present', 0.2, within=3.0)
    model.advance(2.0)
    assert answers.outcome == WatchOutcome.CONFIRMED
    model.ingest('present', messages.flag(False), 2.1)
    answers = confirm(model, 'not present', 2.2, within=3.0)
    model.advance(6.0)
    assert answers.outcome == WatchOutcome.TIMED_OUT and '/one, /two' in words(answers)


def test_a_value_of_a_publisher_that_left_does_not_count(model: WorldModel) -> None:
    model.set_publishers('joint_states', BOTH, 0.0)
    publish(model, 0.0, 1.0, 0.03, 0.0)
    model.set_publishers('joint_states', BOTH[:1], 1.0)
    assert model.value('gap', 1.0).validity == Validity.UNKNOWN
    answers = confirm(model, 'gap > 0.005', 1.0)
    gap(model, 0.03, 1.02)
    assert answers.outcome == WatchOutcome.CONFIRMED


TF = parse_facts("""
estop: none
facts:
  at: {tf: {target: map, source: base}, max_age: 0.5}
  x: {expression: 'at[0]'}
  any_at: {tf: {target: map, source: base}, max_age: 0.5, publishers: any}
  any_x: {expression: 'any_at[0]'}
  plate: {tf: {target: base, source: plate}}
""")
UNIT = (0.0, 0.0, 0.0, 1.0)
AMCL, ODOMETRY, SLAM = 1, 2, 3


class Tf:
    """Broadcasters whose messages are numbered, or are not."""

    def __init__(self, numbered: bool, *nodes: str, topic: str = '/tf') -> None:
        self.model = WorldModel(TF)
        self.topic = topic
        self.sent_by: int | None = None
        self.numbered = numbered
        self.set_publishers(0.0, *nodes)

    def set_publishers(self, now: float, *nodes: str) -> None:
        self.model.set_publishers(self.topic, nodes, now, sender=lambda: self.sent_by)

    def send(self, now: float, sender: int, child: str, parent: str, x: float) -> None:
        self.sent_by = sender if self.numbered else None
        self.model.ingest(self.topic, messages.transforms(
            now, **{child: (parent, (x, 0.0, 0.0), UNIT)}), now)

    def robot(self, start: float, end: float, *rivals: tuple[str, float]) -> None:
        """Send map -> odom by one node, odom -> base and base -> plate one by one by another."""
        for step in range(round((end - start) * 50)):
            now = start + step / 50
            self.send(now, AMCL, 'odom', 'map', 0.0)
            self.send(now, ODOMETRY, 'base', 'odom', 0.04 * now)
            self.send(now, ODOMETRY, 'plate', 'base', 0.1)
            for parent, x in rivals[step % max(1, len(rivals)):][:1]:
                self.send(now + 0.01, SLAM, 'odom', parent, x)
        self.model.advance(end)


@pytest.mark.parametrize('numbered', [True, False])
@pytest.mark.parametrize(('parent', 'x'), [('map', 5.0), ('world', 5.0)])
@pytest.mark.parametrize('text', ['x > 4', 'x < 1'])
@pytest.mark.parametrize('hold', [0.0, 0.3])
def test_two_broadcasters_of_a_frame_confirm_nothing(
    numbered: bool, parent: str, x: float, text: str, hold: float
) -> None:
    tf = Tf(numbered, '/amcl', '/odometry', '/slam')
    tf.robot(0.0, 1.0, (parent, x))
    answers = confirm(tf.model, text, 1.0, hold=hold, within=3.0)
    maintained = Answers()
    tf.model.maintain([Condition('maintain', text, within=0.5)], 1.0, maintained)
    tf.robot(1.0, 4.1, (parent, x))
    assert answers.outcome == WatchOutcome.TIMED_OUT
    assert "'/tf' has 3 publishers (/amcl, /odometry, /slam)" in words(answers)
    assert maintained.outcome == WatchOutcome.VIOLATED
    value, why = tf.model.expression(text, 4.1)
    assert value is None and '/slam' in why


def test_a_second_broadcaster_confirms_nothing_by_its_first_transform() -> None:
    tf = Tf(True, '/amcl', '/odometry')
    tf.robot(0.0, 1.0)
    answers = confirm(tf.model, 'x > 4', 1.0, within=2.0)
    tf.set_publishers(1.1, '/amcl', '/odometry', '/slam')
    tf.robot(1.1, 3.1, ('map', 5.0))
    assert answers.outcome == WatchOutcome.TIMED_OUT and "frame 'odom': " in words(answers)
    tf.set_publishers(3.1, '/amcl', '/odometry')  # slam is gone, and so is what it said
    assert tf.model.value('x', 3.1).validity == Validity.UNKNOWN
    tf.robot(3.1, 3.8)
    assert tf.model.expression('x < 1', 3.8) == (True, '')


def test_broadcasters_of_other_frames_delay_nothing_where_senders_are_known() -> None:
    tf = Tf(True, '/amcl', '/odometry')
    tf.robot(0.0, 0.6)
    answers = confirm(tf.model, 'x > 0.03', 0.6)
    tf.robot(0.6, 1.0)
    assert answers.outcome == WatchOutcome.CONFIRMED
    assert answers.results[0].stamp == pytest.approx(0.76)


def test_after_a_loss_it_is_learned_anew_who_sends_what() -> None:
    tf = Tf(True, '/amcl', '/odometry')
    tf.robot(0.0, 0.5)
    tf.model.lost('/tf', 0, 0.5)
    assert tf.model.expression('x < 1', 0.5)[0] is None
    tf.robot(0.5, 1.1)
    assert tf.model.expression('x < 1', 1.1) == (True, '')


def test_a_sender_that_has_just_been_heard_may_give_the_frame() -> None:
    tf = Tf(True, '/odometry', '/slam')
    tf.robot(0.0, 1.0, ('map', 5.0))
    tf.model.lost('/tf', 0, 1.0)
    answers = confirm(tf.model, 'x > 4', 1.0)
    tf.send(1.01, AMCL, 'plate', 'base', 0.1)  # the first after the loss
    tf.send(1.02, SLAM, 'odom', 'map', 5.0)
    assert answers.outcome is None


def test_without_senders_a_pose_counts_later_unless_the_file_says_any() -> None:
    tf = Tf(False, '/amcl', '/odometry')
    tf.robot(0.0, 0.5)
    late = confirm(tf.model, 'x > 0.03', 0.5, within=3.0)
    at_once = confirm(tf.model, 'any_x > 0.03', 0.5, within=3.0)
    tf.robot(0.5, 2.0)
    assert [found.results[0].stamp for found in (at_once, late)] == [
        pytest.approx(0.76), pytest.approx(0.76 + 0.5, abs=0.02)]


@pytest.mark.parametrize('x', [0.1, 0.3])
def test_two_static_broadcasters_of_a_frame_must_agree(x: float) -> None:
    tf = Tf(True, '/urdf', '/calibration', topic='/tf_static')
    tf.send(0.0, 1, 'plate', 'base', 0.1)
    tf.send(0.1, 2, 'plate', 'base', x)
    answers = confirm(tf.model, 'plate[0] > 0.05', 0.2, within=5.0)
    tf.model.advance(6.0)
    assert answers.outcome == (WatchOutcome.CONFIRMED if x == 0.1 else WatchOutcome.TIMED_OUT)


FRAMED = parse_facts("""
estop: none
facts:
  part: {topic: part_pose, type: geometry_msgs/msg/PoseStamped, field: pose.position, frame: map}
  x: {topic: part_pose, type: geometry_msgs/msg/PoseStamped, field: pose.position.x, frame: /map}
  average: {topic: part_pose, type: geometry_msgs/msg/PoseStamped, field: pose.position,
            frame: map, reduce: mean, window: 0.5}
  joint: {topic: joint_states, type: sensor_msgs/msg/JointState, field: 'position[0]', frame: map}
  seen: {topic: seen, type: my_msgs/msg/Seen, field: 'items[id=cup].x', frame: map}
  every: {topic: seen, type: my_msgs/msg/Seen, field: 'items[*].x', frame: map}
  sure: {topic: plain, type: std_msgs/msg/Bool, field: data, frame: map}
""")


def pose_in(frame: str, stamp: float) -> messages.Message:
    message = messages.pose_stamped(1.0, 0.0, 0.0, stamp)
    message.header.frame_id = frame
    return message


@pytest.mark.parametrize('name', ['part', 'x', 'average'])
@pytest.mark.parametrize('frame', ['camera_optical', ''])
def test_a_sample_in_another_frame_has_no_value(name: str, frame: str) -> None:
    model = WorldModel(FRAMED)
    answers = confirm(model, 'x < 2' if name == 'x' else f'norm({name}) < 2', 0.0, hold=0.3)
    for step in range(20):
        model.ingest('part_pose', pose_in(frame, step * 0.05), step * 0.05)
    model.advance(1.0)
    assert answers.outcome == WatchOutcome.TIMED_OUT
    said = f"it is in the frame '{frame}'" if frame else 'its header names no frame'
    assert f"{said}, the facts file says 'map'" in words(answers)
    model.ingest('part_pose', pose_in('/map', 1.1), 1.1)
    assert model.value(name, 1.1).validity == Validity.VALID


@pytest.mark.parametrize(('array', 'element', 'valid'), [
    ('map', '', True), ('', 'map', True), ('', '/map', True), ('camera', 'map', False),
    ('', 'camera', False), ('', '', False)])
def test_the_frame_of_an_array_counts_else_that_of_its_element(
    array: str, element: str, valid: bool
) -> None:
    model = WorldModel(FRAMED)
    model.ingest('seen', messages.Message(header=messages.header(1.0, array), items=[
        messages.Message(header=messages.header(1.0, element), id='cup', x=1.0)]), 1.0)
    assert (model.value('seen', 1.0).validity == Validity.VALID) is valid
    assert (model.value('every', 1.0).validity == Validity.VALID) is (array == 'map')


def test_messages_whose_headers_say_nothing_of_the_frame_are_not_compared() -> None:
    model = WorldModel(FRAMED)
    model.ingest('joint_states', messages.joints(1.0, elbow=1.0), 1.0)
    model.ingest('plain', messages.flag(True), 1.0)
    assert [model.value(name, 1.0).validity for name in ('joint', 'sure')] == [Validity.VALID] * 2


def test_a_pose_from_tf_is_in_its_target() -> None:
    with pytest.raises(DocumentError, match="facts:3:.*fact 'at': its pose is in the target 'map'"
                                            ", not in 'odom'"):
        parse_facts("""estop: none
facts:
  at: {tf: {target: map, source: base_link}, frame: odom}
""")
    parse_facts('estop: none\nfacts: {at: {tf: {target: map, source: base_link}, frame: /map}}')


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
