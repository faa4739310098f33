# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A worker that stood still for longer than its claim does not disturb the one that followed.

A stopped process is imitated: a call of the ledger returns only after another worker has worked.
"""

from __future__ import annotations

import asyncio
import time

from action_lifecycle.fleet import open_ledger
from action_lifecycle.fleet.consumer import OperationConsumer, submit
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.fleet.operation_states import OperationState as State
import pytest

from .ledgers import route

IDLE = 0.3
BEFORE_MOTION = State.PRE_INFERENCE_GATHER


class Work:
    """One motion for each request; a person gives `answer` to each question."""

    def __init__(self, answer='', held=False):
        self.moved = self.asked = self.ended = 0
        self.answer = answer
        self.may_answer, self.may_end = asyncio.Event(), asyncio.Event()
        if not held:
            self.may_answer.set()
            self.may_end.set()

    def ready(self):
        return True

    def can_resume(self, request):
        return False

    async def take_over(self, request):
        self.asked += 1
        await self.may_answer.wait()
        return self.answer

    async def gather(self, request):
        return {}

    async def perform(self, operation, gathered):
        await operation.start_motion()
        self.moved += 1
        try:
            await self.may_end.wait()
        finally:
            self.ended += 1


class Stopped:
    """A method of a ledger whose caller stands still after the first call that is `chosen`."""

    def __init__(self, method, chosen=lambda arguments: True):
        self._method = method
        self._chosen = chosen
        self.reached, self.resume = asyncio.Event(), asyncio.Event()

    async def __call__(self, *arguments, **options):
        result = await self._method(*arguments, **options)
        if self._chosen(arguments):
            self.reached.set()
        if self.reached.is_set():
            await self.resume.wait()
        return result


class Fleet:
    """Two workers with a ledger each, and a third ledger to look at."""

    def __init__(self, url):
        self.ledgers = [open_ledger(url) for _ in range(3)]
        self.ledger = self.ledgers[2]
        self.tasks = []

    def worker(self, number, work, min_idle=IDLE):
        return OperationConsumer(self.ledgers[number], 'requests', 'robots', work,
                                 name=f'worker{number}', min_idle=min_idle)

    def start(self, worker):
        self.tasks.append(asyncio.ensure_future(worker.run()))

    async def lose_request(self, **metadata):
        """Leave a request that its first worker has lost."""
        await submit(self.ledger, 'requests', {}, 't')
        lost = self.ledger.requests('requests', 'robots', 'lost', IDLE)
        await lost.join()
        (message_id, _), = await lost.take()
        await self.ledger.operations.receive('t', {'msg_id': message_id})
        for state in route(BEFORE_MOTION):
            assert await self.ledger.operations.move('t', state, {
                'fence': 'lost:1', 'worker': 'lost', **metadata})

    async def completed(self):
        deadline = time.monotonic() + 20
        while (found := await self.ledger.operations.trace('t')).get('state') != 'COMPLETED':
            assert time.monotonic() < deadline, found
            await asyncio.sleep(0.01)


def run(backend, scenario):
    async def main():
        fleet = Fleet(backend.url)
        try:
            await asyncio.wait_for(scenario(fleet), 60)
        finally:
            await end(*fleet.tasks)
            for ledger in fleet.ledgers:
                await ledger.close()
    asyncio.run(main())


async def until(done):
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_worker_that_stood_still_while_it_claimed_does_not_take_the_work_back(backend):
    async def scenario(fleet):
        await fleet.lose_request()
        slow, fast = Work(), Work(held=True)
        worker = fleet.worker(0, slow)
        worker._requests.renew = still = Stopped(worker._requests.renew)
        fleet.start(worker)
        await asyncio.wait_for(still.reached.wait(), 20)
        fleet.start(fleet.worker(1, fast))
        await until(lambda: fast.moved)
        still.resume.set()
        await asyncio.sleep(2 * IDLE)
        fast.may_end.set()
        await fleet.completed()
        assert (slow.moved, fast.moved, slow.asked, fast.asked) == (0, 1, 0, 0)
    run(backend, scenario)


def test_answer_to_a_worker_that_stood_still_does_not_end_the_work_of_another(backend):
    async def scenario(fleet):
        await fleet.lose_request(moved=1)
        slow, fast = Work(held=True), Work(answer='ann', held=True)
        fast.may_answer.set()
        worker = fleet.worker(0, slow)
        fleet.start(worker)
        await until(lambda: slow.asked)
        requests = worker._requests
        stopped = Stopped(requests.renew), Stopped(requests.take)
        requests.renew, requests.take = stopped
        fleet.start(fleet.worker(1, fast))
        await until(lambda: fast.moved)
        slow.may_answer.set()  # '': give up
        for method in stopped:
            method.resume.set()
        await asyncio.sleep(2 * IDLE)
        fast.may_end.set()
        await fleet.completed()
        assert not backend.dead_letters('requests')
        assert (slow.moved, fast.moved) == (0, 1)
    run(backend, scenario)


@pytest.mark.parametrize('step', ['move', 'confirm'])
def test_claim_that_lapsed_while_its_motion_was_recorded_permits_no_motion(backend, step):
    async def scenario(fleet):
        await submit(fleet.ledger, 'requests', {}, 't')
        slow, fast = Work(), Work(answer='ann')
        worker = fleet.worker(0, slow)
        operations = fleet.ledgers[0].operations
        still = Stopped(getattr(operations, step),
                        lambda arguments: State.TOOL_EXECUTING in arguments)
        setattr(operations, step, still)
        worker._requests.renew = renewals = Stopped(
            worker._requests.renew, lambda arguments: still.reached.is_set())
        fleet.start(worker)
        await asyncio.wait_for(still.reached.wait(), 20)
        fleet.start(fleet.worker(1, fast))
        await fleet.completed()
        still.resume.set()  # before the next renewal says that the claim is lost
        await asyncio.sleep(IDLE)
        renewals.resume.set()
        await asyncio.sleep(IDLE)
        assert (slow.moved, fast.moved, fast.asked) == (0, 1, 1)
    run(backend, scenario)


def test_lapsed_claim_is_found_behind_many_that_are_renewed(backend):
    async def scenario(fleet):
        workers = [fleet.ledger.requests('requests', 'robots', f'worker{number}', IDLE)
                   for number in range(25)]
        held = {}
        for worker in workers:
            await worker.join()
            await fleet.ledger.submit('requests', {'text': 'a'})
            (message_id, _), = await fleet.ledger.requests(
                'requests', 'robots', f'worker{len(held)}', 60.0).take()
            held[message_id] = worker
        lapsed = list(held)[20]
        free = fleet.ledger.requests('requests', 'robots', 'free', IDLE)
        deadline = time.monotonic() + 2.0
        taken = []
        while not taken and time.monotonic() < deadline:
            for message_id, worker in held.items():
                assert message_id == lapsed or await worker.renew(message_id)
            taken = await free.take()
        assert [message_id for message_id, _ in taken] == [lapsed]
    run(backend, scenario)


def test_work_that_began_to_move_while_it_was_taken_over_is_not_moved_again(backend):
    async def scenario(fleet):
        await fleet.lose_request()
        lost = {'fence': 'lost:1'}
        assert await fleet.ledger.operations.move('t', State.INFERRING, **lost)
        work = Work(held=True)
        worker = fleet.worker(1, work)
        renew = worker._requests.renew = Stopped(worker._requests.renew)
        fleet.start(worker)
        await renew.reached.wait()
        assert await fleet.ledger.operations.move(
            't', State.TOOL_EXECUTING, {'moved': 1}, **lost)
        renew.resume.set()
        await until(lambda: work.asked)
        assert work.moved == 0
    run(backend, scenario)


def test_worker_whose_operation_another_one_of_its_name_has_claimed_is_ended(backend):
    async def scenario(fleet):
        await submit(fleet.ledger, 'requests', {}, 't')
        work = Work(held=True)
        fleet.start(fleet.worker(0, work))
        await until(lambda: work.moved)
        operations = fleet.ledger.operations
        fence = (await operations.trace('t'))['fence']
        assert await operations.renew('t', fence) and await operations.renew('t')
        assert await operations.move('t', State.RECLAIMED, {'fence': 'other'}, fence=fence)
        assert not await operations.renew('t', fence)
        await until(lambda: work.ended)
    run(backend, scenario)


def test_second_request_of_a_trace_ends_while_the_first_one_is_worked_on(backend):
    async def scenario(fleet):
        first, second = Work(held=True), Work()
        await submit(fleet.ledger, 'requests', {}, 't')
        fleet.start(fleet.worker(0, first, 60.0))
        await until(lambda: first.moved)
        await submit(fleet.ledger, 'requests', {}, 't')
        fleet.start(fleet.worker(1, second, 60.0))
        deadline = time.monotonic() + 20
        while (found := await fleet.ledger.fleet.work('requests', 'robots')).waiting \
                or found.running != 1:
            assert time.monotonic() < deadline, found
            await asyncio.sleep(0.01)
        first.may_end.set()
        await fleet.completed()
        assert (first.moved, second.moved, second.asked) == (1, 0, 0)
    run(backend, scenario)


def test_operation_with_an_unknown_state_becomes_a_dead_letter(backend):
    async def scenario(fleet):
        async def trace(trace_id):
            return {'state': 'paused'}
        fleet.ledgers[0].operations.trace = trace
        await submit(fleet.ledger, 'requests', {}, 't')
        fleet.start(fleet.worker(0, Work()))
        await until(lambda: backend.dead_letters('requests'))
        letter, = backend.dead_letters('requests')
        assert letter['error'] == "its operation has an unknown state 'paused'"
    run(backend, scenario)
