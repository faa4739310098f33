# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The loader takes exactly the graphs that networkx, asked independently, calls sound."""

from __future__ import annotations

import json
from typing import Any

from action_lifecycle.engine import GraphError, load_graph
from hypothesis import event, given, settings
from hypothesis import strategies as st
import pytest

nx = pytest.importorskip('networkx')

NAMES = ['a', 'b', 'c', 'd', 'e', 'f']


@st.composite
def graphs(draw: Any) -> dict[str, Any]:
    """Draw a graph document; about half of them have something wrong."""
    names = NAMES[:draw(st.integers(1, len(NAMES)))]
    known = st.sampled_from(names)
    rarely_unknown = st.integers(0, 30).flatmap(lambda n: known if n else st.just('nowhere'))
    edge = st.fixed_dictionaries(
        {'event': st.sampled_from(['go', 'stop', 'turn', 'wait']),
         'from': rarely_unknown, 'to': rarely_unknown},
        optional={'cond': st.just('ready'), 'unless': st.just('late')})
    chain = [{'event': 'next', 'from': one, 'to': other}
             for one, other in zip(names, names[1:])] if draw(st.booleans()) else []
    document = {
        'initial': draw(rarely_unknown),
        'states': {name: {'final': draw(st.integers(0, 2)) == 0} for name in names},
        'transitions': chain + draw(st.lists(edge, max_size=10)),
        'invariants': draw(st.dictionaries(known, st.fixed_dictionaries(
            {'must_pass': known}, optional={'given': st.just(['late'])}), max_size=1)),
    }
    return document


def sound(document: dict[str, Any]) -> bool:
    states, edges = document['states'], document['transitions']
    if document['initial'] not in states:
        return False
    if any(edge['from'] not in states or edge['to'] not in states for edge in edges):
        return False
    unguarded = [(edge['from'], edge['event']) for edge in edges
                 if 'cond' not in edge and 'unless' not in edge]
    if len(unguarded) != len(set(unguarded)):
        return False
    graph = nx.DiGraph()
    graph.add_nodes_from(states)
    graph.add_edges_from((edge['from'], edge['to']) for edge in edges)
    if nx.descendants(graph, document['initial']) | {document['initial']} != set(states):
        return False
    finals = {name for name, state in states.items() if state['final']}
    if finals and not all(nx.descendants(graph, name) & finals or name in finals
                          for name in states):
        return False
    for target, invariant in document['invariants'].items():
        cut = nx.DiGraph()
        cut.add_nodes_from(states)
        cut.add_edges_from((edge['from'], edge['to']) for edge in edges
                           if not ('given' in invariant and 'unless' in edge))
        cut.remove_node(invariant['must_pass'])
        if (target in cut and document['initial'] in cut
                and nx.has_path(cut, document['initial'], target)):
            return False
    return True


@settings(max_examples=300)
@given(graphs())
def test_loader_takes_exactly_the_sound_graphs(document: dict[str, Any]) -> None:
    expected = sound(document)
    event(f'sound: {expected}')
    try:
        graph = load_graph(json.dumps(document), name='random.yaml')
    except GraphError as error:
        assert not expected, str(error)
    else:
        assert expected
        assert len(graph.transitions) == len(document['transitions'])


@settings(max_examples=100)
@given(graphs(), st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_path_is_as_short_as_that_of_networkx(
    document: dict[str, Any], source: str, target: str
) -> None:
    document['invariants'] = {}
    if not sound(document) or source not in document['states'] \
            or target not in document['states']:
        return
    graph = load_graph(json.dumps(document), name='random.yaml')
    oracle = nx.DiGraph((edge['from'], edge['to']) for edge in document['transitions'])
    oracle.add_nodes_from(document['states'])
    path = graph.path(source, target)
    if path is None:
        assert not nx.has_path(oracle, source, target)
    else:
        assert len(path) == nx.shortest_path_length(oracle, source, target)
