# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which markers states and evidence make: their places, texts, ids and deletions."""

from __future__ import annotations

import math
from typing import Any

from action_lifecycle.nodes.markers.messages import Markers, Style
from action_lifecycle.nodes.markers.places import MarkerPlace, place_of
from action_lifecycle.nodes.markers.shown_actions import GONE, ShownAction, ShownActions
from action_lifecycle.nodes.markers.wording import evidence_line, marker_text
from action_lifecycle.report.looks import ACTIVE, state_look
from action_lifecycle.world.facts.loader import parse_facts
from action_lifecycle_msgs.msg import (
    ActionState,
    ActionStateChange,
    ActionStatus,
    ActionStatusArray,
    Evidence,
    Fact,
)
from builtin_interfaces.msg import Time
from hypothesis import given
from hypothesis import strategies as st
import pytest
from visualization_msgs.msg import Marker

STYLE = Style(0.05, True, 6.0)
FACTS = parse_facts("""\
estop: none
facts:
  tool: {tf: {target: world, source: /tool0}}
  gap: {topic: gap, type: std_msgs/msg/Float64, field: data, unit: m}
  part: {topic: part, type: geometry_msgs/msg/PointStamped, field: point, unit: m, frame: camera}
  turn: {topic: turn, type: geometry_msgs/msg/QuaternionStamped, field: quaternion, frame: eye}
  slot: {constant: [0.2, 0.1, 0.0], unit: m, frame: table}
  above: {expression: 'tool[2] - 0.1', unit: m}
""")


def fact(name: str, *numbers: float, unit: str = '', validity: str = 'valid') -> dict[str, Any]:
    return {'name': name, 'stamp': 1.0, 'topic': name, 'validity': validity, 'unit': unit,
            'numbers': list(numbers)}


def evidence(expression: str, verdict: str, *facts: dict[str, Any]) -> dict[str, Any]:
    return {'condition': 'confirm', 'expression': expression, 'verdict': verdict, 'stamp': 1.0,
            'held': 0.0, 'facts': list(facts)}


def place(goals: Any = (), names: Any = (), *found: dict[str, Any]) -> MarkerPlace:
    return place_of(goals, names, found, FACTS, 'map')


# Places, in the order of the docstring of `places`

POSE = {'header': {'frame_id': '/odom'}, 'pose': {'position': {'x': 1, 'y': 2.5}}}


def test_a_header_of_a_goal_comes_first() -> None:
    assert place([{'speed': 1.0}, {'pose': POSE}], ['tool']) == MarkerPlace(
        'odom', (1.0, 2.5, 0.0))
    assert place([{'trajectory': {'header': {'frame_id': 'base'}}}]) == MarkerPlace('base')
    assert place([{'poses': [{'header': {'frame_id': ''}}, POSE]}]).frame == 'odom'
    covariance = {'header': {'frame_id': 'odom'}, 'pose': {'pose': {'position': [1, 2, 3]}}}
    assert place([covariance]) == MarkerPlace('odom', (1.0, 2.0, 3.0))
    assert place([{'header': {'frame_id': 'odom'}, 'point': {'z': 3.0}}]) == MarkerPlace(
        'odom', (0.0, 0.0, 3.0))


@pytest.mark.parametrize('position', [
    {'x': {'fact': 'gap'}}, {'x': math.nan}, {'x': math.inf}, {'x': True}, [1, 2], 'here', None, 7,
    {'x': '{{ later }}'}])
def test_a_position_that_is_not_three_numbers_is_the_origin(position: Any) -> None:
    found = place([{'header': {'frame_id': 'odom'}, 'pose': {'position': position}}])
    assert found == MarkerPlace('odom')


@pytest.mark.parametrize('goal', [
    None, 7, 'header', {'header': None}, {'header': {'frame_id': 7}}, {'header': 'odom'},
    {'header': {'frame_id': 'a\x00b'}}, {'header': {'frame_id': ' / '}}])
def test_what_is_no_header_is_passed_over(goal: Any) -> None:
    assert place([goal], ['slot']) == MarkerPlace('table', (0.2, 0.1, 0.0))


def test_a_goal_that_is_nested_without_end_is_passed_over() -> None:
    goal: dict[str, Any] = {}
    goal['again'] = goal
    assert place([goal]) == MarkerPlace('map')


def test_a_tf_fact_comes_before_a_fact_with_a_frame() -> None:
    assert place((), ['slot', 'tool']) == MarkerPlace('tool0')
    assert place((), ['gap', 'above']) == MarkerPlace('tool0'), 'also inside an expression'
    assert place((), (), evidence('slot[0] > 0', 'true', fact('slot', 1.0), fact('tool'))) \
        == MarkerPlace('tool0')


def test_a_fact_with_a_frame_gives_its_position() -> None:
    seen = fact('part', 0.1, 0.2, 0.3, unit='m')
    assert place((), ['turn', 'part'], evidence('part[0] > 0', 'false', seen)) == MarkerPlace(
        'camera', (0.1, 0.2, 0.3))
    assert place((), ['turn', 'part']) == MarkerPlace('eye'), 'none has a value yet'
    unknown = fact('part', 0.1, 0.2, 0.3, unit='m', validity='unknown')
    assert place((), (), evidence('part[0] > 0', 'unknown', unknown)) == MarkerPlace('camera')


def test_the_fixed_frame_comes_last() -> None:
    assert place((), ['gap', 'not_a_fact'], evidence('gap > 0', 'true', fact('gap', 1.0))) \
        == MarkerPlace('map')


# Texts

def test_the_text_has_state_and_decisive_values() -> None:
    action = ShownAction('f', 'pick_b', 'sensor_confirm', attempt=2, note='not shown', evidence=(
        evidence('gap > 0.02 and load > 0.5 and tool[2] > 0.1', 'false',
                 fact('gap', 0.0012345, unit='m'), fact('load', 0.9, unit='N'),
                 fact('tool', 0.0, 0.0, 0.3, unit='m')),))
    assert marker_text(action) == (
        'pick_b: confirming (attempt 2)\nconfirm false: gap = 0.001234 m')


def test_the_end_is_the_outcome() -> None:
    true = evidence('gap > 0.02', 'true', fact('gap', 0.03, unit='m'))
    assert marker_text(ShownAction('f', 'a', 'terminated', 'succeeded', 1, evidence=(true,))) == (
        'a: succeeded\nconfirm true: gap = 0.03 m')
    assert marker_text(ShownAction('f', 'a', 'terminated', 'failed', 1, 'no server\nthere')) == (
        'a: failed\nno server there')
    assert marker_text(ShownAction('f', 'a', GONE)) == 'a: ended'


def test_a_condition_that_is_not_true_comes_before_one_that_is() -> None:
    line = evidence_line([evidence('gap > 0', 'unknown', fact('gap', 1.0, validity='stale')),
                          evidence('load > 0', 'true', fact('load', 2.0))])
    assert line == 'confirm unknown: gap = 1 (stale)'


@pytest.mark.parametrize('expression', [
    '', 'gap >', 'gap > 0.02 or load > 1', '(' * 200 + ')' * 200, 'import os and x',
    '__import__("os") and gap', 'gap > 0.02 and text'])
def test_all_facts_are_shown_if_the_terms_can_not_be_told_apart(expression: str) -> None:
    line = evidence_line([evidence(expression, 'false', fact('gap', 0.03), fact('load', 0.1))])
    assert line == 'confirm false: gap = 0.03, load = 0.1'


@pytest.mark.parametrize('numbers', [(), (1.0, 2.0)])
def test_a_term_that_now_gives_no_single_number_did_not_decide(numbers: tuple[float, ...]) -> None:
    for verdict in ('false', 'unknown'):
        line = evidence_line([evidence('x > 1 and y > 2', verdict, fact('x', *numbers),
                                       fact('y', 1.0 if verdict == 'false' else math.nan))])
        assert line.startswith(f'confirm {verdict}: '), line


def test_lines_are_bounded() -> None:
    many = [fact(f'fact_{number}', float(number), unit='m') for number in range(100)]
    text = marker_text(ShownAction('f', 'a' * 1000, 'error', evidence=(
        evidence('any', 'false', *many),)))
    assert all(len(line) <= 120 for line in text.split('\n')) and text.count('\n') == 1
    assert '\x00' not in marker_text(ShownAction('f', 'a\x00b', 'error', note='c\x07d'))


# Markers

def test_markers_at_one_place_are_above_each_other() -> None:
    actions = [(ShownAction('f', name, 'error', note='why'), MarkerPlace('base')) for name in 'ab']
    made = Markers(STYLE).update(actions).markers
    assert [(marker.ns, marker.id, marker.type) for marker in made] == [
        ('places', 0, Marker.SPHERE), ('actions', 0, Marker.TEXT_VIEW_FACING),
        ('actions', 1, Marker.TEXT_VIEW_FACING)]
    ball, one, other = (marker.pose.position.z for marker in made)
    assert 0.0 == ball < one < other and other - one >= 2 * STYLE.text_height


def test_colours_are_those_of_the_viewer() -> None:
    for dark in (True, False):
        style = STYLE._replace(dark_background=dark)
        for state in ACTIVE:
            action = ShownAction('f', 'a', state)
            for marker in Markers(style).update([(action, MarkerPlace('map'))]).markers:
                channels = (marker.color.r, marker.color.g, marker.color.b)
                text = '#' + ''.join(f'{round(255 * value):02x}' for value in channels)
                assert text == getattr(state_look(state), 'dark' if dark else 'light')
                assert marker.color.a == 1.0


def change(seq: int, name: str = 'a', to: str = 'executing_motion', outcome: str = '',
           source: str = 'in_progress', attempt: int = 1) -> ActionStateChange:
    return ActionStateChange(
        stamp=Time(sec=seq), seq=seq, flow_id='f', action_id=name, attempt=attempt,
        from_state=source, to_state=to, outcome=outcome)


def statuses(stamp: int, *actions: ActionStatus) -> ActionStatusArray:
    return ActionStatusArray(stamp=Time(sec=stamp), actions=list(actions))


def status(
    seq: int, name: str = 'a', state: str = 'executing_motion', **more: Any
) -> ActionStatus:
    return ActionStatus(stamp=Time(sec=seq), seq=seq, flow_id='f', action_id=name, attempt=1,
                        state=ActionState(value=state), **more)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_ended_action_stays_for_a_while() -> None:
    clock = Clock()
    shown = ShownActions(5.0, clock)
    assert shown.take_change(change(1)) and shown.next_expiry() is None
    assert shown.take_change(change(2, to='terminated', outcome='failed'))
    assert not shown.take_statuses(statuses(1, status(1))), 'it is older than the end'
    assert [action.outcome for action in shown.newest(9)] == ['failed']
    clock.now = 4.9
    assert not shown.expire() and shown.next_expiry() == 5.0
    clock.now = 5.0
    assert shown.expire() and not shown.newest(9)
    assert not shown.take_statuses(statuses(1, status(1)))
    assert shown.take_change(change(3, source='assigned')), 'it is repeated'


def test_an_end_that_was_not_received_is_noticed() -> None:
    shown = ShownActions(5.0, Clock())
    shown.take_change(change(4))
    assert not shown.take_statuses(statuses(4)), 'made before it began'
    assert shown.take_statuses(statuses(5))
    assert shown.newest(9)[0].state == GONE
    assert shown.take_change(change(5, to='terminated', outcome='succeeded')), 'it comes late'
    assert shown.newest(9)[0].outcome == 'succeeded'


def test_an_action_that_has_not_begun_has_no_markers() -> None:
    shown = ShownActions(5.0, Clock())
    assert not shown.take_statuses(statuses(9, status(1, state='assigned')))
    assert not shown.take_change(change(
        2, to='terminated', outcome='skipped', source='assigned'))
    assert not shown.newest(9)


def test_the_latched_topic_tells_of_actions_that_began_before() -> None:
    shown = ShownActions(5.0, Clock())
    work = {'progress_text': 'executing', 'step': 1, 'step_kind': 'motion'}
    assert shown.take_statuses(statuses(9, status(3, **work)))
    assert shown.newest(9) == [ShownAction(
        'f', 'a', 'executing_motion', '', 1, 'motion 2: executing', 1, (), 3, 3.0)]
    assert not shown.take_statuses(statuses(10, status(3, **work)))
    assert shown.take_statuses(statuses(11, status(4, state='sensor_confirm', **work)))
    assert shown.newest(9)[0].note == '', 'its work is over'
    assert shown.take_statuses(statuses(12, status(5, state='error', error_msg='why', **work)))
    assert shown.newest(9)[0].note == 'why'


def test_a_new_journal_begins_anew() -> None:
    shown = ShownActions(5.0, Clock())
    shown.take_change(change(900))
    fresh = change(1, to='sensor_confirm')
    fresh.stamp.sec = 901
    assert shown.take_change(fresh) and shown.newest(9)[0].state == 'sensor_confirm'


NAMES = st.sampled_from(['a', 'b', 'c/d', 'e.2'])
ANY_STATE = st.sampled_from([*sorted(ACTIVE), 'assigned', 'terminated', 'not a state', ''])
ANY_TEXT = st.text(max_size=20).filter(lambda text: text.isprintable())
ANY_EVIDENCE = st.lists(st.builds(
    Evidence, condition=ANY_TEXT, expression=st.sampled_from(['x > 1 and y > 2', 'x >', '']),
    verdict=st.integers(0, 255), held=st.floats(),
    facts=st.lists(st.builds(
        Fact, name=st.sampled_from(['x', 'y', 'part', 'tool', '']), unit=st.sampled_from('m '),
        validity=st.integers(0, 255), numbers=st.lists(st.floats(), max_size=4),
        value_json=st.sampled_from(['', '"on"', '{', '[1, "a"]'])), max_size=3)), max_size=2)


@given(st.lists(st.one_of(
    st.tuples(st.just('change'), NAMES, ANY_STATE, ANY_TEXT, ANY_EVIDENCE, st.integers(0, 9)),
    st.tuples(st.just('statuses'), st.lists(
        st.tuples(NAMES, ANY_STATE, ANY_EVIDENCE), max_size=3)),
    st.tuples(st.just('wait'), st.floats(0.0, 6.0)), st.tuples(st.just('lost'))), max_size=30))
def test_a_subscriber_always_has_the_markers_of_what_is_shown(told: list[Any]) -> None:
    clock = Clock()
    shown, markers = ShownActions(5.0, clock), Markers(STYLE)
    seen: dict[tuple[str, int], Marker] = {}
    limit = 3
    for number, (kind, *data) in enumerate(told, 1):
        if kind == 'change':
            name, state, outcome, found, back = data
            entry = change(max(0, number - back), name, state, outcome)
            entry.evidence = found
            shown.take_change(entry)
        elif kind == 'statuses':
            shown.take_statuses(statuses(number, *(
                status(number, name, state, evidence=found) for name, state, found in data[0])))
        elif kind == 'wait':
            clock.now += data[0]
        else:
            shown.lost()
        shown.expire()
        placed = [(action, place_of((), (), action.evidence, FACTS, 'map'))
                  for action in shown.newest(limit)]
        message = markers.update(placed, first=number == 1)
        apply(message.markers, seen)
        texts = {marker.text for (ns, _), marker in seen.items() if ns == 'actions'}
        assert texts == {marker_text(action) for action, _ in placed}
        assert len(placed) <= limit and len(seen) <= 2 * limit
        assert all(number < limit for _, number in seen)
    clock.now += 5.0
    shown.take_statuses(statuses(10**6))
    clock.now += 5.0
    shown.expire()
    placed = [(action, MarkerPlace('map')) for action in shown.newest(limit)]
    apply(markers.update(placed).markers, seen)
    assert not seen


def apply(message: list[Marker], seen: dict[tuple[str, int], Marker]) -> None:
    """Do what a subscriber does with a message, which must be valid."""
    named = [(marker.ns, marker.id) for marker in message if marker.action != Marker.DELETEALL]
    assert len(named) == len(set(named))
    for index, marker in enumerate(message):
        key = marker.ns, marker.id
        if marker.action == Marker.DELETEALL:
            assert index == 0
            seen.clear()
        elif marker.action == Marker.DELETE:
            assert key in seen
            del seen[key]
        else:
            assert marker.header.frame_id and marker.ns in ('actions', 'places')
            position = marker.pose.position
            assert all(map(math.isfinite, (position.x, position.y, position.z)))
            assert marker.scale.z > 0 and marker.pose.orientation.w == 1.0
            assert bool(marker.text) == (marker.type == Marker.TEXT_VIEW_FACING)
            seen[key] = marker


def test_all_are_deleted_at_once() -> None:
    markers = Markers(STYLE)
    seen: dict[tuple[str, int], Marker] = {}
    apply(markers.update([(ShownAction('f', 'a', 'error'), MarkerPlace('map'))]).markers, seen)
    assert seen
    apply(markers.clear().markers, seen)
    assert not seen
