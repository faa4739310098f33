# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Messages in which facts have scripted values: what is written is what the facts read."""

from __future__ import annotations

import array
from dataclasses import dataclass, field
import json
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.testing.fact_messages import reading, timing_fault, TopicMessages
from action_lifecycle.world import parse_facts
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest


@dataclass
class Point:
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass
class Status:
    name: str = ''
    level: int = 0
    value: str = ''
    ok: bool = False
    ERROR = 2


@dataclass
class Message:
    """A field of each kind."""

    number: float = 0.0
    whole: int = 0
    flag: bool = False
    text: str = ''
    point: Point = field(default_factory=Point)
    fixed: Any = field(default_factory=lambda: np.zeros(6))
    numbers: Any = field(default_factory=lambda: array.array('d'))
    name: list[str] = field(default_factory=list)
    position: Any = field(default_factory=lambda: array.array('d'))
    velocity: Any = field(default_factory=lambda: array.array('d'))
    status: list[Status] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


def new_element(message: Any, name: str) -> Any:
    return {'status': Status(), 'texts': '', 'name': ''}.get(name, 0.0)


def messages(**facts: str) -> TopicMessages:
    """Return the messages of facts, given as the rest of their lines."""
    lines = '\n'.join(f'  {name}: {{topic: t, type: a/msg/M, {rest}}}'
                      for name, rest in facts.items())
    found = parse_facts(f'estop: none\nfacts:\n{lines}\n')
    return TopicMessages(found.values(), (), Message, new_element)


def read(topic: TopicMessages, values: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Return what the facts read in the message with these values."""
    message = topic.message({name: np.array(value, float) if isinstance(value, list)
                             and not any(isinstance(one, str) for one in value) else value
                             for name, value in values.items()}, **options)
    return {fact.name: reading(fact, message) for fact in topic._facts}


NUMBERS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3))
LISTS = st.lists(NUMBERS, min_size=1, max_size=8)
WHOLE = st.integers(-1000, 1000)
NAMES = st.text('abcxyz_', min_size=1, max_size=6)


@pytest.mark.parametrize(('path', 'values'), [
    ('field: number', NUMBERS), ('field: whole', WHOLE), ('field: flag', st.booleans()),
    ('field: text', NAMES), ('field: point.y', NUMBERS),
    ('field: point', st.lists(NUMBERS, min_size=3, max_size=3)),
    ("field: 'fixed[4]'", NUMBERS), ("field: 'fixed[-1]'", NUMBERS),
    ("field: 'fixed[0:6:5]'", st.lists(NUMBERS, min_size=2, max_size=2)),
    ("field: 'numbers[3]'", NUMBERS), ('field: numbers', LISTS),
    ("field: 'position[name=elbow]'", NUMBERS),
    ("field: 'position[name=elbow,wrist]'", st.lists(NUMBERS, min_size=2, max_size=2)),
    ("field: 'status[name=left].level'", WHOLE), ("field: 'status[level=ERROR].name'", NAMES),
    ("field: 'status[ok=true].value|number'", NUMBERS), ("field: 'status[2].ok'", st.booleans()),
    ("field: 'status[*].level'", st.lists(WHOLE, min_size=1, max_size=5)),
    ("field: 'status[*].value|number'", LISTS), ("field: 'texts[1]|number'", NUMBERS),
    ("field: 'text|number'", NUMBERS), ("field: 'text|json.arm.joints[1].angle'", NUMBERS),
    ("field: 'text|json.parts[id=cup].held'", st.booleans()), ('field: texts', st.lists(
        NAMES, min_size=1, max_size=4)),
    *((f'field: {where}, reduce: {reducer}', NUMBERS) for where in (
        'point', 'fixed', 'numbers', "'numbers[0:3]'", "'fixed[0:6:5]'") for reducer in (
        'min', 'max', 'mean', 'median', 'sum')),
    *((f'field: {where}, reduce: {reducer}', st.floats(0, 1e3).map(lambda one: round(one, 3)))
      for where in ('point', 'fixed', 'numbers') for reducer in ('norm', 'std')),
    *((f"field: 'status[*].ok', reduce: {reducer}", st.booleans()) for reducer in ('any', 'all')),
    *((f'field: {where}, reduce: count', st.integers(0, 20))
      for where in ('numbers', 'texts', 'status', "'status[*].level'")),
], ids=str)
def test_what_is_written_is_read(path: str, values: st.SearchStrategy[Any]) -> None:
    topic = messages(fact=path)

    @given(values)
    def holds(value: Any) -> None:
        found = read(topic, {'fact': value}, exact=True)['fact']
        if isinstance(value, (str, bool)) or (isinstance(value, list)
                                              and isinstance(value[0], str)):
            assert (list(found) if isinstance(value, list) else found) == value
        else:
            assert np.allclose(np.asarray(found, float), value, rtol=1e-6, atol=1e-8)

    holds()


@given(st.dictionaries(NAMES, st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4),
       st.floats(0, 100).map(lambda value: round(value, 3)))
def test_elements_by_name_and_by_index_are_different_elements(
    joints: dict[str, tuple[float, float]], speed: float
) -> None:
    facts = {f'j_{name}_{part}': f"field: '{part}[name={name}]'"
             for name in joints for part in ('position', 'velocity')}
    topic = messages(**facts, arm="field: 'velocity[0:3]', reduce: norm")
    values = {'arm': speed, **{f'j_{name}_{part}': pair[part == 'velocity']
                               for name, pair in joints.items()
                               for part in ('position', 'velocity')}}
    found = read(topic, values)
    assert all(found[name] == pytest.approx(value) for name, value in values.items())


def test_a_fact_without_a_value_has_none_beside_others() -> None:
    topic = messages(speed='field: point, reduce: norm', x="field: 'position[name=x]'",
                     y="field: 'position[name=y]'", level='field: whole')
    assert read(topic, {'x': 1.0, 'level': 3}) == {'speed': None, 'x': 1.0, 'y': None, 'level': 3}
    assert topic.unsilenced({'x': 1.0}) == {'level': 0}


def test_between_whole_numbers_a_ramp_is_rounded() -> None:
    topic = messages(level='field: whole')
    assert read(topic, {'level': 2.4})['level'] == 2
    with pytest.raises(LifecycleError, match="fact 'level': no message is known in which field "
                                             "'whole' is 2.4"):
        topic.message({'level': 2.4}, exact=True)


@pytest.mark.parametrize(('facts', 'values', 'words'), [
    ({'a': 'field: number', 'b': 'field: number'}, {'a': 1.0, 'b': 2.0},
     r"fact 'a': its value is to be 1.0, and another fact of topic 't' makes it 2.0"),
    ({'a': 'field: point, reduce: norm'}, {'a': -1.0},
     r"fact 'a': no message is known in which field 'point' with reducer 'norm' is -1.0"),
    ({'a': "field: 'fixed[9]'"}, {'a': 1.0}, r"'fixed\[9\]' is 1.0 \(fixed has no 10 elements\)"),
    ({'a': 'field: flag'}, {'a': 0.5}, "'flag' is 0.5 .a field of type bool can not be 0.5"),
    ({'a': 'field: point'}, {'a': [1.0, 2.0]}, 'fewer numbers than the message has'),
])
def test_what_no_message_has_is_told_by_its_fact(
    facts: dict[str, str], values: dict[str, Any], words: str
) -> None:
    with pytest.raises(LifecycleError, match=words) as caught:
        read(messages(**facts), values)
    assert 'under `messages` of the robot' in str(caught.value)


def test_a_function_writes_what_no_rule_inverts() -> None:
    facts = parse_facts('estop: none\nfacts:\n  best: {topic: t, type: a/msg/M, '
                        "field: 'status[*].level', reduce: max}\n")

    def write(message: Message, value: Any) -> None:
        message.status = [Status('a', 0), Status('b', int(value))]

    topic = TopicMessages(facts.values(), (), Message, new_element, {'best': write})
    assert [one.level for one in topic.message({'best': 3}).status] == [0, 3]
    wrong = TopicMessages(facts.values(), (), Message, new_element, {'best': lambda *_: None})
    with pytest.raises(LifecycleError, match='its function under `writers` has written none'):
        wrong.message({'best': 3})


@pytest.mark.parametrize(('rest', 'value', 'fault'), [
    ('reduce: median, window: 0.2', 1.0, ''), ('reduce: [norm, max], window: 1', 1.0, ''),
    ('reduce: rate, window: 1', 5.0, ''), ('reduce: std, window: 1', 0.0, ''),
    ('reduce: std, window: 1', 0.1, "do not have it as their 'std'"),
    ('reduce: sum, window: 1', 0.1, "do not have it as their 'sum'"),
    ('reduce: age', 0.1, 'is the age of the samples'),
])
def test_of_windows_only_those_that_keep_a_value_can_be_scripted(
    rest: str, value: float, fault: str
) -> None:
    (fact,) = messages(a=f'field: number, {rest}')._facts
    found = timing_fault(fact, value)
    assert (fault in found) if fault else found == ''


def test_json_keeps_what_is_there() -> None:
    topic = messages(a="field: 'text|json.arm.on'", b="field: 'text|json.arm.force'")
    message = topic.message({'a': True, 'b': 2.5})
    assert json.loads(message.text) == {'arm': {'on': True, 'force': 2.5}}
