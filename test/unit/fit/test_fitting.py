# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Fitted thresholds: they separate, they are never worse, and the figures are of the watch."""

from dataclasses import replace

from action_lifecycle.fit.fitting import apply_all, fit_place, folds, Options
from action_lifecycle.fit.flow_text import FlowText
from action_lifecycle.fit.series import ConditionOnRuns
from action_lifecycle.fit.text_report import report
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from . import synthetic

FEW = settings(max_examples=6, deadline=None,
               suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def fitted(tmp_path):
    """Return a function that fits the flow, with this threshold of `gap`, to runs."""
    def fit(runs, gap='0.02', **options):
        path = tmp_path / 'flow.yaml'
        path.write_text(synthetic.flow(gap))
        text = FlowText(str(path))
        return text, fit_place(text, text.places[0], synthetic.facts(), runs,
                               Options(**{'fewest': 10, **options}))
    return fit


def new_gap(result):
    return float(result.terms[0].new)


@FEW
@given(low=st.floats(0.0, 0.03), width=st.floats(0.004, 0.03), start=st.floats(0.001, 0.09),
       seed=st.integers(0, 99))
def test_threshold_separates_what_can_be_separated(fitted, low, width, start, seed):
    runs = synthetic.separable(12, low, low + width, spread=width / 4, noise=width / 200,
                               seed=seed)
    _, result = fitted(runs, f'{start:.4f}')
    for errors in (result.after, result.unseen):
        assert errors.false_completions.errors == 0 and errors.false_refutations.errors == 0
        assert errors.false_completions.n == errors.false_refutations.n == 12
    assert low + 0.2 * width < new_gap(result) < low + 0.8 * width
    assert result.terms[1].new == '0.5' and result.new_hold == 0.1  # they were right


@FEW
@given(seed=st.integers(0, 999), start=st.floats(0.0, 0.05), gap=st.floats(-0.01, 0.02))
def test_proposal_never_has_more_false_completions(fitted, seed, start, gap):
    runs = synthetic.separable(10, 0.02, 0.02 + gap, spread=0.01, noise=0.002, seed=seed)
    _, result = fitted(runs, f'{start:.3f}')
    assert result.after.false_completions.errors <= result.before.false_completions.errors


def test_good_thresholds_stay(fitted):
    text, result = fitted(synthetic.separable(20))
    assert not result.changes and apply_all(text, [result]) == ''
    assert not [note for note in result.notes if 'separated' in note]


def test_term_that_separates_is_enough(fitted):
    _, result = fitted([synthetic.run(n, n % 2 == 1, 0.03, 1.0 if n % 2 else 0.2)
                        for n in range(40)], '0.02')
    assert not result.changes and result.after.false_completions.errors == 0


def test_too_strict_threshold_is_loosened_and_too_loose_one_is_tightened(fitted):
    runs = synthetic.separable(20)
    for start in ('0.05', '0.001'):
        text, result = fitted(runs, start)
        assert 0.012 < new_gap(result) < 0.038
        diff = apply_all(text, [result])
        assert f'-        gap > {start} and' in diff and '+        gap > 0.0' in diff
        before = result.before
        assert (before.false_refutations if start == '0.05'
                else before.false_completions).errors == 20


def test_short_peaks_need_a_hold(fitted):
    """Where it is not there, `gap` is wide for 0.2 s; nothing but the hold tells them apart."""
    runs = [synthetic.run(number, number % 2 == 1, 0.04, 1.0) for number in range(60)]
    for run in runs[::2]:
        run.trace.curves['gap'].values[12:] = 0.0
    _, result = fitted(runs)
    assert result.before.false_completions.errors == 30
    assert 0.24 < result.new_hold < 1.0 and new_gap(result) == 0.02
    assert result.after.false_completions.errors == result.after.false_refutations.errors == 0


def test_overlap_is_reported_and_false_completions_come_first(fitted):
    runs = synthetic.separable(20, 0.02, 0.026, spread=0.006)
    _, result = fitted(runs, '0.02')
    assert any('can not be separated' in note for note in result.notes)
    assert result.after.false_completions.errors < result.before.false_completions.errors
    assert result.after.false_refutations.errors <= 2  # a fit refutes at most a tenth
    _, both = fitted(runs, '0.02', by_errors=True)
    assert sum(errors.errors for errors in (both.after.false_completions,
                                            both.after.false_refutations)) <= sum(
        errors.errors for errors in (result.after.false_completions,
                                     result.after.false_refutations))


@pytest.mark.parametrize('there, missing, said', [
    (30, 3, 'collect 17 more where the outcome was not there'),
    (5, 30, 'collect 15 more where the outcome was there'),
    (30, 0, '30 where the outcome was there and 0 where it was not'),
])
def test_too_few_runs_of_a_class_are_refused(fitted, there, missing, said):
    runs = [synthetic.run(number, number < there, 0.04 if number < there else 0.01, 1.0)
            for number in range(there + missing)]
    _, result = fitted(runs, fewest=20)
    assert not result.fitted and not result.changes and said in result.notes[-1]
    assert result.before.false_refutations.errors == 0


def test_value_that_never_varied_is_named(fitted):
    runs = synthetic.separable(12)
    for run in runs:
        run.trace.samples['load'].values[:] = 1.0
    _, result = fitted(runs)
    assert "'load' never varied: nothing is known about its threshold" in result.notes


def test_runs_of_another_condition_and_without_samples_are_left_out(fitted):
    other = synthetic.run(900, True, 0.04, 1.0, text='gap > 0.02')
    empty = synthetic.run(901, True, 0.04, 1.0)
    del empty.trace.curves['gap']
    older = synthetic.run(902, True, 0.04, 1.0, text='gap > 7 and load>0.1')
    _, result = fitted([*synthetic.separable(12), other, empty, older])
    assert result.skipped == {'recorded with another condition': 1,
                              'no samples of gap in its trace': 1}
    assert result.before.false_refutations.n == 13


def test_unseen_runs_share_no_flow_with_those_that_were_fitted():
    runs = [synthetic.run(number // 3, number % 5 == 0, 0.04, 1.0) for number in range(60)]
    parts = folds(runs)
    flows = [{runs[index].trace.key.flow_id for index in part} for part in parts]
    assert sorted(index for part in parts for index in part) == list(range(60))
    assert sum(map(len, flows)) == len(set.union(*flows)) == 20


def test_same_runs_give_the_same_proposal(fitted):
    runs = synthetic.separable(15, spread=0.01, noise=0.001)
    first, second = ('\n'.join(report([fitted(one, '0.03')[1]], 'flow.yaml'))
                     for one in (runs, runs[::-1]))
    assert first.splitlines()[:9] == second.splitlines()[:9]


def test_statistic_agrees_with_the_watch(fitted, tmp_path):
    """What proposes candidates sees the same as what judges them."""
    from action_lifecycle.fit.windows import Windows
    import numpy as np
    runs = synthetic.separable(10, 0.02, 0.022, spread=0.004, noise=0.003)
    fitted(runs)
    text = FlowText(str(tmp_path / 'flow.yaml'))
    on_runs = ConditionOnRuns(text, text.places[0], synthetic.facts())
    windows = Windows([on_runs.series(run) for run in runs], [run.there for run in runs])
    for gap in (0.015, 0.019, 0.02, 0.021, 0.023):
        for hold in (0.0, 0.13, 0.29):  # no multiple of the period, whose rounding decides
            quick = windows.confirmed(np.array([gap, 0.5]), hold)
            errors = on_runs.errors(runs, f'gap > {gap} and load > 0.5', hold)
            assert int((quick & ~windows.there).sum()) == errors.false_completions.errors
            assert int((~quick & windows.there).sum()) == errors.false_refutations.errors
            best = windows.best(0, hold, np.array([0.0, 0.5]))
            assert ((best > gap) == quick).all()


def test_attempts_of_one_flow_are_not_fitted(fitted):
    runs = [replace(run, trace=replace(run.trace, key=run.trace.key._replace(
        flow_id='grip-1', attempt=number)))
        for number, run in enumerate(synthetic.separable(10), 1)]
    _, result = fitted(runs, '0.005')
    assert not result.fitted and not result.changes
    assert 'all labelled attempts are of one flow' in result.notes[-1]
