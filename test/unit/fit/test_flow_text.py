# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The flow file with other numbers: nothing else changes."""

import shutil
import subprocess

from action_lifecycle.fit.flow_text import Change, FitError, FlowText
from action_lifecycle.fit.terms import split
from action_lifecycle.flow import load_flow
from hypothesis import given
from hypothesis import strategies as st
import pytest

from . import synthetic

STYLES = {
    'plain': 'confirm: gap > 0.02 and load > 0.5',
    'flow mapping': 'confirm: {condition: gap > 0.02 and load > 0.5, hold: 0.1}',
    'single quotes': "confirm: {condition: 'gap > 0.02 and load > 0.5', hold: 0.1}  # 7 of 9",
    'double quotes': 'confirm: {hold: 0.1, condition: "gap > 0.02 and load > 0.5"}',
    'literal': 'confirm:\n      condition: |2-  # 5\n          gap > 0.02\n          and load > '
               '0.5\n      hold: 0.1',
    'list': 'confirm:\n      - ready > 3\n      - {condition: gap > 0.02 and load > 0.5}',
    'anchor': 'confirm: &c\n      condition: &text gap > 0.02 and load > 0.5\n      hold: 0.1 # s',
}


def written(tmp_path, confirm):
    path = tmp_path / 'flow.yaml'
    path.write_text('# top\nflow: grip\nactions:\n  grasp:\n    motion: {server: arm, type: '
                    f'demo/action/Reach, goal: {{}}}}\n    {confirm}\n  # end 0.02\n')
    return FlowText(str(path))


@pytest.mark.parametrize('style', STYLES)
def test_numbers_change_in_every_style_of_yaml(tmp_path, style):
    text = written(tmp_path, STYLES[style])
    place = text.places[-1]
    terms = split(place.text, lambda one: 'gap' in one or 'load' in one).terms
    changes = [text.change_of(place, term, new) for term, new in zip(terms, ('0.031', '0.8'))]
    if place.hold_path is not None:
        changes.append(Change(place.hold_path, 0, '0.25'))
    changed = text.with_changes(changes)
    expected = text.text.replace('> 0.02', '> 0.031').replace('0.5', '0.8')
    assert changed == expected.replace('hold: 0.1', 'hold: 0.25')


def test_shared_condition_is_one_place(tmp_path):
    path = tmp_path / 'flow.yaml'
    path.write_text(synthetic.flow())
    (place,) = FlowText(str(path)).places
    assert place.actions == ['grasp', 'again'] and place.at[0] == 9


def test_alias_of_a_text_is_refused_with_its_line(tmp_path):
    text = written(tmp_path, 'description: &c gap > 0.02\n    confirm: *c')
    (place,) = text.places
    (term,) = split(place.text, lambda one: 'gap' in one).terms
    with pytest.raises(FitError, match=r"flow.yaml:7: 'confirm' is an alias"):
        text.with_changes([text.change_of(place, term, '0.03')])


@given(st.floats(1e-4, 90.0).map(lambda value: f'{value:.4g}'),
       st.floats(1e-4, 0.9).map(lambda value: f'{value:.3g}'))
def test_diff_applies_and_changes_only_numbers(tmp_path_factory, number, hold):
    folder = tmp_path_factory.mktemp('flow')
    path = folder / 'flow.yaml'
    path.write_text(synthetic.flow())
    text = FlowText(str(path))
    (place,) = text.places
    term = split(place.text, lambda one: 'gap' in one).terms[0]
    changed = text.with_changes([text.change_of(place, term, number),
                                 Change(place.hold_path, 0, hold)])
    assert changed == text.text.replace('gap > 0.02', f'gap > {number}').replace(
        'hold: 0.1 ', f'hold: {hold} ')
    diff = text.diff(changed)
    lines = [line for line in diff.splitlines()[2:] if line[0] in '+-']
    assert len(lines) <= 4 and '# 0.02 was measured with a ruler' in changed
    if shutil.which('patch') and diff:
        subprocess.run(['patch', '-p0', '-s', str(path)], input=diff, text=True, check=True,
                       cwd=folder)
        assert path.read_text() == changed
    path.write_text(changed)
    (spec,) = load_flow(path).actions['again'].confirm
    assert spec.hold == float(hold) and f'gap > {number} and' in spec.condition
