# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Requests on a stream are done once, whoever dies; what can't be done is one dead letter."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
import subprocess
import sys
import time

from action_lifecycle.fleet import RedisLedger, RedisTasks, SmartLedger
from action_lifecycle.fleet.backends.redis.connection import PASSWORD, USERNAME
from action_lifecycle.fleet.consumer import OperationConsumer, submit
from action_lifecycle.fleet.loop_thread import end
from action_lifecycle.graphs.packaged import config_file
import pytest
import redis

PROCESS = Path(__file__).with_name('consumer_process.py')
IDLE = 0.3


class Work:
    """Counts, and does what the request says."""

    def __init__(self):
        self.gathered = self.performed = 0
        self.asked = []
        self.answer = ''
        self.known = False

    def ready(self):
        return True

    def can_resume(self, request):
        return self.known

    async def take_over(self, request):
        self.asked.append(request)
        return self.answer

    async def gather(self, request):
        self.gathered += 1
        return {'asked': request.data['text']}

    async def perform(self, operation, gathered):
        self.performed += 1
        what = gathered['asked']
        if what == 'slow':
            await asyncio.sleep(4 * IDLE)
        if 'motion' in what:
            await operation.start_motion()
        if 'fail' in what:
            raise ValueError('no')
        return {'did': what}


def run(server, work_or_works, until, *texts, name=''):
    """Let workers work until something is so; return the trace ids."""
    works = work_or_works if isinstance(work_or_works, list) else [work_or_works]

    async def main():
        ledger = RedisLedger(server.url)
        traces = [await submit(ledger, 'requests', {'text': text}) for text in texts]
        workers = [asyncio.ensure_future(OperationConsumer(
            ledger, 'requests', 'robots', work, name=name, min_idle=IDLE).run()) for work in works]
        deadline = time.monotonic() + 20
        while not until():
            assert time.monotonic() < deadline, {
                key: server.client.type(key) for key in server.client.keys('*')}
            for worker in workers:
                assert not worker.done(), worker.exception()
            await asyncio.sleep(0.02)
        await end(*workers)
        await ledger.close()
        return traces
    return asyncio.run(main())


def acked(server, count):
    def look():
        groups = server.client.xinfo_groups('requests') if server.client.exists('requests') else []
        return bool(groups) and groups[0]['pending'] == 0 \
            and groups[0].get('entries-read') == count
    return look


def test_each_request_is_done_once_and_its_result_kept(redis_server):
    works = [Work(), Work()]
    traces = run(redis_server, works, acked(redis_server, 6), *'abcdef')
    assert sum(work.performed for work in works) == 6
    for trace, text in zip(traces, 'abcdef', strict=True):
        assert redis_server.client.hget(f'sg:trace:{trace}', 'state') == 'COMPLETED'
        assert json.loads(redis_server.client.get(f'sg:result:{trace}')) == {'did': text}
        assert redis_server.client.ttl(f'sg:result:{trace}') > 0
    assert not redis_server.client.exists('{requests}:dead')


def test_work_that_takes_longer_than_the_idle_time_is_not_taken_over(redis_server):
    for _ in range(3):  # anew when it may count as dead because all stood still
        redis_server.client.flushall()
        works, looks = [Work(), Work()], []

        def until(looks=looks):
            looks.append(time.monotonic())
            return acked(redis_server, 1)()
        run(redis_server, works, until, 'slow')
        done = [sum(work.performed for work in works), sum(work.gathered for work in works)]
        if done == [1, 1] or max(b - a for a, b in zip(looks, looks[1:])) < IDLE / 2:
            break
    assert done == [1, 1]


def test_work_that_was_taken_over_is_stopped_even_if_it_overlooks_the_first_try(redis_server):
    client = redis_server.client

    class Deaf(Work):
        overlooked = 0
        ended = False

        async def perform(self, operation, gathered):
            if self.performed:
                return await super().perform(operation, gathered)
            self.performed = 1
            pending, = client.xpending_range('requests', 'robots', '-', '+', 1)
            client.xclaim('requests', 'robots', 'other', 0, [pending['message_id']])
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.overlooked += 1  # as redis-py 4.3 does now and then
            try:
                await asyncio.sleep(60)
            finally:
                self.ended = True

    work = Deaf()
    run(redis_server, work, lambda: work.ended and acked(redis_server, 1)(), 'a')
    assert (work.overlooked, work.performed) == (1, 2)


def test_request_that_always_fails_is_one_dead_letter_after_three_tries(redis_server):
    works = [Work(), Work()]
    trace, = run(redis_server, works, acked(redis_server, 1), 'fail')
    assert sum(work.performed for work in works) == 3
    assert sum(work.gathered for work in works) == 1
    letters = redis_server.client.xrange('{requests}:dead')
    assert len(letters) == 1
    letter = letters[0][1]
    assert (letter['original_stream'], letter['trace_id'], letter['attempt']) == (
        'requests', trace, '3')
    assert json.loads(letter['data'])['text'] == 'fail' and 'no' in letter['error']
    assert redis_server.client.hget(f'sg:trace:{trace}', 'state') == 'ERRORED'


def test_failure_after_a_motion_is_not_tried_again(redis_server):
    work = Work()
    run(redis_server, work, acked(redis_server, 2), 'motion, fail', 'motion')
    assert work.performed == 2
    assert len(redis_server.client.xrange('{requests}:dead')) == 1


def test_same_trace_twice_is_worked_on_once(redis_server):
    for _ in range(2):
        redis_server.client.xadd('requests', {'text': 'a', 'trace_id': 't'})
    work = Work()
    run(redis_server, work, acked(redis_server, 2))
    assert work.performed == 1


def long_ago():
    """Return the id of a message whose trace may have expired."""
    return f'{int((time.time() - 90_000) * 1000)}-0'


def test_expired_trace_is_a_dead_letter_and_stays_away(redis_server):
    client = redis_server.client
    client.xadd('requests', {'text': 'a', 'trace_id': 't'}, id=long_ago())
    client.xgroup_create('requests', 'robots', id='0')
    client.xreadgroup('robots', 'dead', {'requests': '>'})
    run(redis_server, Work(), acked(redis_server, 1))
    assert not client.exists('sg:trace:t')
    assert 'too old' in client.xrange('{requests}:dead')[0][1]['error']


def test_request_whose_first_delivery_was_lost_is_done(redis_server):
    client = redis_server.client
    client.xadd('requests', {'text': 'a', 'trace_id': 't'})
    client.xgroup_create('requests', 'robots', id='0')
    client.xreadgroup('robots', 'dead', {'requests': '>'})
    work = Work()
    run(redis_server, work, acked(redis_server, 1))
    assert work.performed == 1 and not client.exists('{requests}:dead')
    assert client.hmget('sg:trace:t', ['state', 'attempt']) == ['COMPLETED', '2']


def test_request_of_long_ago_is_not_done_after_its_group_was_lost(redis_server):
    client = redis_server.client
    client.xadd('requests', {'text': 'a', 'trace_id': 't'}, id=long_ago())
    work = Work()
    trace, = run(redis_server, work, acked(redis_server, 2), 'b')
    assert work.performed == 1
    assert [one['trace_id'] for _, one in client.xrange('{requests}:dead')] == ['t']
    client.xgroup_destroy('requests', 'robots')  # and what was done lately is not done again
    run(redis_server, work, acked(redis_server, 2))
    assert work.performed == 1


def killed_worker(server, text):
    """Submit a request and kill its worker when that is in the middle of its work."""
    server.client.xadd('requests', {'text': text, 'trace_id': 't'})
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, str(PROCESS), server.url], env=environment)
    deadline = time.monotonic() + 20
    while not server.client.exists('working'):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait(10)


def test_work_of_a_killed_worker_goes_on_behind_its_checkpoint(redis_server):
    killed_worker(redis_server, 'a')
    work = Work()
    run(redis_server, work, acked(redis_server, 1))
    assert (work.gathered, work.performed) == (0, 1)
    assert redis_server.client.hget('sg:trace:t', 'state') == 'COMPLETED'
    assert json.loads(redis_server.client.get('sg:result:t')) == {'did': 'a'}


def test_nobody_takes_over_after_the_first_motion_when_a_person_says_no(redis_server):
    killed_worker(redis_server, 'motion')
    work = Work()
    run(redis_server, work, acked(redis_server, 1))
    assert (work.gathered, work.performed, len(work.asked)) == (0, 0, 1)
    assert 'first motion' in redis_server.client.xrange('{requests}:dead')[0][1]['error']
    assert redis_server.client.hget('sg:trace:t', 'state') == 'ERRORED'


def test_a_person_lets_another_worker_do_it_anew_while_others_wait_for_nobody(redis_server):
    killed_worker(redis_server, 'motion')
    answered = asyncio.Event()

    class Asking(Work):
        async def take_over(self, request):
            self.asked.append(request)
            await answered.wait()
            return 'anna'

    work = Asking()
    client = redis_server.client

    def until():
        if work.performed == 1:
            answered.set()  # the other request was done while the question was open
        return acked(redis_server, 2)()
    other, = run(redis_server, work, until, 'b')
    assert len(work.asked) == 1 and work.performed == 2
    assert client.hget(f'sg:trace:{other}', 'state') == 'COMPLETED'
    assert client.hmget('sg:trace:t', ['state', 'taken_over_by']) == ['COMPLETED', 'anna']
    assert not client.exists('{requests}:dead')


def test_worker_that_comes_back_goes_on_after_its_first_motion_unasked(redis_server):
    killed_worker(redis_server, 'motion')
    work = Work()
    work.known = True
    run(redis_server, work, acked(redis_server, 1), name='first')
    assert (work.gathered, work.performed, work.asked) == (0, 1, [])
    assert redis_server.client.hget('sg:trace:t', 'state') == 'COMPLETED'


class Cutting(Work):
    """Its server goes away for longer than the idle time, once."""

    def __init__(self, server, moves_first):
        super().__init__()
        self.server = server
        self.moves_first = moves_first
        self.moved = 0

    async def perform(self, operation, gathered):
        self.performed += 1
        if self.moves_first:
            await operation.start_motion()
        if self.performed == 1:
            self.server.kill()
            asyncio.get_running_loop().call_later(2 * IDLE, self.server.start)
        await operation.start_motion()
        self.moved += 1

    def until(self):
        return self.server.process.poll() is None and self.server.client.keys('sg:result:*') \
            and self.server.client.xinfo_groups('requests')[0]['pending'] == 0


def test_server_that_is_away_for_a_while_does_not_end_the_work(redis_server):
    work = Cutting(redis_server, moves_first=True)
    trace, = run(redis_server, work, work.until, 'a')
    assert (work.performed, work.moved) == (1, 1)
    assert not redis_server.client.exists('{requests}:dead')
    assert redis_server.client.hget(f'sg:trace:{trace}', 'state') == 'COMPLETED'


def test_motion_that_can_not_be_noted_while_the_claim_is_held_does_not_start(redis_server):
    work = Cutting(redis_server, moves_first=False)
    trace, = run(redis_server, work, work.until, 'a')
    assert (work.gathered, work.performed, work.moved) == (1, 2, 1)
    assert redis_server.client.hget(f'sg:trace:{trace}', 'attempt') == '2'


def test_worker_that_is_not_ready_takes_nothing(redis_server):
    class Busy(Work):

        def ready(self):
            return False

    works = [Busy(), Work()]
    run(redis_server, works, acked(redis_server, 3), *'abc')
    assert (works[0].performed, works[1].performed) == (0, 3)


def test_strange_request_stops_nobody(redis_server):
    client = redis_server.client
    client.xadd('requests', {b'\xff': b'\xfe', 'text': 'fail'})
    client.xadd('requests', {'text': b'\xff', 'trace_id': b'\xff{}:*'})
    work = Work()
    run(redis_server, [work, Work()], acked(redis_server, 3), 'a')
    assert len(client.xrange('{requests}:dead')) == 1


def test_work_that_goes_on_for_days_keeps_its_trace(redis_server):
    client = redis_server.client

    class Long(Work):
        async def perform(self, operation, gathered):
            client.expire(f'sg:trace:{operation.request.trace_id}', 60)
            client.expire(f'sg:checkpoint:{operation.request.trace_id}', 60)
            await asyncio.sleep(2 * IDLE)
            return await super().perform(operation, gathered)

    trace, = run(redis_server, Long(), acked(redis_server, 1), 'a')
    for key in f'sg:trace:{trace}', f'sg:checkpoint:{trace}':
        assert client.ttl(key) > 1000


def test_trimmed_request_is_a_dead_letter(redis_server):
    client = redis_server.client
    client.xadd('requests', {'text': 'a', 'trace_id': 't'})
    client.xgroup_create('requests', 'robots', id='0')
    client.xreadgroup('robots', 'first', {'requests': '>'})
    client.xtrim('requests', maxlen=0)
    work = Work()
    run(redis_server, work, lambda: client.xinfo_groups('requests')[0]['pending'] == 0,
        name='first')
    assert work.performed == 0 and 'trimmed' in client.xrange('{requests}:dead')[0][1]['error']


def test_user_of_the_example_may_do_all_that_a_robot_does_and_no_more(redis_server, monkeypatch):
    rules = next(line.split()[2:] for line in Path(config_file('redis-acl.example')).read_text(
        'utf-8').splitlines() if line.startswith('user robot7'))
    redis_server.client.execute_command('ACL', 'SETUSER', 'robot7', 'reset', *rules)
    monkeypatch.setenv(USERNAME, 'robot7')
    monkeypatch.setenv(PASSWORD, 'change-me')

    async def main():
        ledger = RedisLedger(redis_server.url, 'robot7')
        assert (await ledger.cursor()).seq == 0
        assert await ledger.apply([]) == 0
        assert await ledger.trim(time.time()) == 0
        client = ledger.redis
        work = Work()
        trace = await submit(ledger, 'flows', {'text': 'motion'})
        worker = asyncio.ensure_future(OperationConsumer(
            ledger, 'flows', 'robots', work, name='robot7', min_idle=IDLE).run())
        deadline = time.monotonic() + 10
        while not await client.exists(f'sg:result:{trace}'):
            assert time.monotonic() < deadline and not worker.done()
            await asyncio.sleep(0.02)
        await end(worker)
        with pytest.raises(redis.exceptions.NoPermissionError):
            await client.hset('al:{robot8}:meta', 'seq', 1)
        with pytest.raises(redis.exceptions.NoPermissionError):
            await client.flushall()
        await ledger.close()
    asyncio.run(main())
    tasks = SmartLedger('42_7', RedisTasks(redis_server.url))
    assert tasks.claim('pick') and tasks.heartbeat('pick') and tasks.release('pick')
    redis_server.client.execute_command('ACL', 'DELUSER', 'robot7')
