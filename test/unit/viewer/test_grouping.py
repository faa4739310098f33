# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Groups of a flow's actions: none is lost, no cycle arises, not too much is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import random
import time

from action_lifecycle.viewer.graph.grouping import ACTION, grouped, Item
from action_lifecycle.viewer.record.shown import Node
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest


@st.composite
def flows(draw: st.DrawFn) -> dict[str, Node]:
    """Return the actions of a flow in topological order, some of them with nested flows."""
    nodes: dict[str, Node] = {}

    def level(prefix: str, group: str, depth: int) -> None:
        names = [f'{prefix}n{index}' for index in range(draw(st.integers(1, 12)))]
        for index, name in enumerate(names):
            after = draw(st.lists(st.sampled_from(names[:index]), max_size=3, unique=True)) \
                if index else []
            nodes[name] = Node(name, group=group, after={
                other: draw(st.sampled_from(['', 'completion'])) for other in after})
            if depth < 2 and draw(st.integers(0, 6)) == 0:
                level(f'{name}/', name, depth + 1)

    level('', '', 0)
    return nodes


def all_items(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        yield item
        yield from all_items(item.inner)


def shown(items: Sequence[Item]) -> int:
    return len(items) + sum(shown(item.inner) for item in items if item.open)


def ends(items: Sequence[Item]) -> bool:
    """Return whether the graph of one level has no cycle."""
    left = {item.key: set(item.after) for item in items}
    while free := [key for key, after in left.items() if not after & set(left)]:
        for key in free:
            del left[key]
    return not left


@settings(max_examples=100, deadline=None)
@given(flows(), st.integers(4, 12))
def test_each_action_is_in_one_place_of_a_graph_without_cycles(
    nodes: Mapping[str, Node], limit: int
) -> None:
    items = grouped(nodes, limit=limit)
    found = list(all_items(items))
    actions = [item.key for item in found if item.kind == ACTION]
    assert sorted(actions) == sorted(nodes)
    assert sorted(path for item in items for path in item.actions()) == sorted(nodes)
    assert len({item.key for item in found}) == len(found)
    for level in (items, *(item.inner for item in found)):
        keys = {item.key for item in level}
        assert all(set(item.after) <= keys - {item.key} for item in level)
        assert ends(level)
        assert len(level) <= limit


@settings(max_examples=60, deadline=None)
@given(flows(), st.integers(4, 12))
def test_what_waits_for_what_is_kept(nodes: Mapping[str, Node], limit: int) -> None:
    """Each dependency is an edge between the items that hold its ends in the innermost level."""
    items = grouped(nodes, limit=limit)
    holders: dict[str, list[Item]] = {}

    def walk(level: Sequence[Item], above: list[Item]) -> None:
        for item in level:
            for path in [item.key] if item.kind == ACTION else []:
                holders[path] = [*above, item]
            walk(item.inner, [*above, item])

    walk(items, [])
    for path, node in nodes.items():
        for other, label in node.after.items():
            one, two = next((one, two) for one, two in zip(holders[other], holders[path])
                            if one is not two)
            assert one.key in two.after
            if one.kind == two.kind == ACTION:
                assert two.after[one.key] == label


def test_small_flows_are_shown_as_they_are() -> None:
    nodes = {'a': Node('a'), 'b': Node('b', after={'a': 'completion'}),
             'b/c': Node('b/c', group='b'), 'b/d': Node('b/d', group='b', after={'b/c': ''})}
    a, b = grouped(nodes)
    assert (a.key, a.after, a.inner) == ('a', {}, [])
    assert (b.key, b.after, b.open) == ('b', {'a': 'completion'}, True)
    assert [(item.key, item.after) for item in b.inner] == [('b/c', {}), ('b/d', {'b/c': ''})]
    assert not grouped(nodes, {'b': False})[1].open


def made(kind: str, count: int) -> dict[str, Node]:
    chance = random.Random(1)
    nodes = {}
    for index in range(count):
        before = {
            'chain': [index - 1], 'parallel': [], 'chains': [index - 100],
            'random': [chance.randrange(max(0, index - 60), max(index, 1)) for _ in range(2)],
        }[kind]
        nodes[f'n{index}'] = Node(f'n{index}', after={
            f'n{other}': '' for other in before if 0 <= other < index})
    return nodes


@pytest.mark.parametrize('kind', ['chain', 'parallel', 'chains', 'random'])
def test_ten_thousand_actions_are_grouped_soon(kind: str) -> None:
    nodes = made(kind, 10_000)
    began = time.process_time()
    items = grouped(nodes)
    assert time.process_time() - began < 2.0
    assert 10 < shown(items) <= 400
    assert sum(1 for item in all_items(items) if item.kind == ACTION) == 10_000


def test_what_people_open_is_open() -> None:
    nodes = made('parallel', 10_000)
    first = grouped(nodes)[0]
    assert first.inner and not first.open
    items = grouped(nodes, {first.key: True})
    assert items[0].open and not items[1].open
