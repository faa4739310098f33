# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The checks of flows that actions run, before anything starts."""

from __future__ import annotations

from pathlib import Path

from action_lifecycle.documents.errors import DocumentError
from action_lifecycle.flow import load_flow, parse_flow
import pytest

from .nested_flows import INNER, OUTER
from .robot import MOTION


def faults_of(flow_folder: Path, outer: str, inner: str = INNER) -> str:
    (flow_folder / 'inner.yaml').write_text(inner)
    (flow_folder / 'outer.yaml').write_text(outer)
    with pytest.raises(DocumentError) as error:
        load_flow(flow_folder / 'outer.yaml')
    return str(error.value).replace(f'{flow_folder}/', '')


def test_faults_name_the_inner_file_and_the_outer_line(flow_folder: Path) -> None:
    assert faults_of(flow_folder, OUTER, INNER.replace('confirm', 'confrim', 1)).startswith(
        "inner.yaml:4:51: unknown field 'confrim'; did you mean 'confirm'?")
    assert faults_of(flow_folder, OUTER, INNER.replace('after: grip', 'after: gripp')).endswith(
        "did you mean 'grip'? (used in outer.yaml:3, action 'pick')")


@pytest.mark.parametrize('work, fault', [
    ('flow: iner', "outer.yaml:3:10: action 'pick', flow: there is no flow 'iner'"),
    ('flow: {flow: ./iner.yaml}', 'there is no file'),
    ('flow: {flow: ./inner}', 'expected a file .yaml or .yml'),
    ('flow: {flow: inner, parameters: {sped: 1}}',
     "the flow has no parameter 'sped'; did you mean 'speed'?"),
    ('flow: {flow: inner, parameters: {speed: 7}}', 'expected at most 1, got 7'),
    ('flow: {flow: inner, parametres: {}}', "unknown field 'parametres'"),
    ('flow: 7', "field 'flow': expected a mapping, got 7"),
    ('flow: {flow: "{{ facts.name }}"}',
     "action 'pick', flow: template '{{ facts.name }}': 'facts' is undefined"),
    ('flow: {flow: {flow: x, actions: {}}}', 'outer.yaml:3:33: expected at least one action'),
    ('flow: {flow: {flow: x, schedule: {clock: wall, every: 1}, '
     f'actions: {{a: {{{MOTION}}}}}}}}}',
     'a nested flow has no schedule'),
    (f'flow: inner, {MOTION}', "has 'flow' and 'motion': expected one of them"),
])
def test_a_wrong_use_is_refused(flow_folder: Path, work: str, fault: str) -> None:
    assert fault in faults_of(flow_folder, f'flow: outer\nactions:\n  pick: {{{work}}}\n')


def test_a_flow_that_nests_itself_is_refused_with_the_circle(flow_folder: Path) -> None:
    assert 'it would run itself: ' in faults_of(
        flow_folder, 'flow: outer\nactions:\n  a: {flow: outer}\n')
    faults = faults_of(flow_folder, OUTER, 'flow: inner\nactions:\n  back: {flow: ./outer.yaml}\n')
    assert faults.startswith('inner.yaml:3:10:')
    assert 'outer.yaml → inner.yaml → outer.yaml' in faults


def test_flows_are_nested_to_a_limited_depth() -> None:
    text = f'{{flow: x, actions: {{a: {{{MOTION}}}}}}}'
    for _ in range(7):
        text = f'{{flow: x, actions: {{a: {{flow: {{flow: {text}}}}}}}}}'
    parse_flow(text, 'f.yaml')
    with pytest.raises(DocumentError, match='nested more than 8 deep'):
        parse_flow(f'{{flow: x, actions: {{a: {{flow: {{flow: {text}}}}}}}}}', 'f.yaml')
