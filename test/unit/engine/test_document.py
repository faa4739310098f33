# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""YAML documents: every fault has its place, and nothing loads by halves."""

from __future__ import annotations

from typing import Literal, Union

from action_lifecycle.documents.errors import DocumentError, LifecycleError
from action_lifecycle.documents.models import read_back, StrictModel, validate
from action_lifecycle.documents.yaml_document import parse_document, read_document
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field
import pytest
import yaml


def faults_of(text: str | bytes) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        parse_document(text, 'f.yaml')
    return [str(fault) for fault in caught.value.faults]


def test_scalars_follow_yaml_1_2() -> None:
    document = parse_document(
        'on: off\nno: [yes, 1:30, 1e3, 0x1f, "5", 012, .inf, null, true, 2026-01-01]\n', 'f')
    assert document.data == {
        'on': 'off',
        'no': ['yes', '1:30', 1000.0, 31, '5', 12, float('inf'), None, True, '2026-01-01'],
    }


def test_marks_point_at_each_entry() -> None:
    document = parse_document('a:\n  b:\n    - 1\n    - c: 2\n', 'f')
    assert document.mark(('a',)) == (1, 1)
    assert document.mark(('a', 'b', 1)) == (4, 7)
    assert document.mark(('a', 'b', 1, 'c')) == (4, 7)
    assert document.mark(('a', 'b', 7, 'x')) == (2, 3)


def test_all_duplicate_keys_are_reported_at_once() -> None:
    assert faults_of('a: 1\nb: {c: 1, c: 2}\na: 2\n') == [
        "f.yaml:2:11: duplicate key 'c', first in line 2",
        "f.yaml:3:1: duplicate key 'a', first in line 1",
    ]


def test_alias_to_nowhere_names_the_nearest_anchor() -> None:
    assert faults_of('a: &arm 1\nb: *arn\n') == [
        "f.yaml:2:4: alias '*arn' names no anchor; did you mean 'arm'?"]


def test_alias_inside_its_own_anchor_is_refused() -> None:
    assert 'inside its own anchor' in faults_of('a: &x [*x]\n')[0]


def test_merge_keys_keep_what_is_written_out() -> None:
    document = parse_document('d: &d {a: 1, b: 2}\ne:\n  <<: *d\n  b: 3\n', 'f')
    assert document.data['e'] == {'a': 1, 'b': 3}
    assert document.mark(('e', 'a')) == (1, 8)


def test_billion_laughs_is_refused_quickly() -> None:
    text = 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n' + ''.join(
        f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 10)}]\n' for i in range(1, 12))
    assert 'expands to more than' in faults_of(text)[0]


def test_deep_nesting_is_refused() -> None:
    assert 'nested deeper' in faults_of('[' * 100_000)[0]


def test_a_tab_is_named_as_such() -> None:
    assert faults_of('a:\n\tb: 1\n') == [
        'f.yaml:2:1: a tab indents this line; YAML indents with spaces']


def test_not_utf8_names_the_byte() -> None:
    assert faults_of(b'a: 1\nb: \xff\n') == ['f.yaml:2:4: byte 0xff is not valid UTF-8']


@pytest.mark.parametrize(('text', 'part'), [
    ('', 'is empty'),
    ('a: 1\n---\nb: 2\n', 'second document'),
    ('? [a]\n: 1\n', 'a key must be a plain text'),
    ('a: !!python/object:os.system x\n', 'unknown tag'),
    ('a: [1, 2\n', 'f.yaml:2:1'),
    ('a: \x07\n', 'f.yaml:1'),
    ('a: ' + '9' * 5000, 'more than 64 digits'),
])
def test_bad_text_has_a_place_and_a_reason(text: str, part: str) -> None:
    assert part in faults_of(text)[0]


QUOTE_IN_BRACES = "a text with '[', ']', '{', '}' or ',' must be put in quotes"


@pytest.mark.parametrize('parser', ['C', 'Python'])
@pytest.mark.parametrize(('text', 'fault'), [
    ('a:\n  goal: {{ x }}\n', "2:10: a template must be put in quotes: '{{ … }}'"),
    ('a:\n  x: {{ x }} m\n', "2:7: a template must be put in quotes: '{{ … }}'"),
    ("a: [{{ x['k'] }}, 1]\n", "1:6: a template must be put in quotes: '{{ … }}'"),
    ('a: {condition: norm(tool[0:2]) < 1}\n', f'1:25: inside {{…}} and […], {QUOTE_IN_BRACES}'),
    ('a: {b: x: 1}\n', "1:9: inside {…} and […], entries are separated by ',', and a text with "
     "': ' must be put in quotes"),
    ('a: {b: 1\nc: 2\n', "2:2: the '{' that is opened in line 1 is not closed"),
    ('a: Pick: the part\n', "1:8: a text with ': ' in it must be put in quotes"),
    ("a: 'done' == x\n", '1:11: the text goes on behind the closing quote: put all of it in '
     "quotes (a quote inside '…' is written twice)"),
    ("a: 'b\nc: 2\n", '1:4: the quote that is opened here is not closed'),
    ('a: @x\n', "1:4: a text that begins with '@' must be put in quotes"),
    ('a: & x\n', "1:4: a text that begins with '&' must be put in quotes"),
    ('a: > 3\n', "1:4: a text that begins with '>' must be put in quotes"),
    ('a: *x\n', "1:4: alias '*x' names no anchor; a text that begins with '*' must be put in "
     'quotes'),
    ('a: !x\n', "1:4: unknown tag '!x'; a text that begins with '!' must be put in quotes"),
    ('a:\n  b: 1\n   c: 2\n', '3:4: indented by 3 spaces, but line 2 above it, indented by 2, '
     'has a value already'),
    ('a:\n    b: 1\n  c: 2\n', '3:3: indented by 2 spaces, which fits no block: the one around '
     'it begins in line 1, indented by 0'),
    ('a:\n  - b\n  c: 1\n', "3:3: expected '-', as in the list that begins in line 2; indent "
     'this line less'),
    ('a:\n  b: 1\n  - c\n',
     "3:3: expected 'key: value', as in the mapping that begins in line 2"),
    ('a: - b\n', "1:4: a list whose entries begin with '-' must begin in a line of its own"),
    ('a:1\nb: 2\n', "1:1: a space must follow the ':' behind a key"),
    ('b: 2\na:1\n', "2:1: a space must follow the ':' behind a key"),
    ('a: {b: 1}}\n', "1:10: this '}' closes nothing"),
])
def test_usual_slips_are_told_with_their_cure(
    text: str, fault: str, parser: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if parser == 'Python':
        monkeypatch.setattr('action_lifecycle.documents.yaml_document._Loader', yaml.SafeLoader)
    assert faults_of(text) == [f'f.yaml:{fault}']


def test_a_comma_that_cuts_a_text_inside_braces_is_told() -> None:
    with pytest.raises(DocumentError) as caught:
        validate(parse_document('name: a\nstop: {speed: max(a, b) < 1}\n', 'f'), Robot)
    assert "unknown field 'b) < 1'; inside {…}, a text with ',' must be put in quotes" in str(
        caught.value)


def test_missing_file_and_oversized_file_are_named(tmp_path) -> None:
    with pytest.raises(DocumentError, match='nowhere.yaml:1:1: can not be read: No such file'):
        read_document(tmp_path / 'nowhere.yaml')
    (tmp_path / 'big.yaml').write_text('a: 1\n' * 100)
    with pytest.raises(DocumentError, match='larger than the limit of 50 bytes'):
        read_document(tmp_path / 'big.yaml', max_bytes=50)


@pytest.mark.long
def test_ten_megabytes_load_correctly() -> None:
    count = 200_000
    text = ''.join(f'key_{i}: [{i}, "some more text to fill"]\n' for i in range(count))
    assert len(text) > 8_000_000
    document = parse_document(text, 'f')
    assert len(document.data) == count
    assert document.mark((f'key_{count - 1}', 1))[0] == count


class Arm(StrictModel):
    speed: float
    joints: list[str] = []


class Robot(StrictModel):
    name: str
    arms: dict[str, Arm] = {}
    stop: Union[Literal['none'], Arm] = 'none'
    mode: Literal['wall', 'ros'] = 'ros'
    count: int = Field(1, ge=1)


def test_model_faults_come_all_at_once_with_marks_and_nearest_names() -> None:
    document = parse_document(
        'nane: x\narms:\n  left: {sped: 1}\n  right:\n    speed: fast\n', 'f')
    with pytest.raises(DocumentError) as caught:
        validate(document, Robot)
    text = str(caught.value)
    assert "f:1:1: unknown field 'nane'; did you mean 'name'?" in text
    assert "f:1:1: missing field 'name'" in text
    assert "f:3:10: unknown field 'sped'; did you mean 'speed'?" in text
    assert "f:3:3: missing field 'speed'" in text
    assert "f:5:5: field 'arms.right.speed'" in text and "got 'fast'" in text


@pytest.mark.parametrize(('line', 'fault'), [
    ('arms: [1]', "1: field 'arms': expected a mapping, got a list"),
    ('arms: {left: 2}', "8: field 'arms.left': expected a mapping, got 2"),
    ('arms: {left: {speed: 1, joints: a}}',
     "25: field 'arms.left.joints': expected a list, got 'a'"),
    ('arms: {left: {speed: 300ms}}', "15: field 'arms.left.speed': expected a number, got "
     "'300ms'; write seconds, without a unit: 0.3"),
    ('mode: wal', "1: field 'mode': expected one of 'wall', 'ros', got 'wal'; "
     "did you mean 'wall'?"),
    ('count: 0', "1: field 'count': expected at least 1, got 0"),
    ('stop: nne', "1: field 'stop': expected 'none' or a mapping, got 'nne'; "
     "did you mean 'none'?"),
    ('stop: {speed: true, joints: yes}', "21: field 'stop.joints': expected a list, got 'yes'"),
    ('stop: {sped: 1, speed: 1}',
     "8: unknown field 'sped'; did you mean 'speed'? (known: joints, speed)"),
])
def test_a_value_of_the_wrong_kind_is_one_fault_in_words_of_yaml(line: str, fault: str) -> None:
    with pytest.raises(DocumentError) as caught:
        validate(parse_document(f'name: a\n{line}\n', 'f'), Robot)
    assert str(caught.value) == f'f:2:{fault}'


def test_a_list_where_a_mapping_belongs_is_named() -> None:
    with pytest.raises(DocumentError, match='f:1:1: expected a mapping, got a list'):
        validate(parse_document('[1, 2]', 'f'), Robot)


def test_a_key_that_is_no_valid_text_is_refused_in_data_of_programs() -> None:
    with pytest.raises(LifecycleError, match='field'):
        read_back(Robot, {'a\ud800': 1})


values = st.recursive(
    st.none() | st.booleans() | st.integers(-10**9, 10**9) | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12)


@given(st.dictionaries(st.text(), values, max_size=5))
def test_what_yaml_writes_comes_back(data: dict) -> None:
    text = yaml.safe_dump(data, allow_unicode=True, default_style='"')
    assert parse_document(text, 'f').data == data


@given(st.text(alphabet='ab:-[]{}&*#!|>%@`\n\r\x85\u2028\x0c\t "\'?,<', max_size=60))
def test_any_text_loads_or_is_refused(text: str) -> None:
    try:
        parse_document(text, 'f')
    except DocumentError as error:
        assert error.faults
