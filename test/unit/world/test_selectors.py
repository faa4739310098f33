# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Field paths: what they read from messages."""

from __future__ import annotations

import array
from typing import Any

from action_lifecycle.world.expressions.field_paths import parse_path, PathError
from action_lifecycle.world.expressions.functions import NoValue, Texts
from action_lifecycle.world.expressions.reducers import reduce_elements, reduce_window
from action_lifecycle.world.facts.arrays import Absent
from action_lifecycle.world.facts.selectors import compile_path
import numpy as np
import pytest

from . import messages
from .messages import Message


def read(path: str, message: Any, type_name: str = '') -> Any:
    return compile_path(path, type_name)[0](message)


JOINTS = messages.joints(1.0, shoulder=0.1, elbow=0.2, wrist=0.3)
POSES = Message(header=messages.header(2.0),
                poses=[messages.pose(1, 2, 3), messages.pose(4, 5, 6)])


@pytest.mark.parametrize(('path', 'expected'), [
    ('position[name=elbow]', 0.2),
    ('effort[name=wrist]', 3.0),
    ('position[1]', 0.2),
    ('position[-1]', 0.3),
    ('position', [0.1, 0.2, 0.3]),
    ('position[1:]', [0.2, 0.3]),
    ('position[::2]', [0.1, 0.3]),
    ('header.stamp', 1.0),
])
def test_joint_states(path: str, expected: Any) -> None:
    assert np.array_equal(read(path, JOINTS), expected)


@pytest.mark.parametrize(('path', 'expected'), [
    ('poses[1].position', [4, 5, 6]),
    ('poses[1].position.z', 6),
    ('poses[*].position.x', [1, 4]),
    ('poses[*].position', [[1, 2, 3], [4, 5, 6]]),
    ('poses[0]', [1, 2, 3, 0, 0, 0, 1]),
    ('poses[0].orientation', [0, 0, 0, 1]),
])
def test_messages_in_messages_are_vectors(path: str, expected: Any) -> None:
    assert np.array_equal(read(path, POSES), expected)


def test_a_joint_is_found_wherever_it_stands() -> None:
    reader = compile_path('position[name=b]', '')[0]
    assert reader(messages.joints(a=1.0, b=2.0)) == 2.0
    assert reader(messages.joints(b=3.0, a=1.0)) == 3.0
    assert reader(messages.joints(b=4.0)) == 4.0
    with pytest.raises(Absent):
        reader(messages.joints(a=1.0))
    with pytest.raises(Absent):  # names without values
        reader(Message(name=['b'], position=array.array('d')))


def test_an_element_is_found_by_a_field_and_has_its_own_stamp() -> None:
    message = messages.transforms(5.0, part=('world', (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0)))
    value, stamp = compile_path('transforms[child_frame_id=part].transform.translation', '')
    assert value(message).tolist() == [1, 2, 3]
    assert stamp(message) == 5.0
    by_frame, _ = compile_path('transforms[header.frame_id=world].transform.translation.y', '')
    assert by_frame(message) == 2.0
    with pytest.raises(Absent):
        read('transforms[child_frame_id=other].transform', message)


def test_arrays_are_not_copied() -> None:
    message = messages.scan([1.0, 2.0, 3.0])
    value = read('ranges', message)
    message.ranges[1] = 7.0
    assert value.tolist() == [1, 7, 3]


def test_a_message_without_a_stamp_has_none() -> None:
    _, stamp = compile_path('data', '')
    assert stamp(messages.flag(True)) is None
    assert stamp(Message(header=messages.header(0.0), data=1)) is None


def test_texts_and_lists_of_texts() -> None:
    assert read('data', messages.flag('abc')) == 'abc'
    assert read('name', JOINTS) == Texts(['shoulder', 'elbow', 'wrist'])


def cloud(points: np.ndarray[Any, Any], **changes: Any) -> Message:
    fields = [Message(name=name, offset=4 * place, datatype=7, count=1)
              for place, name in enumerate('xyz')]
    data = array.array('B', points.astype('<f4').tobytes())
    values = {'header': messages.header(3.0), 'height': 1, 'width': len(points), 'fields': fields,
              'is_bigendian': False, 'point_step': 12, 'row_step': 12 * len(points),
              'data': data, 'is_dense': True, **changes}
    return Message(**values)


def test_a_cloud_is_read_by_the_name_of_its_field() -> None:
    points = np.arange(12.0).reshape(4, 3)
    kind = 'sensor_msgs/msg/PointCloud2'
    assert read('data.z', cloud(points), kind).tolist() == [2, 5, 8, 11]
    assert read('data.x[1:3]', cloud(points), kind).tolist() == [3, 6]
    organized = cloud(points, height=2, width=2, row_step=24)
    assert read('data.y', organized, kind).tolist() == [[1, 4], [7, 10]]
    with pytest.raises(Absent, match='no field'):
        read('data.intensity', cloud(points), kind)
    for changes in ({'width': 400}, {'width': 10 ** 9, 'point_step': 0}):
        with pytest.raises(Absent, match='less data than points'):
            read('data.z', cloud(points, **changes), kind)
    with pytest.raises(Absent, match='does not fit'):
        read('data.z', cloud(points, height=2, width=2, row_step=48), kind)
    assert read('data.z', cloud(points, width=0), kind).size == 0


def image(pixels: np.ndarray[Any, Any], encoding: str, step: int = 0) -> Message:
    height, width = pixels.shape[:2]
    rows = pixels.reshape(height, -1).view('u1')
    padded = np.zeros((height, step or rows.shape[1]), 'u1')
    padded[:, :rows.shape[1]] = rows
    return Message(header=messages.header(1.0), height=height, width=width, encoding=encoding,
                   is_bigendian=0, step=padded.shape[1],
                   data=array.array('B', padded.tobytes()))


def test_an_image_has_rows_columns_and_channels() -> None:
    kind = 'sensor_msgs/msg/Image'
    gray = np.arange(12, dtype='u1').reshape(3, 4)
    assert read('data', image(gray, 'mono8', step=8), kind).tolist() == gray.tolist()
    assert read('data[0:2, 1:3]', image(gray, 'mono8'), kind).tolist() == [[1, 2], [5, 6]]
    depth = np.array([[0.5, 1.5]], dtype='f4')
    assert read('data[0, 1]', image(depth, '32FC1'), kind) == 1.5
    color = np.arange(12, dtype='u1').reshape(2, 2, 3)
    assert read('data[:, :, 0]', image(color, 'rgb8'), kind).tolist() == [[0, 3], [6, 9]]
    with pytest.raises(Absent, match='encoding'):
        read('data', image(gray, 'bayer?'), kind)


@pytest.mark.parametrize(('kind', 'path'), [
    ('sensor_msgs/msg/Image', 'data[name=elbow,a]'), ('sensor_msgs/msg/Image', 'data[0].x'),
    ('sensor_msgs/msg/Image', 'data|number'), ('sensor_msgs/msg/PointCloud2', 'data.x[name=a]'),
    ('sensor_msgs/msg/PointCloud2', 'data.x.y')])
def test_points_and_pixels_are_selected_by_index_only(kind: str, path: str) -> None:
    with pytest.raises(PathError, match='points or pixels; expected an index or a slice'):
        compile_path(path, kind)


@pytest.mark.parametrize(('name', 'values', 'expected'), [
    ('min', [3.0, 1.0, 2.0], 1.0), ('max', [3, 1, 2], 3), ('mean', [1.0, 2.0], 1.5),
    ('median', [5.0, 1.0, 2.0], 2.0), ('norm', [3.0, 4.0], 5.0), ('std', [1.0, 3.0], 1.0),
    ('sum', [1, 2], 3), ('any', [False, True], True),
    ('all', [True, False], False), ('min', [float('nan'), 2.0], 2.0),
    ('min', [float('nan')], None), ('mean', [], None), ('any', [], False),
    ('min', [1.0, float('inf')], 1.0),
])
def test_reducers_of_elements(name: str, values: list[Any], expected: Any) -> None:
    assert reduce_elements(name, np.array(values)) == expected


def test_elements_are_counted_not_numbers() -> None:
    count, _ = compile_path('poses', '', count=True)
    assert count(POSES) == 2 and count(Message(poses=[])) == 0
    assert compile_path('name', '', count=True)[0](JOINTS) == 3
    assert compile_path('data.x', 'sensor_msgs/msg/PointCloud2', count=True)[0](
        cloud(np.zeros((5, 3)))) == 5


def test_reducers_of_a_window_work_element_by_element() -> None:
    samples = [np.array([1.0, 5.0]), np.array([3.0, 1.0])]
    assert reduce_window('mean', samples).tolist() == [2.0, 3.0]
    assert reduce_window('max', [1.0, 4.0, 2.0]) == 4.0
    assert reduce_window('all', [True, True]) is True
    assert reduce_window('count', samples) == 2
    assert reduce_window('mean', []) is None
    assert reduce_window('mean', [np.zeros(2), np.zeros(3)]) is None


class Status(Message):
    """A message with constants, as rosidl generates them."""

    OK, ERROR = b'\x00', b'\x02'


def detection(*results: tuple[str, float]) -> Message:
    return Message(results=[Message(hypothesis=Message(class_id=name, score=score))
                            for name, score in results], id=str(len(results)))


DETECTIONS = Message(detections=[
    detection(), detection(('plate', 0.5), ('cup', 0.4)), detection(('cup', 0.75))])
DIAGNOSTICS = Message(status=[
    Status(name='left', level=b'\x00', values=[Message(key='voltage', value='24.5 V')]),
    Status(name='right', level=b'\x02', values=[
        Message(key='on', value='true'), Message(key='voltage', value='23')])])


@pytest.mark.parametrize(('path', 'expected'), [
    ('detections[results[0].hypothesis.class_id=cup].id', '1'),
    ('detections[results[*].hypothesis.class_id=cup].id', '2'),
    ('detections[results[1].hypothesis.class_id=cup].results[1].hypothesis.score', 0.4),
])
def test_an_element_is_found_by_a_field_deep_in_it(path: str, expected: Any) -> None:
    assert read(path, DETECTIONS) == expected


def test_no_element_with_a_field_deep_in_it_is_no_sample() -> None:
    with pytest.raises(Absent, match=r"no element with results\[0\].*'fork'"):
        read('detections[results[0].hypothesis.class_id=fork].id', DETECTIONS)


@pytest.mark.parametrize(('path', 'expected'), [
    ('detections[*].results[*].hypothesis.score', [0.5, 0.4, 0.75]),
    ('detections[*].results[0].hypothesis.score', [0.5, 0.75]),
    ('detections[*].results[hypothesis.class_id=cup].hypothesis.score', [0.4, 0.75]),
])
def test_lists_of_different_length_are_put_one_after_the_other(path: str, expected: Any) -> None:
    assert read(path, DETECTIONS).tolist() == expected
    assert compile_path(path, '', count=True)[0](DETECTIONS) == len(expected)


def test_inner_arrays_are_put_one_after_the_other_and_need_one_length_otherwise() -> None:
    message = Message(lists=[Message(values=array.array('d', [1, 2])),
                             Message(values=array.array('d', [3]))])
    assert read('lists[*].values[*]', message).tolist() == [1, 2, 3]
    with pytest.raises(NoValue, match='different lengths'):
        read('lists[*].values', message)
    assert read('lists[*].values[0]', message).tolist() == [1, 3]


@pytest.mark.parametrize(('path', 'expected'), [
    ('position[name=wrist,shoulder]', [0.3, 0.1]),
    ('position[name="wrist", \'elbow\']', [0.3, 0.2]),
    ('position[name="elbow"]', 0.2),
])
def test_several_joints_are_read_in_the_order_of_the_path(path: str, expected: Any) -> None:
    assert np.array_equal(read(path, JOINTS), expected)


def test_one_missing_joint_of_several_is_no_sample() -> None:
    with pytest.raises(Absent, match="no name 'thumb'"):
        read('position[name=wrist,thumb]', JOINTS)


def test_several_messages_are_read_together_and_are_as_old_as_the_oldest() -> None:
    message = messages.transforms(5.0, a=('w', (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0)),
                                  b=('w', (4.0, 5.0, 6.0), (0.0, 0.0, 0.0, 1.0)))
    message.transforms[0].header = messages.header(4.0)
    value, stamp = compile_path('transforms[child_frame_id=b,a].transform.translation', '')
    assert value(message).tolist() == [[4, 5, 6], [1, 2, 3]]
    assert stamp(message) == 4.0


def test_bytes_are_numbers_and_are_found_by_the_name_of_their_constant() -> None:
    assert read('status[1].level', DIAGNOSTICS) == 2
    assert read('status[*].level', DIAGNOSTICS).tolist() == [0, 2]
    assert read('status[level=ERROR].name', DIAGNOSTICS) == 'right'
    assert read('status[level=2].name', DIAGNOSTICS) == 'right'
    with pytest.raises(Absent):
        read('status[level=WARN].name', DIAGNOSTICS)


@pytest.mark.parametrize(('path', 'expected'), [
    ('status[name=left].values[key=voltage].value|number', 24.5),
    ('status[*].values[key=voltage].value|number', [24.5, 23.0]),
])
def test_a_number_is_read_from_a_string(path: str, expected: Any) -> None:
    assert np.array_equal(read(path, DIAGNOSTICS), expected)


@pytest.mark.parametrize(('text', 'number'), [
    ('1', 1.0), (' -2.5e3 ', -2500.0), ('.5', 0.5), ('85%', 85.0), ('31 \u00b0C', 31.0),
    ('9.81 m/s2', 9.81), ('', None), ('open', None), ('12:30', None), ('1,5', None),
    ('5 of 10', None), ('nan', None), ('0x10', None)])
def test_a_string_that_is_more_than_a_number_and_a_unit_has_no_value(
    text: str, number: float | None,
) -> None:
    if number is not None:
        assert read('data|number', messages.flag(text)) == number
        return
    with pytest.raises(NoValue, match='is not a number, with or without a unit'):
        read('data|number', messages.flag(text))


JSON = messages.flag('{"battery": {"level": 0.5, "volt": "24 V", "_on": true}, "cells": '
                     '[{"id": 1, "t": 20.5}, {"id": 7, "t": 21}], "off": null}')


@pytest.mark.parametrize(('path', 'expected'), [
    ('data|json.battery.level', 0.5), ('data|json.battery._on', True),
    ('data|json.battery.volt|number', 24.0), ('data|json.cells[*].t', [20.5, 21.0]),
    ('data|json.cells[id=7].t', 21), ('data|json.cells[-1].id', 7),
])
def test_json_in_a_string_is_read_by_its_keys(path: str, expected: Any) -> None:
    assert np.array_equal(read(path, JSON), expected)


@pytest.mark.parametrize(('path', 'error'), [
    ('data|json.nothing', Absent), ('data|json.battery.level.more', Absent),
    ('data|json.cells[5].t', Absent), ('data|json.cells.t', Absent),
    ('data|json.battery[0]', Absent), ('data|json.off', NoValue), ('data|json.battery', NoValue),
])
def test_json_without_what_the_path_selects_has_no_value(path: str, error: type) -> None:
    with pytest.raises(error):
        read(path, JSON)


def test_a_string_that_is_no_json_has_no_value() -> None:
    for text in ('{', '[1, 2', '1' * 100):
        with pytest.raises(NoValue, match='the string'):
            read('data|json.a', messages.flag(text))


def test_a_message_of_numbers_and_others_has_no_value() -> None:
    bead = Message(header=messages.header(1.0), color='red', x=1.0)
    with pytest.raises(NoValue, match='fields are not all numbers'):
        read('beads[0]', Message(beads=[bead]))
    assert read('beads[0].x', Message(beads=[bead])) == 1.0


@pytest.mark.parametrize(('path', 'words', 'column'), [
    ('a[b=c', "'[' is not closed", 2), ('a[b[0]=c', "'[' is not closed", 2),
    ('a|nmber', "expected '|number' or '|json'; did you mean 'number'?", 3),
    ('a|number.b', "nothing follows '|number'", 9), ('a|json.', 'expected the name of a field', 8),
    ('a[x=b,]', "a value is missing in 'x=b,'", 3), ('a[1.5]', 'neither an index', 3),
    ('a' * 501, 'at most 500', 1), ('a[b[=1]', "'[' is not closed", 2),
    ('a b', "expected '.', '[' or '|'", 2)])
def test_a_path_that_can_not_be_read_says_where(path: str, words: str, column: int) -> None:
    with pytest.raises(PathError) as caught:
        parse_path(path)
    assert words in str(caught.value) and caught.value.column == column
