# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The SVG of a flow: a box for each action, and of changes only what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
import xml.etree.ElementTree as ElementTree

from action_lifecycle.report.looks import LOOKS
from action_lifecycle.viewer.graph.cells import DETAIL_WIDTH, fitting, group_look
from action_lifecycle.viewer.graph.drawing import Drawing
from action_lifecycle.viewer.graph.style import graph_style
from action_lifecycle.viewer.record.shown import Node, Shown
from hypothesis import example, given, settings
from hypothesis import strategies as st
import pytest

SVG = '{http://www.w3.org/2000/svg}'
NODES = {'a': Node('a', 'open <it> & "well"', 'motion', True),
         'b': Node('b', kind='flow', after={'a': 'completion'}),
         'b/c': Node('b/c', group='b'), 'b/d': Node('b/d', group='b', after={'b/c': ''})}
HOSTILE = st.text(st.one_of(
    st.characters(exclude_categories=('Cs',)),
    st.sampled_from('<>&"\'`${}]\x00\x1b\u202e\u2028\ufffe')), min_size=1, max_size=40) | \
    st.sampled_from(['<img src=x onerror=alert(1)>', ']]></style><script>', '${7*7}', 'x' * 10_000,
                     '\u202egnp.exe', '"onload="alert(1)'])


def states(**shown: Shown) -> Mapping[str, Shown]:
    return {path.replace('__', '/'): state for path, state in shown.items()}


def look_up(known: Mapping[str, Shown], path: str) -> Shown:
    return known.get(path, Shown())


def drawing(nodes: Mapping[str, Node] = NODES, known: Mapping[str, Shown] | None = None,
            **options: object) -> Drawing:
    return Drawing(nodes, partial(look_up, known or {}), **options)  # type: ignore[arg-type]


def parsed(text: str) -> dict[str, ElementTree.Element]:
    """Return the boxes of an SVG by path; fails if it is not well-formed."""
    root = ElementTree.fromstring(text)
    return {group.get('data-path', group.get('id', '')): group for group in root.iter(f'{SVG}g')
            if 'box' in group.get('class', '').split()}


def test_each_action_has_a_box_with_its_state() -> None:
    known = states(a=Shown('terminated', 'failed', 2), b=Shown('in_progress'),
                   b__c=Shown('terminated', 'succeeded'))
    boxes = parsed(drawing(known=known).svg('Flow f'))
    assert list(boxes) == ['b', 'a', 'b/c', 'b/d']  # frames are behind the others
    assert boxes['a'].get('class') == f'box {LOOKS["failed"].css}'
    assert boxes['b'].get('class') == f'box frame {LOOKS["in_progress"].css} active'
    assert boxes['a'].get('role') == 'button' and boxes['a'].get('tabindex') == '0'
    assert boxes['a'].get('aria-label') == 'a, failed'
    texts = [text.text for text in boxes['a'].iter(f'{SVG}text')]
    assert texts == ['a', 'motion · failed · try 2']
    assert boxes['a'].find(f'{SVG}title').text == 'a: open <it> & "well"'
    assert boxes['a'].find(f'{SVG}path').get('d') == LOOKS['failed'].symbol
    assert '1/2' in [text.text for text in boxes['b'].iter(f'{SVG}text')][1]


def test_edges_join_boxes_and_say_what_they_wait_for() -> None:
    root = ElementTree.fromstring(drawing().svg('f'))
    drawn = drawing()
    ids = {box.item.key: box.id for box in drawn.boxes}
    edges = {(edge.get('data-from'), edge.get('data-to')): edge.get('class')
             for edge in root.iter(f'{SVG}path') if edge.get('data-from')}
    assert edges == {(ids['a'], ids['b']): 'edge if', (ids['b/c'], ids['b/d']): 'edge'}
    labels = [text.text for text in root.iter(f'{SVG}text') if text.get('class') == 'edge-label']
    assert labels == ['completion']


def test_boxes_of_a_nested_flow_are_within_its_frame() -> None:
    boxes = {box.item.key: box for box in drawing().boxes}
    (x, y), (width, height) = boxes['b'].place, boxes['b'].size
    for path in ('b/c', 'b/d'):
        (left, top), (wide, high) = boxes[path].place, boxes[path].size
        assert x < left and left + wide < x + width and y < top and top + high < y + height


def test_changes_are_those_of_the_boxes_that_show_them() -> None:
    drawn = drawing()
    ids = {box.item.key: box.id for box in drawn.boxes}
    before = {box.id: drawn.cell(box) for box in drawn.boxes}
    known = states(b__c=Shown('terminated', 'failed'))
    paths, boxes = drawn.take(partial(look_up, known), ['b/c', 'b/d', 'removed'])
    assert (paths, boxes) == ({'b/c'}, {ids['b'], ids['b/c']})
    changed = {box.item.key for box in drawn.boxes if drawn.cell(box) != before[box.id]}
    assert changed == {'b', 'b/c'}
    assert 'failed' in drawn.cell(drawn.by_id[ids['b']]).detail
    assert drawn.looks == {'waiting': 3, 'failed': 1}
    assert drawn.take(partial(look_up, known)) == (set(), set())
    assert drawn.take(partial(look_up, {}))[0] == {'b/c'}  # an earlier moment


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(list(NODES)), st.sampled_from(
    [Shown('in_progress'), Shown('terminated', 'succeeded'), Shown(waits_for='arm is locked'),
     Shown('terminated', 'failed'), Shown()])), max_size=20), st.booleans())
def test_taking_changes_gives_what_drawing_anew_gives(
    changes: list[tuple[str, Shown]], is_open: bool
) -> None:
    drawn = drawing(opened={'b': is_open})
    known: dict[str, Shown] = {}
    for path, shown in changes:
        known[path] = shown
        drawn.take(partial(look_up, known), [path])
    anew = drawing(known=known, opened={'b': is_open})
    assert drawn.svg('f') == anew.svg('f')
    assert +drawn.looks == +anew.looks


@settings(max_examples=80, deadline=None)
@given(HOSTILE, HOSTILE, HOSTILE)
@example('\ufffe', '\uffff', '\x01')  # no characters of XML
def test_names_and_texts_of_others_are_text(name: str, text: str, reason: str) -> None:
    nodes = {name: Node(name, text, text), 'other': Node('other', after={name: text})}
    drawn = drawing(nodes, {name: Shown('assigned', waits_for=reason)})
    root = ElementTree.fromstring(drawn.svg(text))  # well-formed
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {'svg', 'defs', 'marker', 'path', 'g', 'title', 'rect', 'text'}
    assert not any(key.startswith('on') for element in root.iter() for key in element.attrib)
    for element in root.iter(f'{SVG}text'):
        assert len(element.text or '') <= 30


def test_groups_show_first_what_people_must_see() -> None:
    assert group_look({'waiting': 3}).name == 'waiting'
    assert group_look({'waiting': 3, 'succeeded': 1, 'failed': 0}).name == 'in_progress'
    assert group_look({'succeeded': 3, 'failed': 1}).name == 'failed'
    assert group_look({'succeeded': 3, 'skipped': 1}).name == 'succeeded'
    assert group_look({'executing_motion': 3, 'pending': 1}).name == 'pending'
    assert group_look({}).name == 'waiting'


@pytest.mark.parametrize('dark', ['.body--dark', ''])
def test_the_style_has_both_modes(dark: str) -> None:
    style = graph_style(dark)
    assert 'DARK' not in style and style.count('{') == style.count('}')
    assert ('@media (prefers-color-scheme:dark)' in style) is (not dark)


@pytest.mark.parametrize(('text', 'most'), [
    ('W' * 50, 13), ('\u4e16' * 50, 13), ('i' * 50, 43), ('pick_and_place_part_of_the_lid', 23)])
def test_a_text_that_is_too_long_for_its_box_is_cut_by_its_width(text: str, most: int) -> None:
    cut = fitting(text, 13.0)
    assert cut.endswith('…') and cut[:-1] == text[:len(cut) - 1] and most - 2 <= len(cut) <= most
    assert fitting(cut, 13.0) == cut
    assert fitting('pick', 13.0) == 'pick' and fitting('', 1.0) == ''


def test_the_usual_details_fit() -> None:
    for detail in ('motion · succeeded · try 2 ⚠', 'motion · executing · try 2',
                   'call · confirming'):
        assert fitting(detail, DETAIL_WIDTH) == detail
