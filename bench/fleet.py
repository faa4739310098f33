# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A fleet on one Redis: what it costs, how fast work changes hands, and what faults do to it.

All robots, the redis-server and the benchmark share this machine; ten robots run in one process.

claims_per_s: pieces of work that 100 robots take, do (the motion takes no time) and complete in a
    second; claims_vs_bare: the same relative to workers that only read, store and acknowledge.
lag_p50_ms, lag_p99_ms, lag_max_ms: from a row in the journal until the robot knows it in the
    ledger, 100 robots with 20 rows a second each; server_points, robots_points: the CPU of the
    server and of all robots meanwhile, in points of a core. redis_kb_per_robot: memory of the
    server for a robot after that.
handover_p50_s, handover_max_s: from the time at which the claim of a killed robot lapsed until
    another robot works on it, 100 robots of which 40 work.
server_exponent, work_exponent: growth of the CPU time of the server, and of server and robots
    together, with 10, 30, 100 and 300 robots that do the same for the same time: slope of the
    logarithms; points_per_robot_N: CPU of all, divided by the number of robots, in points.
sync_points: CPU to sync the journal of one robot at 20 rows a second; sync_vs_bare: relative to a
    loop without checks; node_points: CPU of a ledger node that does it.
soak_*: what happened to 100 robots while their processes were killed, stopped and cut off from the
    network; lost, moved_twice, not_asked and not_moved must be 0; see _fleet_world.py.

The figures need a redis-server, those of nodes need ROS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
import math
from pathlib import Path
import statistics
import tempfile
import time
from typing import Any

from _fleet_rig import fleet, reports, RobotProcess, Server, server, until
from _fleet_robot import STREAM
from _fleet_soak import Soak
from _fleet_sync import costs, RATE, SECONDS
from _nodes import cpu_s
from _report import parser, report

SIZES = (10, 30, 100, 300)
MIN_IDLE = 2.0  #: s, of the claims in the measurement of the hand-over and in the soak
CLAIMS = 3000
KILLED = 5  #: processes that are killed to measure the hand-over
WORKING = 40  #: robots that work meanwhile


def claims(folder: Path, store: Server, robots: int) -> dict[str, float]:
    """Return the rate of claims, and relative to that of bare workers."""
    rates = []
    for how in {'bare': True}, {'work': 60.0}:
        store.clear()
        with fleet(folder / next(iter(how)), store.url, robots) as processes:
            for process in processes:
                process.order(**how)
            time.sleep(2.0)  # all of them wait for work
            began = time.monotonic()
            store.submit(f'claim{number}' for number in range(CLAIMS))
            until(store.is_done)
            rates.append(CLAIMS / (time.monotonic() - began))
    return {'claims_per_s': rates[1], 'claims_vs_bare': rates[1] / rates[0]}


def lag(folder: Path, store: Server, robots: int) -> dict[str, float]:
    """Return the lag of the sync and what it costs."""
    before = memory(store)
    with fleet(folder, store.url, robots) as processes:
        time.sleep(2.0)
        began, used = time.monotonic(), (cpu_s(store.process.pid), cpu_of(processes))
        for process in processes:
            process.order(rows=[RATE, int(RATE * SECONDS)])
        lags = sorted(lag for told in reports(processes) for lag in told['lags'])
        took = time.monotonic() - began
        spent = cpu_s(store.process.pid) - used[0], cpu_of(processes) - used[1]
        assert len(lags) == robots * int(RATE * SECONDS)
        kept = memory(store) - before
    return {
        'lag_p50_ms': 1e3 * lags[len(lags) // 2], 'lag_p99_ms': 1e3 * lags[len(lags) * 99 // 100],
        'lag_max_ms': 1e3 * lags[-1], 'server_points': 100 * spent[0] / took,
        'robots_points': 100 * spent[1] / took, 'redis_kb_per_robot': kept / robots / 1024}


def handover(folder: Path, store: Server, robots: int) -> dict[str, float]:
    """Return the time from a lapse of a claim until another robot works on the request."""
    delays: list[float] = []
    with fleet(folder, store.url, robots) as processes:
        for process in processes:
            process.order(work=MIN_IDLE)
        for number in range(KILLED):
            store.submit((f'long{number}.{one}' for one in range(WORKING)),
                         before=4 * MIN_IDLE, after=0.0)
            until(lambda: len(store.held()) == WORKING)
            time.sleep(MIN_IDLE)
            killed = processes.pop()
            killed.end()
            now = time.monotonic()
            lapses = {held['message_id']: now + MIN_IDLE - held['time_since_delivered'] / 1e3
                      for held in store.held() if held['consumer'] in killed.names}
            works = {store.client.xrange(STREAM, message_id, message_id)[0][1]['trace_id']: lapse
                     for message_id, lapse in lapses.items()}
            until(store.is_done)
            begun: dict[str, float] = {}
            for told in reports(processes):
                for work, _, at in told['begun']:
                    if work in works and at > now:
                        begun[work] = min(at, begun.get(work, math.inf))
            delays += [begun[work] - lapse for work, lapse in works.items()]
    return {'handover_p50_s': statistics.median(delays), 'handover_max_s': max(delays),
            'handovers': len(delays)}


def growth(folder: Path, store: Server) -> dict[str, float]:
    """Return how CPU times grow with the number of robots."""
    of_server, of_all = [], []
    figures: dict[str, float] = {}
    for robots in SIZES:
        store.clear()
        with fleet(folder / str(robots), store.url, robots) as processes:
            for process in processes:
                process.order(work=MIN_IDLE)
            time.sleep(2.0)
            used = cpu_s(store.process.pid), cpu_of(processes)
            began = time.monotonic()
            for process in processes:
                process.order(rows=[2.0, 40])
            store.submit((f'work{number}' for number in range(2 * robots)), before=0.5)
            until(store.is_done)
            time.sleep(max(0.0, began + 20.0 - time.monotonic()))
            reports(processes)
            of_server.append(cpu_s(store.process.pid) - used[0])
            of_all.append(of_server[-1] + cpu_of(processes) - used[1])
            figures[f'points_per_robot_{robots}'] = 100 * of_all[-1] / robots / (
                time.monotonic() - began)
    return {'server_exponent': exponent(SIZES, of_server),
            'work_exponent': exponent(SIZES, of_all), **figures}


def soak(
    folder: Path, store: Server, seconds: float, min_idle: float, seed: int
) -> dict[str, float]:
    """Return what happened to a fleet under faults; prints each fault of the fleet itself."""
    soaked = Soak(store, folder, processes=10, robots=10, min_idle=min_idle, seed=seed)
    judged = asyncio.run(soaked.run(seconds, 20.0 * MIN_IDLE / min_idle))
    for fault in judged.faults:
        print(fault)
    wanted = ('completed', 'dead_letters', 'motion', 'take_over', 'give_up', 'lost',
              'moved_twice', 'not_asked', 'not_moved')
    return {f'soak_{name}': float(count) for name, count in (
        *soaked.counts.items(), *((name, judged.counts[name]) for name in wanted))}


def memory(store: Server) -> int:
    """Return how many bytes of memory the server uses."""
    return int(store.client.info('memory')['used_memory'])


def cpu_of(processes: Iterable[RobotProcess]) -> float:
    """Return the CPU time (s) of processes."""
    return sum(cpu_s(process.pid) for process in processes)


def exponent(sizes: Iterable[int], times: Iterable[float]) -> float:
    """Return the slope of the logarithms of times over those of sizes."""
    slope: float = statistics.linear_regression(
        [math.log(size) for size in sizes], [math.log(time) for time in times]).slope
    return slope


def main() -> None:
    """Print the figures; as JSON with `--json`."""
    options = parser(__doc__)
    options.add_argument('--only', nargs='*', help='parts to run (default: all): claims, lag, '
                         'handover, growth, costs, soak')
    options.add_argument('--robots', type=int, default=100, help='default: %(default)s')
    options.add_argument('--soak', type=float, default=60.0, metavar='S',
                         help='time of the soak (default: %(default)s)')
    options.add_argument('--claim', type=float, default=MIN_IDLE, metavar='S', help='time after '
                         'which a claim lapses in the soak; each fault is 1.1 to 2.5 times as '
                         'long (default: %(default)s)')
    options.add_argument('--seed', type=int, default=1, help='of the faults in the soak')
    arguments = options.parse_args()
    robots = arguments.robots
    parts: dict[str, Callable[[Path, Server], dict[str, Any]]] = {
        'claims': lambda folder, store: claims(folder, store, robots),
        'lag': lambda folder, store: lag(folder, store, robots),
        'handover': lambda folder, store: handover(folder, store, robots),
        'growth': growth, 'costs': costs,
        'soak': lambda folder, store: soak(
            folder, store, arguments.soak, arguments.claim, arguments.seed)}
    figures: dict[str, Any] = {}
    for name in arguments.only or parts:
        with tempfile.TemporaryDirectory() as folder, server() as store:
            figures.update(parts[name](Path(folder), store))
    report(figures, arguments.json)


if __name__ == '__main__':
    main()
