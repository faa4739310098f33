# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Robots send jobs to Celery workers while processes, server and network fail at random.

Each robot is a process with a CeleryEngine of its own name; it writes down each attempt that it
sends and each outcome. A robot that was killed is started again and resumes its jobs. The task
itself adds a line to a file of the job when it begins and when it is done, so what was done is
known from another source than Celery, the engine and Redis. One job in ten has no retries; one in
fifty takes longer than the visibility timeout. The faults are listed in _celery_faults.py. After
--minutes they are mended, and the robots have --drain s to get the outcomes that are missing.

jobs_per_s: jobs ÷ time until the last outcome.
p50_s, p99_s: from the time at which a job was due to be sent until its robot had the outcome.
retried: attempts beyond the first of each job.
lost: jobs with retries that ended with an error, or of which the task did not end although the
    outcome has its value.
stuck: jobs without an outcome.
doubled: outcomes beyond the first of each job.
begun_twice: jobs of which the task began more than once; begun_twice_without_retries: of these,
    the ones that must not be repeated.
failed_without_retries: jobs without retries that ended with an error, since they were lost.
fault_NAME: how often a fault happened.

The exit code is 1 unless lost, stuck, doubled and begun_twice_without_retries are all 0.
"""

from __future__ import annotations

from collections import Counter
import json
from pathlib import Path
import statistics
import sys
import tempfile
import time

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT), str(ROOT / 'test')]

from _celery_faults import Fleet  # noqa: E402
from _celery_robot import may_be_repeated  # noqa: E402
from _report import parser, report  # noqa: E402

WANTED_ZERO = ('lost', 'stuck', 'doubled', 'begun_twice_without_retries')


def run(fleet: Fleet, minutes: float, every: float, drain: float) -> float:
    """Let faults happen, mend them, and wait for the robots; returns the time (s) it took."""
    began = time.monotonic()
    end = began + minutes * 60
    due = began + every
    while time.monotonic() < end:
        fleet.mend()
        if time.monotonic() >= due:
            fleet.hurt()
            due += every
        time.sleep(0.05)
    fleet.mend(all_of_it=True)
    while not fleet.are_robots_done() and time.monotonic() < end + drain:
        time.sleep(0.05)
    return time.monotonic() - began


def figures(folder: Path, jobs: int, took: float) -> dict[str, float]:
    """Compare what the robots and the tasks have written down."""
    outcomes = [json.loads(line) for path in folder.glob('*.ended')
                for line in path.read_text().splitlines()]
    ended = {outcome['job']: outcome for outcome in outcomes}
    sent = Counter(int(line) for path in folder.glob('*.sent')
                   for line in path.read_text().splitlines())
    marks = {int(path.name): Counter(line.split()[0] for line in path.read_text().splitlines())
             for path in (folder / 'jobs').iterdir()}
    lost = [job for job, outcome in ended.items()
            if (may_be_repeated(job) if outcome['error'] else not marks.get(job, {}).get('done'))]
    twice = [job for job, found in marks.items() if found['begun'] > 1]
    latencies = sorted(outcome['latency'] for outcome in ended.values())
    percentiles = statistics.quantiles(latencies, n=100)
    for job in lost:
        print(f'lost: job {job}: {ended[job]}', file=sys.stderr)
    return {
        'jobs': jobs, 'jobs_per_s': len(ended) / took, 'p50_s': percentiles[49],
        'p99_s': percentiles[98], 'retried': sum(sent.values()) - len(sent), 'lost': len(lost),
        'stuck': jobs - len(ended), 'doubled': len(outcomes) - len(ended),
        'begun_twice': len(twice),
        'begun_twice_without_retries': sum(not may_be_repeated(job) for job in twice),
        'failed_without_retries': sum(
            bool(outcome['error']) and not may_be_repeated(job) for job, outcome in ended.items()),
    }


def main() -> int:
    """Run the fleet and print the figures."""
    options = parser(__doc__)
    options.add_argument('--minutes', type=float, default=1.0, help='time in which faults happen')
    options.add_argument('--jobs', type=int, default=1000)
    options.add_argument('--workers', type=int, default=4, help='of 3 tasks at a time each')
    options.add_argument('--robots', type=int, default=3)
    options.add_argument('--fault-every', type=float, default=4.0, metavar='S')
    options.add_argument('--drain', type=float, default=120.0, metavar='S')
    options.add_argument('--seed', type=int, default=0, help='of the faults')
    options.add_argument('--folder', help='where to leave the files, by default they are removed')
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary).resolve()
        (folder / 'jobs').mkdir(parents=True, exist_ok=True)
        fleet = Fleet(folder, arguments.workers, arguments.robots, arguments.jobs,
                      arguments.jobs / (arguments.minutes * 60), arguments.seed)
        try:
            took = run(fleet, arguments.minutes, arguments.fault_every, arguments.drain)
            if arguments.folder:
                (folder / 'workers.log').write_bytes(fleet.rig.log.read_bytes())
        finally:
            fleet.close()
        found = figures(folder, arguments.jobs, took)
    report({**found, **{f'fault_{name}': number for name, number in sorted(fleet.befell.items())}},
           arguments.json)
    return int(any(found[name] for name in WANTED_ZERO))


if __name__ == '__main__':
    raise SystemExit(main())
