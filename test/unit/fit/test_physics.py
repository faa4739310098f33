# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A fit to labelled episodes of the simulated cell, tried on unseen ones."""

from pathlib import Path
import sys

import pytest

BENCH = Path(__file__).parents[3] / 'bench'


@pytest.mark.long
@pytest.mark.timeout(300)
def test_fit_to_labelled_episodes_is_right_about_unseen_ones(monkeypatch, tmp_path):
    pytest.importorskip('mujoco')
    monkeypatch.setattr(sys, 'path', [str(BENCH), *sys.path])
    from _truth_fit import BAD, fitted, flow_text, judged, run_recorded
    from action_lifecycle.fit.fitting import Options
    episodes = [run_recorded((7, number, flow_text('hand-made'), 0.0)).runs
                for number in (1, 2, 4, 5)]  # in each of them, one grasp fails
    known, unseen = sum(episodes[:3], []), episodes[3]
    hand_made = judged(flow_text('hand-made'), unseen, tmp_path)
    picks = [run for run in unseen if run.trace.key.action_id[:4] == 'pick']
    assert {run.there for run in picks} == {True, False}
    assert judged(flow_text('strict'), picks, tmp_path).false_refutations.errors > 0
    for start in ('hand-made', *BAD):
        text, fits = fitted(start, known, Options(2), tmp_path)
        assert any(fit.fitted for fit in fits)
        found = judged(text, picks, tmp_path)
        assert found.false_completions.errors == 0
        assert found.false_refutations.errors <= hand_made.false_refutations.errors
