# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Labels from a CSV file: clear errors, nothing half read."""

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.fit.labels import read_labels
from action_lifecycle.traces import TraceKey
from hypothesis import given
from hypothesis import strategies as st
import pytest

KNOWN = {TraceKey('grip-1', 'grasp', 1), TraceKey('grip-1', 'grasp', 2),
         TraceKey('grip-2', 'grasp', 1)}
HEAD = 'flow_id,action_id,attempt,there\n'


def read(tmp_path, text):
    path = tmp_path / 'labels.csv'
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_labels(str(path), KNOWN)


def test_labels_are_read_in_any_order_of_columns(tmp_path):
    found = read(tmp_path, 'note,there,attempt,action_id,flow_id\nx,true,1,grasp,grip-1\n'
                           '"a, b",False,2,grasp,grip-1\n\nx,TRUE,1,grasp,grip-1\n')
    assert {key.attempt: label.there for key, label in found.items()} == {1: True, 2: False}
    assert {label.source for label in found.values()} == {'file'}


@pytest.mark.parametrize('text, said', [
    ('', r'labels.csv:1:1: expected the columns .* not so: flow_id, action_id, attempt, there'),
    ('flow_id,action_id,there\n', r'not so: attempt \(found: flow_id, action_id, there\)'),
    (HEAD + 'grip-1,grasp,1\n', r'labels.csv:2:1: 3 fields, expected 4'),
    (HEAD + 'grip-1,grasp,one,true\n', r"labels.csv:2:1: attempt 'one': expected a number"),
    (HEAD + 'grip-1,grasp,1,maybe\n', r"labels.csv:2:1: there 'maybe': expected true or false"),
    (HEAD + 'grip-9,grasp,1,true\n', r"labels.csv:2:1: flow 'grip-9' has no confirmation"),
    (HEAD + 'grip-1,grsp,1,true\n', r"action 'grsp' .*did you mean 'grasp'"),
    (HEAD + 'grip-1,grasp,7,true\n', r'grip-1/grasp, attempt 7 has no confirmation'),
    (HEAD + 'grip-1,grasp,1,true\n\ngrip-1,grasp,1,false\n',
     r'labels.csv:4:1: grip-1/grasp, attempt 1 is false here, but true in line 2'),
    (b'\xff\xfe\x00', r'labels.csv:1:1: can not be read as CSV'),
])
def test_bad_files_are_refused_with_their_lines(tmp_path, text, said):
    with pytest.raises(DocumentError, match=said):
        read(tmp_path, text)


def test_all_faults_are_reported_at_once(tmp_path):
    with pytest.raises(DocumentError) as error:
        read(tmp_path, HEAD + 'grip-1,grasp,x,true\ngrip-1,grasp,1,?\ngrip-1,grasp,2,true\n')
    assert [fault.line for fault in error.value.faults] == [2, 3]


@given(st.binary(max_size=200))
def test_any_content_gives_labels_or_a_document_error(tmp_path_factory, content):
    try:
        found = read(tmp_path_factory.mktemp('labels'), HEAD.encode() + content)
    except DocumentError:
        return
    assert found.keys() <= KNOWN
