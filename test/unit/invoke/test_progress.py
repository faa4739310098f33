# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Progress: what is counted, and that it never falls back."""

from __future__ import annotations

from typing import Any

from action_lifecycle.invoke import Job, Outcome, Progress, read_work, WorkError
from action_lifecycle.invoke.run import Run
from action_lifecycle.invoke.work import count
from hypothesis import given
from hypothesis import strategies as st
import pytest


@pytest.mark.parametrize('work, tasks', [
    ('m:f', 1),
    ({'call': 'm:f', 'input': 'x'}, 1),
    (['m:f'], 1),
    (['m:f', 'm:f', 'm:f'], 3 + 2),
    ({'a': 'm:f', 'b': 'm:f'}, 2 + 1),
    ({'map': 'm:f'}, 1),
    (['m:f', {'a': ['m:f', 'm:f'], 'b': {'map': 'm:f'}}], 1 + 1 + (3 + 1 + 1)),
])
def test_the_known_tasks_are_counted_as_the_reference_says(work: Any, tasks: int) -> None:
    assert count(read_work(work, 'invoke')) == tasks


@pytest.mark.parametrize('work, message', [
    ([], 'invoke: expected module:function, or a list'),
    ({}, 'invoke: expected'),
    (7, 'got 7'),
    ('no colon', "expected module:function, got 'no colon'"),
    ([{'left': 'm:f', 'right': None}], r'invoke\[0\]\.right: expected'),
    ({'call': 'm:f', 'inputs': 1}, "unknown field 'inputs'; did you mean 'input'"),
    ({'call': 'm:f', 'time_limit': 0}, 'time_limit: expected seconds'),
    ({'call': 'm:f', 'retries': -1}, 'retries: expected 0 to 100, got -1'),
    ({'call': 'm:f', 'retries': True}, 'retries: expected'),
    ({'call': 'm:f', 'time_limit': float('nan')}, 'time_limit: expected seconds'),
    ({'map': 'm:f', 'ove': 1}, "did you mean 'over'"),
])
def test_faulty_work_is_refused_by_its_place(work: Any, message: str) -> None:
    with pytest.raises(WorkError, match=message):
        read_work(work, 'invoke')


class ByHand:
    """An engine whose jobs the test answers, in the order and as often as it likes."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def submit(self, job: Job) -> None:
        self.jobs.append(job)


leaf = st.sampled_from(['m:f', {'map': 'm:f'}, {'map': ['m:f', 'm:f']}])
works = st.recursive(leaf, lambda part: st.one_of(
    st.lists(part, min_size=1, max_size=3),
    st.dictionaries(st.sampled_from(['a', 'b', 'c']), part, min_size=1, max_size=3)),
    max_leaves=6)


@given(st.lists(works, min_size=1, max_size=3), st.data())
def test_progress_is_monotone_over_any_work_and_any_chain_of_work(
    chain: list[Any], data: st.DataObject
) -> None:
    shown = [Progress()]

    def look(progress: Progress) -> None:
        last = shown[-1]
        assert progress.done >= last.done and progress.total >= last.total
        assert last.fraction <= progress.fraction <= 1.0
        assert progress.done <= progress.total
        assert (progress.fraction == 1.0) == (0 < progress.done == progress.total)
        shown.append(progress)

    before = Progress()
    for work in chain:
        engine, outcomes = ByHand(), []
        run = Run(read_work(work, 'invoke'), {'actor_input': ''}, engine, before,
                  lambda run, outcome, outcomes=outcomes: outcomes.append(outcome))
        if before.total:
            run.progress = run.progress.advanced()
        look(run.progress)
        assert shown[1].done == 0 and shown[1].fraction == 0.0
        run.start()
        while engine.jobs:
            index = data.draw(st.integers(0, len(engine.jobs) - 1))
            job = engine.jobs.pop(index)
            elements = [0] * data.draw(st.integers(0, 3)) if not job.call else 1
            for _ in range(data.draw(st.integers(1, 3))):  # delivered more than once
                job.reply(Outcome(elements))
                look(run.progress)
        assert len(outcomes) == 1 and not outcomes[0].error
        assert run.progress.total - run.progress.done == 1  # the closing event
        before = run.progress


@given(st.integers(1, 500))
def test_without_later_tasks_the_fraction_is_done_by_total(total: int) -> None:
    progress = Progress().grown(total)
    for done in range(total):
        assert progress.fraction == pytest.approx(done / total)
        progress = progress.advanced()
    assert progress == (total, total, 1.0)


def test_replies_after_the_end_change_nothing() -> None:
    engine, outcomes = ByHand(), []
    run = Run(read_work({'a': 'm:f', 'b': 'm:g'}, 'invoke'), {'actor_input': 1}, engine,
              Progress(), lambda run, outcome: outcomes.append(outcome))
    run.start()
    first, second = engine.jobs
    first.reply(Outcome(None, 'lost'))
    progress = run.progress
    assert not second.wanted()
    second.reply(Outcome(1))
    first.reply(Outcome(1))
    assert [outcome.error for outcome in outcomes] == ["task 'm:f': lost"]
    assert run.progress == progress


def test_of_two_tasks_that_fail_at_once_only_one_ends_the_run() -> None:
    engine, outcomes = ByHand(), []
    run = Run(read_work({'a': 'm:f', 'b': 'm:g'}, 'invoke'), {'actor_input': 1}, engine,
              Progress(), lambda run, outcome: outcomes.append(outcome))
    run.start()
    first, second = engine.jobs

    class Overtaken:
        """An outcome that is looked at just when the other task's failure arrives."""

        @property
        def error(self) -> str:
            if not outcomes:
                second.reply(Outcome(None, 'faster'))
            return 'slower'

    first.reply(Overtaken())
    assert [outcome.error for outcome in outcomes] == ["task 'm:g': faster"]
