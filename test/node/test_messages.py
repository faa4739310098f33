# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The event of a change, as others read it."""

from __future__ import annotations

import json
import math
from typing import Any

from action_lifecycle.journal import Entry, Row
from action_lifecycle.journal.row import make_row
from action_lifecycle.lifecycle.states import ActionOutcome, ActionState, ErrorCode
from action_lifecycle.lifecycle.text_format import evidence_in_words
from action_lifecycle.ros.conversions.evidence import (
    evidence_to,
    fact_kind,
    fact_value,
    planned_fact,
)
from action_lifecycle.ros.conversions.status import change_to
from action_lifecycle.world import Evidence as WorldEvidence
from action_lifecycle.world import FactValue, TruthValue, Validity
from action_lifecycle.world.evidence_messages import evidence_from
from action_lifecycle.world.unmet_conditions import Topics, unmet_text
from action_lifecycle_msgs.msg import ActionStateChange, Evidence, Fact
from hypothesis import given
from hypothesis import strategies as st
import pytest
from rclpy.serialization import deserialize_message, serialize_message

EVIDENCE = {'condition': 'held', 'expression': 'width > 0.01', 'verdict': 'true', 'stamp': 2.5,
            'held': 0.2, 'facts': []}
NUMBER = '{"type": "number"}'


@pytest.mark.parametrize(('schema', 'read', 'value', 'kind'), [
    (NUMBER, None, None, 'number in m'),
    (NUMBER, Fact(validity=Fact.UNKNOWN), None, 'number in m'),
    (NUMBER, Fact(validity=Fact.VALID, numbers=[0.5], unit='m'), 0.5, 'number in m'),
    (NUMBER, Fact(validity=Fact.STALE, numbers=[0.5], unit='m'), 0.5, 'number in m'),
    ('{"type": "boolean"}', Fact(validity=Fact.VALID, numbers=[1.0]), True, 'boolean'),
    ('{"type": "array", "items": {"type": "number"}}', None, None, 'list of numbers in m'),
    (NUMBER, Fact(validity=Fact.VALID, numbers=[1.0, 2.0]), [1.0, 2.0], 'list of numbers'),
    ('{"type": "string"}', Fact(validity=Fact.VALID, value_json='"a"'), 'a', 'string'),
    ('{}', None, None, 'm'), ('[', None, None, 'm'), ('{"type": "array", "items": 3}', None, None,
                                                      'list in m'),
])
def test_a_planner_is_told_value_kind_and_unit_of_a_fact(
    schema: str, read: Fact | None, value: Any, kind: str,
) -> None:
    fact = planned_fact(Fact(name='x', unit='m', value_json=schema), read)
    assert fact_value(fact) == value and type(fact_value(fact)) is type(value)
    assert fact_kind(fact) == kind


words = st.text('abc_é→\0', max_size=9)
data = st.fixed_dictionaries({}, optional={
    'evidence': st.lists(st.just(EVIDENCE), max_size=2), 'goal_id': st.uuids().map(str),
    'outcome': st.sampled_from([one.value for one in ActionOutcome]),
    'error_code': st.sampled_from([one.name for one in ErrorCode]), 'result': words})


@st.composite
def rows(draw: Any) -> Row:
    states = st.sampled_from([one.value for one in ActionState])
    entry = Entry(
        'transition', draw(words), draw(words), draw(st.integers(0, 2**32 - 1)), draw(words),
        draw(states), draw(states), draw(words), draw(words), draw(data),
        ros_time=draw(st.none() | st.floats(0, 1e9)))
    return make_row(entry, draw(st.integers(1, 2**63 - 1)), 'boot', 1.0, 2.0, '')


@given(st.lists(st.tuples(rows(), st.integers(0, 2**63 - 1)), min_size=1, max_size=3))
def test_a_message_filled_again_is_serialized_as_a_new_one(changes: list[tuple[Row, int]]) -> None:
    kept = ActionStateChange()
    for row, previous_seq in changes:
        theirs = change_to(row, previous_seq)
        ours = change_to(row, previous_seq, kept)
        assert ours is kept and ours == theirs
        assert serialize_message(ours) == serialize_message(theirs)
        assert len(ours.evidence) == len(row.data.get('evidence', ()))
        assert deserialize_message(serialize_message(ours), ActionStateChange).seq == row.seq


def test_each_field_says_what_the_row_says() -> None:
    entry = Entry(
        'transition', 'f', 'pick', 2, 'fail', 'executing_motion', 'error', 'gripper', 'robot',
        {'error_code': 'REFUTED', 'goal_id': '0f' * 16, 'evidence': [EVIDENCE], 'b': 1, 'a': 2},
        ros_time=12.25)
    change = change_to(make_row(entry, 5, 'boot', 1.0, 2.0, ''), 3)
    assert (change.seq, change.previous_seq, change.attempt) == (5, 3, 2)
    assert (change.flow_id, change.action_id, change.event) == ('f', 'pick', 'fail')
    assert (change.from_state, change.to_state) == ('executing_motion', 'error')
    assert (change.cause, change.actor, change.outcome) == ('gripper', 'robot', '')
    assert (change.stamp.sec, change.stamp.nanosec) == (12, 250_000_000)
    assert change.error_code == ErrorCode.REFUTED
    assert bytes(change.goal_id.uuid) == b'\x0f' * 16
    assert [one.expression for one in change.evidence] == ['width > 0.01']
    assert math.isclose(change.evidence[0].held, 0.2)
    assert json.loads(change.data_json) == {'a': 2, 'b': 1}


def test_what_makes_no_sense_in_evidence_is_unknown() -> None:
    fact = Fact(name='mode', validity=77, value_json='{"a')
    found = evidence_from(Evidence(condition='c', verdict=77, facts=[fact]))
    assert found['verdict'] == found['facts'][0]['validity'] == 'unknown'
    assert found['facts'][0]['value'] == '{"a'
    assert evidence_to(found).verdict == Evidence.UNKNOWN
    for text, value in (('[' * 100_000, '[' * 100_000), ('[NaN, 1]', ['nan', 1]), ('"a"', 'a')):
        fact = Fact(validity=Fact.VALID, value_json=text)
        assert fact_value(fact) == value
        assert evidence_from(Evidence(facts=[fact]))['facts'][0]['value'] == value


def test_no_number_in_evidence_is_minus_zero() -> None:
    fact = FactValue('gap', -0.0, 1.0, '/joint_states', Validity.VALID, 'm')
    words = unmet_text([WorldEvidence('confirm', 'gap > 1', TruthValue.FALSE, 1.0, 0.0, (fact,))],
                       Topics({}, lambda topic: ''))
    assert words == 'confirm: gap > 1 is false (gap 0 m)'


def test_the_reason_why_a_fact_is_unhealthy_is_in_message_journal_and_text() -> None:
    fact = FactValue('gap', 0.02, 1.0, 'joint_states', Validity.UNKNOWN, 'm', 'frozen: 9 samples')
    entry = WorldEvidence('confirm', 'gap > 1', TruthValue.UNKNOWN, 1.0, 0.0, (fact,))
    assert unmet_text([entry], Topics({}, lambda topic: '')) == (
        'confirm: gap > 1 is not known (gap 0.02 m unknown: frozen: 9 samples)')
    message = evidence_to(entry.as_dict())
    assert message.facts[0].note == 'frozen: 9 samples'
    assert evidence_from(message) == entry.as_dict()
    assert evidence_in_words(entry.as_dict()) == (
        'gap > 1 is unknown (gap=0.02 (unknown: frozen: 9 samples))')
