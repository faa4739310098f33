# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""Jobs in the journal that can't be read back or tried are set aside; all else goes on."""

from __future__ import annotations

from collections.abc import Mapping
import sqlite3
from typing import Any

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.flow import parse_flow
from action_lifecycle.journal import Entry
from action_lifecycle.lifecycle.states import ActionOutcome
import pytest

from .robot import Clock, Robot
from .scheduled import FLOW, Life, Scheduled

HANGS = {'clock': 'ros', 'start_at': -1.0e15, 'every': 0.1}


def row_data(job_id: str, spec: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the data of a job's row as versions without bounds wrote it."""
    return {
        'job_id': job_id, 'name': 'one', 'created': 1000.0, 'flow_id': '', 'action_id': '',
        'shift': 0.0, 'seen': 1000.0, 'taken': None, 'count': 0, 'owed': [], 'runs': 0,
        'missed': 0, 'last': None, 'running': [], 'last_flow_id': '', 'last_result': '',
        'ended_seq': 0, 'spec': dict(spec), **fields}


def journaled(here: Scheduled, job_id: str, data: Mapping[str, Any], *, order: bool = True
              ) -> None:
    """Write the rows of a job as another version of this software may have."""
    if order:
        here.process.journal.append(Entry(
            kind='job_order', action_id=job_id, event='created', data={'text': FLOW}))
    here.process.journal.append(Entry(kind='job', action_id=job_id, event='created', data=data))


GOOD = {'clock': 'wall', 'every': 60.0}


@pytest.mark.parametrize(('data', 'why'), [
    (row_data('bad', HANGS), 'schedule.start_at: expected 0 to 4102444800 s, got -1e+15'),
    (row_data('bad', {**HANGS, 'start_at': -1.0e18}), 'schedule.start_at'),
    (row_data('bad', {'clock': 'ros', 'every': 1.0e308}), 'schedule.every'),
    (row_data('bad', {'clock': 'wall', 'start_at': '1900-01-01', 'every':
                      'FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=1,2,3,4,5,6,7,8,9'}),
     'schedule.start_at'),
    (row_data('bad', {'clock': 'wall', 'every': 'FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30'}),
     'never comes'),
    (row_data('bad', {'clock': 'wall', 'every': 60.0, 'zone': 'Mars/Olympus'}), 'no time zone'),
    (row_data('bad', {'clock': 'moon', 'every': 60.0}), "field 'spec.clock'"),
    (row_data('bad', GOOD, created=1.0e300), "field 'created'"),
    (row_data('bad', GOOD, owed=[1.0e300]), "field 'owed'"),
    (row_data('bad', GOOD, owed='later'), "field 'owed': expected a list"),
    (row_data('bad', GOOD, taken=[]), "field 'taken': expected a number"),
    (row_data('bad', GOOD, count=-1), "field 'count'"),
    (row_data('bad', GOOD, running=3), "field 'running'"),
    (row_data('bad', GOOD, hue='red'), "unknown field 'hue'"),
    (row_data('other', GOOD), 'job_id'),
    ({'job_id': 'bad'}, "missing field 'name'; missing field 'spec'"), ({}, 'missing field')])
def test_a_job_that_can_not_be_read_back_is_set_aside_and_the_others_go_on(
    life: Life, clock: Clock, caplog: pytest.LogCaptureFixture, data: dict[str, Any], why: str
) -> None:
    here = life()
    journaled(here, 'bad', data)
    here.create(every=60.0, job_id='good')
    here = life()
    clock.run(130.0)
    assert here.flows() == ['good.1', 'good.2'] and list(here.jobs.jobs) == ['good']
    assert why in here.jobs.aside.reasons['bad']
    (said,) = [record.getMessage() for record in caplog.records if 'bad' in record.getMessage()]
    assert why in said and 'row 2' in said and 'cancel_job' in said
    assert [row.seq for row in here.process.journal.open_rows('job')
            if row.action_id == 'bad'] == [2]


def test_a_job_that_is_set_aside_is_canceled_for_good(life: Life, clock: Clock) -> None:
    here = life()
    journaled(here, 'bad', row_data('bad', HANGS))
    here = life()
    with pytest.raises(LifecycleError, match="a job 'bad' already"):
        here.create(every=60.0, job_id='bad')
    with pytest.raises(LifecycleError, match="did you mean 'bad'"):
        here.jobs.cancel('bat', 'me', '')
    here.jobs.cancel('bad', 'me', 'enough')
    assert not here.jobs.aside.reasons
    last = list(here.process.journal.rows(kind='job'))[-1]
    assert (last.event, last.actor, last.cause, last.final) == ('canceled', 'me', 'enough', True)
    here = life()
    assert not here.jobs.aside.reasons and not here.process.journal.open_rows('job')
    assert not here.process.journal.open_rows('job_order')


def test_a_job_that_can_not_be_canceled_in_the_journal_stays_set_aside(life: Life) -> None:
    here = life()
    journaled(here, 'bad', row_data('bad', HANGS))
    here = life()
    with here.process.full_disk(), pytest.raises(LifecycleError):
        here.jobs.cancel('bad', 'me', '')
    assert 'bad' in here.jobs.aside


def test_a_job_without_its_order_is_set_aside(life: Life, clock: Clock) -> None:
    here = life()
    journaled(here, 'bad', row_data('bad', GOOD), order=False)
    here = life()
    clock.run(100.0)
    assert 'the journal has no row of kind' in here.jobs.aside.reasons['bad'] and not here.flows()


@pytest.mark.parametrize('kind', ['job', 'job_order'])
def test_a_job_with_a_damaged_row_is_set_aside(
    life: Life, clock: Clock, robot: Robot, kind: str
) -> None:
    here = life()
    here.create(every=60.0, job_id='bad')
    here.create(every=60.0, job_id='good')
    here.process.kill()
    with sqlite3.connect(here.process.journal.path) as file:
        file.execute("UPDATE entry SET data_json = replace(data_json, '60', '61') || ' ' "
                     "WHERE kind = ? AND action_id = 'bad'", (kind,))
    here = life()
    clock.run(70.0)
    assert 'does not have the content' in here.jobs.aside.reasons['bad']
    assert here.flows() == ['good.1'] and not robot.motions  # the damage locks everything
    here.orchestrator.clear_locks(['*'], 'me', 'looked')
    clock.run(10.0)
    assert robot.executed('pick') == 1


def test_the_action_of_a_job_that_is_set_aside_waits_until_the_job_is_canceled(
    life: Life, clock: Clock, robot: Robot
) -> None:
    text = FLOW + ('  place:\n    after: pick\n    motion: {server: arm, type: a/action/B}\n'
                   '    confirm: z > 0\n    schedule: {start_at: 5000, clock: ros}\n')
    here = life()
    here.orchestrator.submit(parse_flow(text, 'f'), 'f')
    clock.run(10.0)
    here.process.journal.append(Entry(
        kind='job', action_id='f/place', event='due',
        data=row_data('f/place', HANGS, flow_id='f', action_id='place')))
    here = life()
    clock.run(5000.0)
    assert 'f/place' in here.jobs.aside and robot.executed('place') == 0
    run = here.orchestrator.runs['f']
    assert not run.ended
    here.jobs.cancel('f/place', 'me', 'enough')
    clock.run(5.0)
    assert run.ended and run.actions[1].outcome is ActionOutcome.CANCELED
    assert not here.jobs.aside.reasons and not here.process.journal.open_rows('job')


def test_a_job_of_an_action_that_is_set_aside_ends_with_its_flow(
    life: Life, clock: Clock
) -> None:
    text = FLOW + ('  place:\n    motion: {server: arm, type: a/action/B}\n'
                   '    confirm: z > 0\n    schedule: {start_at: 5000, clock: ros}\n')
    here = life()
    here.orchestrator.submit(parse_flow(text, 'f'), 'f')
    clock.run(10.0)
    here.process.journal.append(Entry(kind='job', action_id='f/place', event='due'))
    here = life()
    here.orchestrator.cancel('f', 'me', 'enough')
    clock.run(5.0)
    assert not here.jobs.aside.reasons and not here.process.journal.open_rows('job')


def test_a_step_of_a_job_that_fails_sets_that_job_aside(
    life: Life, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = life()
    here.create(every=60.0, job_id='bad')
    here.create(every=60.0, job_id='good')
    monkeypatch.setattr(here.jobs.jobs['bad'], 'take', lambda now: 1 / 0)
    clock.run(70.0)
    assert 'ZeroDivisionError' in here.jobs.aside.reasons['bad']
    assert here.flows() == ['good.1']
    here = life()  # what was wrong may be over
    clock.run(60.0)
    assert not here.jobs.aside.reasons and 'bad.1' in here.flows()


@pytest.mark.parametrize('schedule', [
    {**HANGS}, {'clock': 'wall', 'every': 'FREQ=DAILY;UNTIL=19700101T000100'}])
def test_a_schedule_is_tried_before_it_is_journaled(
    life: Life, schedule: dict[str, Any]
) -> None:
    here = life()
    with pytest.raises(LifecycleError, match=r'schedule'):
        here.create(**schedule)
    assert not list(here.process.journal.rows()) and not here.jobs.jobs
