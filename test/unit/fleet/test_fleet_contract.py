# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What each backend of `fleet.Ledger` guarantees for the view of a fleet."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time

from action_lifecycle.fleet import LedgerError, LedgerUnavailable, open_ledger, robot_status
from action_lifecycle.fleet.consumer import OperationConsumer, submit
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.fleet.operation_states import OperationState as State
from action_lifecycle.fleet.robot_status import Claim, report_fields, report_from, RobotReport
from action_lifecycle.fleet.status_reporter import (
    package_version,
    StatusReporter,
    synced_report,
)
from action_lifecycle.fleet.sync import SyncStatus
from action_lifecycle.fleet.work_status import Failure, LetterMissing, LISTED
from action_lifecycle.journal import Entry
import pytest

from .ledgers import with_ledger
from .test_consumer import IDLE, Work
from .test_sync import journal, write

__all__ = ['journal']  # a fixture

REPORT = RobotReport(
    'connected', journal_seq=9, ledger_seq=7, lag=1.5, streams=('flows', 'two:arms'),
    claims=(Claim('42_100/grasp', 'pick-1', 3, True),), group='robots', ready=True,
    wall_time=1e9, version='1.2.3')
LOCK = Entry('lock', action_id='arm', event='lock', to_state='locked', cause='e-stop')


def as_robot(backend, name, work):
    return with_ledger(backend, work, robot=name)


# Robots


def test_a_robot_is_listed_with_its_last_report_and_the_age_of_it(backend):
    assert with_ledger(backend, lambda ledger: ledger.fleet.robots()) == []

    async def report(ledger):
        await ledger.fleet.report(REPORT._replace(state='refused', error='x' * 9999))
        await ledger.fleet.report(REPORT)
    for name in 'robot 2', 'a/b:{c}':
        as_robot(backend, name, report)
    robots = with_ledger(backend, lambda ledger: ledger.fleet.robots())
    assert [(one.robot, one.report, one.seq, one.silent) for one in robots] == [
        ('a/b:{c}', REPORT, 0, False), ('robot 2', REPORT, 0, False)]
    assert all(0 <= one.age < 5 for one in robots)


def test_a_robot_without_reports_is_silent_and_keeps_what_it_did(
        journal, backend, monkeypatch):
    monkeypatch.setattr(robot_status, 'SILENT', 0.2)
    write(journal, 0, 3)
    write(journal, 3, 1, steps=2)
    journal.append(LOCK)
    last = journal.last_seq()

    async def live(ledger):
        await ledger.apply(list(journal.rows()))
        await ledger.fleet.report(REPORT._replace(wall_time=time.time() + 60))
        before, = await ledger.fleet.robots()
        deadline = time.monotonic() + 10
        while not (after := (await ledger.fleet.robots())[0]).silent:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        return before, after
    before, after = with_ledger(backend, live)
    assert not before.silent and before.seq == after.seq == last
    lock, action = before.activities
    assert (lock.kind, lock.action_id, lock.cause) == ('lock', 'arm', 'e-stop')
    assert (action.kind, action.flow_id, action.action_id, action.state) == (
        'transition', 'flow', 'a3', 'status_verification_requested')
    assert action.ledger_status == 'VALIDATING'
    # the robot's clock is a minute ahead of the one that stamped its rows
    assert 60 <= action.since < 70 <= after.activities[1].since + 10 < 90
    assert after.activities[1].since > action.since


def test_a_robot_whose_keys_are_gone_is_not_listed(journal, backend):
    write(journal, 0, 1)

    async def work(ledger):
        await ledger.apply(list(journal.rows()))
        await ledger.fleet.report(REPORT)
        await ledger.clear()
        return await ledger.fleet.robots()
    assert with_ledger(backend, work) == []


def test_a_report_of_another_version_is_read_as_far_as_it_is_known():
    fields = report_fields(REPORT)
    assert report_from({**fields, 'mood': 'good'}) == REPORT
    assert report_from({'state': 'connected'}) == RobotReport('connected')
    assert report_from({}) == RobotReport('')
    for name, text in (('claims', '7'), ('lag', '"x"'), ('streams', '{'), ('claims', '[[1]]')):
        assert report_from({**fields, name: text}) is None


def test_the_reporter_goes_on_after_faults_and_sends_the_state_of_the_sync(backend):
    statuses = [SyncStatus(connected=True, journal_seq=5, ledger_seq=5),
                SyncStatus(refused=True, last_error='a gap'), SyncStatus(last_error='away')]
    states = []

    async def work(ledger):
        class Broken:

            def __init__(self):
                self.calls = 0

            async def report(self, report):
                self.calls += 1
                if self.calls % 2:
                    raise LedgerUnavailable('away')
                await ledger.fleet.report(report)
        for status in statuses:
            running = asyncio.ensure_future(StatusReporter(
                Broken(), lambda status=status: synced_report(status), 0.01).run())
            deadline = time.monotonic() + 10
            while not (robots := await ledger.fleet.robots()) \
                    or robots[0].report.error != status.last_error:
                assert time.monotonic() < deadline and not running.done()
                await asyncio.sleep(0.01)
            states.append(robots[0].report)
            await end(running)
    with_ledger(backend, work)
    assert [(one.state, one.error) for one in states] == [
        ('connected', ''), ('refused', 'a gap'), ('disconnected', 'away')]
    assert all(abs(one.wall_time - time.time()) < 60 for one in states)
    assert {one.version for one in states} == {package_version()}


# Work


def test_requests_that_wait_and_run_are_listed_with_who_has_them(backend):
    async def work(ledger):
        view = ledger.fleet
        empty = await view.work('flows', 'robots')
        assert (empty.waiting, empty.running, empty.dead, empty.waits, empty.runs) == (
            0, 0, 0, (), ())
        ids = [await ledger.submit('flows', {'flow': str(number)}) for number in range(3)]
        before = await view.work('flows', 'robots')  # there is no group yet
        assert (before.waiting, [one.request_id for one in before.waits]) == (3, ids)
        worker = ledger.requests('flows', 'robots', 'robot7', 60.0)
        await worker.join()
        await worker.take()
        await asyncio.sleep(0.05)
        now = await view.work('flows', 'robots')
        assert (now.waiting, now.running, now.dead) == (2, 1, 0)
        held, = now.runs
        assert (held.request_id, held.trace_id, held.data, held.worker, held.tries) == (
            ids[0], ids[0], {'flow': '0'}, 'robot7', 1)
        assert 0.02 < held.idle < 10 and abs(held.submitted - time.time()) < 60
        await worker.done(ids[0])
        other = await view.work('flows', 'others')
        assert (await view.work('flows', 'robots')).running == 0
        assert (other.waiting, other.running) == (3, 0)
        for number in range(LISTED):
            await ledger.submit('flows', {'flow': str(number)})
        many = await view.work('flows', 'robots')
        assert (many.waiting, len(many.waits)) == (LISTED + 2, LISTED)
        assert (await view.work('flows', 'nobody')).waiting == LISTED + 3
    with_ledger(backend, work)


def test_request_that_failed_is_not_running_until_its_next_try(backend):
    idle = 1.2

    class Failing(Work):

        def __init__(self):
            super().__init__()
            self.may_fail = asyncio.Event()

        async def perform(self, operation, gathered):
            self.performed += 1
            if self.performed > 1:
                await self.may_fail.wait()
            raise LedgerError('the gripper is cold')

    async def work(ledger):
        trace = await submit(ledger, 'requests', {'text': 'x'})
        failing = Failing()
        worker = asyncio.ensure_future(OperationConsumer(
            ledger, 'requests', 'robots', failing, name='robot7', min_idle=idle,
            max_tries=2).run())

        async def until(wanted):
            deadline = time.monotonic() + 20
            while not wanted(found := await ledger.fleet.work('requests', 'robots')):
                assert time.monotonic() < deadline and not worker.done(), found
                await asyncio.sleep(0.02)
            return found
        found = await until(lambda one: one.failed)
        assert (found.waiting, found.running, found.dead, found.runs) == (0, 0, 0, ())
        request, = found.fails
        assert (request.trace_id, request.worker, request.tries) == (trace, 'robot7', 1)
        error, max_tries, wait = request.failure
        assert (error, max_tries) == ('the gripper is cold', 2) and 0 < wait <= idle
        assert abs(wait + request.idle - idle) < 0.01
        again = await until(lambda one: one.running)  # its next try
        assert (again.failed, again.fails) == (0, ())
        assert [(one.tries, one.failure) for one in again.runs] == [(2, None)]
        failing.may_fail.set()
        given_up = await until(lambda one: one.dead)
        assert (given_up.running, given_up.failed) == (0, 0)
        await end(worker)
    with_ledger(backend, work)


def test_failure_of_a_worker_of_an_older_version_has_no_limits(redis_server):
    async def work(ledger):
        request_id = await ledger.submit('flows', {'flow': 'x'})
        worker = ledger.requests('flows', 'robots', 'robot7', 60.0)
        await worker.join()
        await worker.take()
        await ledger.operations.receive(request_id, {'msg_id': request_id})
        await ledger.operations.move(request_id, State.ERRORED, {'error': 'no', 'attempt': 1})
        return await ledger.fleet.work('flows', 'robots')
    assert [one.failure for one in with_ledger(redis_server, work).fails] == [Failure('no')]


# Dead letters


async def bury(ledger, text='fail', **letter):
    """Let a request fail for good; returns its trace id."""
    trace = await submit(ledger, 'requests', {'text': text})
    worker = ledger.requests('requests', 'robots', 'a', 60.0)
    await worker.join()
    (one, fields), = await worker.take()
    assert await worker.bury(one, {
        'original_stream': 'requests', 'original_id': one, 'trace_id': trace,
        'error': f'no {text}', 'attempt': 3, 'data': json.dumps(fields), 'time': '1.0', **letter})
    return trace


def test_a_letter_is_sent_again_once_and_by_one_person(backend):
    async def work(ledger):
        view = ledger.fleet
        first, second = await bury(ledger, 'one'), await bury(ledger, 'two')
        newest, oldest = await view.dead_letters('requests')
        assert [one.trace_id for one in (oldest, newest)] == [first, second]
        assert (newest.error, newest.attempt, newest.data['text'], newest.stream) == (
            'no two', 3, 'two', 'requests')
        assert abs(newest.time - time.time()) < 60
        assert await view.dead_letters('requests', 1) == [newest]
        both = await asyncio.gather(*(
            open_ledger(backend.url).fleet.resend('requests', oldest.letter_id, name)
            for name in ('ann', 'bob')))
        assert sorted(one.again for one in both) == [False, True]
        assert both[0]._replace(again=False) == both[1]._replace(again=False)
        assert abs(both[0].time - time.time()) < 60
        once_more = await view.resend('requests', oldest.letter_id, 'eve')
        assert once_more.again and once_more.by == both[0].by
        assert await view.dead_letters('requests') == [newest]
        request, = (await view.work('requests', 'robots')).waits
        assert request.request_id == both[0].request_id
        assert request.data == {
            'text': 'one', 'trace_id': both[0].trace_id, 'resent_of': first,
            'resent_letter': oldest.letter_id, 'resent_by': both[0].by}
        assert both[0].trace_id == f'{first}-{oldest.letter_id}'
    with_ledger(backend, work)


def test_what_cannot_be_sent_again_stays_and_the_error_says_why(backend):
    async def work(ledger):
        view = ledger.fleet
        await bury(ledger, data='{}', error='it was trimmed from its stream')
        await bury(ledger, data='no JSON')
        letters = await view.dead_letters('requests')
        for letter in letters:
            with pytest.raises(LedgerError, match='its content is lost'):
                await view.resend('requests', letter.letter_id, 'ann')
        await bury(ledger)
        whole = (await view.dead_letters('requests'))[0]
        for name in '', ' ', 'a\nb', 'x' * 1000:
            with pytest.raises(LedgerError, match='give your name'):
                await view.resend('requests', whole.letter_id, name)
        for letter_id in '1-1', '', '-', '+', '1', f'{whole.letter_id}x':
            with pytest.raises(LetterMissing, match="stream 'requests' has no dead letter"):
                await view.resend('requests', letter_id, 'ann')
        assert await view.dead_letters('requests') == [whole, *letters]
        assert (await view.work('requests', 'robots')).waiting == 0
    with_ledger(backend, work)


def test_letters_are_sent_once_although_connections_break(backend):
    count = 12

    async def work(ledger):
        for number in range(count):
            await bury(ledger, str(number))
        letters = await ledger.fleet.dead_letters('requests')

        async def press(letter, person):
            while True:
                with contextlib.suppress(LedgerUnavailable):
                    return await people[person].fleet.resend('requests', letter.letter_id, person)
                await asyncio.sleep(0.01)

        async def cut():
            for _ in range(8):
                await backend.cut()
                await asyncio.sleep(0.01)
        people = {name: open_ledger(backend.url) for name in ('ann', 'bob')}
        cutting = asyncio.ensure_future(cut())
        sent = await asyncio.gather(*(
            press(letter, person) for letter in letters for person in people))
        await cutting
        for one in people.values():
            await one.close()
        return sent
    sent = with_ledger(backend, work)
    assert len({one.request_id for one in sent}) == len({one.trace_id for one in sent}) == count

    async def look(ledger):
        found = await ledger.fleet.work('requests', 'robots')
        assert {one.request_id for one in found.waits} == {one.request_id for one in sent}
        assert (found.waiting, found.dead) == (count, 0)
    with_ledger(backend, look)


def test_a_request_that_was_sent_again_is_done_and_its_next_letter_knows_the_first(backend):
    async def work(ledger):
        view = ledger.fleet
        trace = await bury(ledger)
        works = [Work()]
        worker = asyncio.ensure_future(OperationConsumer(
            ledger, 'requests', 'robots', works[0], min_idle=IDLE, max_tries=1).run())
        for tries in range(2):
            letter, = await view.dead_letters('requests')
            sent = await view.resend('requests', letter.letter_id, 'ann')
            deadline = time.monotonic() + 20
            while not await view.dead_letters('requests'):
                assert time.monotonic() < deadline and not worker.done()
                await asyncio.sleep(0.02)
            assert works[0].performed == tries + 1
            assert (await ledger.operations.trace(sent.trace_id))['state'] == 'ERRORED'
            assert sent.trace_id == f'{trace}-{letter.letter_id}'
        await end(worker)
    with_ledger(backend, work)
