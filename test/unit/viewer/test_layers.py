# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The layout of graphs: nothing overlaps, edges go down, equal input has equal output."""

from __future__ import annotations

from itertools import combinations
import random
import time

from action_lifecycle.viewer.graph.layers import arrange, GAP_X, GAP_Y, Layout, MIN_COLUMNS
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

Graph = tuple[dict[str, tuple[float, float]], list[tuple[str, str]]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Return the sizes of boxes, and edges without cycles, in any order."""
    count = draw(st.integers(1, 40))
    names = draw(st.permutations([f'n{index}' for index in range(count)]))
    size = st.tuples(st.sampled_from([40.0, 200.0, 333.3]), st.sampled_from([20.0, 46.0, 300.0]))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
        lambda pair: pair[0] < pair[1])
    edges = draw(st.lists(pairs, max_size=3 * count)) if count > 1 else []
    return ({name: draw(size) for name in sorted(names)},
            [(names[source], names[target]) for source, target in edges])


def boxes_of(sizes: dict[str, tuple[float, float]], found: Layout) -> list[tuple[float, ...]]:
    return [(*found.places[name], found.places[name][0] + sizes[name][0],
             found.places[name][1] + sizes[name][1]) for name in sizes]


@settings(max_examples=80, deadline=None)
@given(graphs())
def test_boxes_do_not_overlap_and_edges_go_down(graph: Graph) -> None:
    sizes, edges = graph
    found = arrange(sizes, edges)
    boxes = boxes_of(sizes, found)
    for one, other in combinations(boxes, 2):
        across = max(one[0], other[0]) - min(one[2], other[2])
        along = max(one[1], other[1]) - min(one[3], other[3])
        assert across >= GAP_X - 0.2 or along >= GAP_Y - 0.2
    for left, top, right, bottom in boxes:
        assert left >= -0.1 and right <= found.width + 0.1
        assert top >= 0 and bottom <= found.height + 0.1
    assert set(found.routes) == set(edges)
    for (source, target), points in found.routes.items():
        (x, y), (width, height) = found.places[source], sizes[source]
        assert points[0] == pytest.approx((x + width / 2, y + height))
        (x, y), (width, _) = found.places[target], sizes[target]
        assert points[-1] == pytest.approx((x + width / 2, y))
        assert all(one[1] <= other[1] for one, other in zip(points, points[1:]))
        assert points[0][1] < points[-1][1]
        assert all(-0.1 <= x <= found.width + 0.1 for x, _ in points)


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_edges_pass_no_box(graph: Graph) -> None:
    """In the layers between, edges are vertical lines; they pass beside the boxes there."""
    sizes, edges = graph
    found = arrange(sizes, edges)
    boxes = dict(zip(sizes, boxes_of(sizes, found)))
    for (source, target), points in found.routes.items():
        for (x0, y0), (x1, y1) in zip(points, points[1:]):
            if x0 == x1:
                for name, (left, top, right, bottom) in boxes.items():
                    inside = left < x0 < right and max(y0, top) < min(y1, bottom)
                    assert not inside or name in (source, target)


@settings(max_examples=40, deadline=None)
@given(graphs(), st.randoms())
def test_equal_input_has_equal_output(graph: Graph, chance: random.Random) -> None:
    sizes, edges = graph
    found = arrange(sizes, edges)
    assert arrange(dict(sizes), list(edges)) == found
    assert arrange(sizes, edges + edges[:2]) == found  # told twice


def test_a_chain_is_a_straight_line() -> None:
    names = [f'n{index}' for index in range(9)]
    found = arrange(dict.fromkeys(names, (200.0, 46.0)), list(zip(names, names[1:])))
    assert {x for x, _ in found.places.values()} == {0.0}
    assert [found.places[name][1] for name in names] == [at * (46 + GAP_Y) for at in range(9)]


def test_a_diamond_is_symmetric_and_crosses_nothing() -> None:
    found = arrange(dict.fromkeys('abcd', (100.0, 40.0)),
                    [('a', 'b'), ('a', 'c'), ('b', 'd'), ('c', 'd')])
    x = {name: place[0] for name, place in found.places.items()}
    assert x['a'] == x['d'] == (x['b'] + x['c']) / 2


def test_orders_are_chosen_that_cross_less() -> None:
    """Pairs in the opposite order of their partners, which would cross in the order given."""
    found = arrange(dict.fromkeys('abcxyz', (100.0, 40.0)), [('a', 'z'), ('b', 'y'), ('c', 'x')])
    x = {name: place[0] for name, place in found.places.items()}
    assert [x['a'], x['b'], x['c']] == [x['z'], x['y'], x['x']]


def test_independent_boxes_form_rows() -> None:
    found = arrange({f'n{index:03}': (200.0, 46.0) for index in range(100)}, [])
    tops = [top for _, top in found.places.values()]
    assert len(set(tops)) > 5 and max(map(tops.count, tops)) <= max(MIN_COLUMNS, 10)


@pytest.mark.parametrize(('edges', 'drawn'), [
    ([('a', 'b'), ('b', 'c'), ('c', 'a')], 2), ([('a', 'a')], 0), ([('a', 'x'), ('x', 'b')], 0)])
def test_what_is_no_graph_without_cycles_is_drawn_as_far_as_it_goes(
    edges: list[tuple[str, str]], drawn: int
) -> None:
    found = arrange(dict.fromkeys('abc', (10.0, 10.0)), edges)
    assert len(found.places) == 3 and len(found.routes) == drawn
    assert arrange({}, edges) == Layout()


def test_large_graphs_are_laid_out_soon() -> None:
    chance = random.Random(1)
    names = [f'n{index}' for index in range(2000)]
    edges = [(names[chance.randrange(max(0, index - 60), index)], names[index])
             for index in range(1, 2000) for _ in range(2)]
    edges += [(names[0], name) for name in names[100::50]]
    sizes = dict.fromkeys(names, (200.0, 46.0))
    began = time.process_time()
    arrange(sizes, edges)
    assert time.process_time() - began < 0.5
