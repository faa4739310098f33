# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The cost of an action over the life of a robot: flows one after the other, on one journal.

Each flow has actions without work, each confirmed at once, and 4 rows an action. The journal is
compacted as with a ledger that has all rows, and keeps the last --keep of them (0: all).

life_cpu: CPU of an action in the last tenth of the flows ÷ that in the first tenth, with the
    compaction that goes on meanwhile; first_cpu_us, last_cpu_us: both, in µs.
life_rss: resident memory at the end ÷ that after the first tenth; last_rss_mb: at the end.
life_fds: open file descriptors at the end − those after the first tenth.
life_start: time to open the journal and restore the robot at the end ÷ that after the first tenth;
    last_start_s: at the end.
rows, journal_mb: the rows written, and the size of the journal's files at the end.

Flows are counted when the journal has twice the rows that compaction keeps. TMPDIR: on a disk with
--keep 0.
"""

from __future__ import annotations

import os
from pathlib import Path
import statistics
import tempfile
import time

from _nodes import rss_kb
from _peer_processes import Ours
from _report import parser, report
from action_lifecycle.journal.compactor import Compactor


def start_s(folder: Path) -> float:
    """Return the time (s) to open the journal and restore the flows, of which none is open."""
    began = time.perf_counter()
    robot = Ours(folder)
    robot.orchestrator.restore()
    took = time.perf_counter() - began
    robot.journal.close()
    return took


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument('--flows', type=int, default=1000)
    options.add_argument('--actions', type=int, default=20, help='of a flow')
    options.add_argument('--keep', type=int, default=5000, help='rows that compaction keeps')
    arguments = options.parse_args()
    tenth = max(1, arguments.flows // 10)
    with tempfile.TemporaryDirectory() as name:
        folder, costs = Path(name), list[float]()
        memory: list[float] = []
        files: list[int] = []
        starts: list[float] = []
        rows = 0
        for part, flows in enumerate((tenth, arguments.flows - tenth)):
            robot = Ours(folder, arguments.actions, begin=part * 10 ** 6)
            compactor = Compactor(robot.journal, arguments.keep) if arguments.keep else None
            while rows <= 2 * arguments.keep:
                robot.run()
                rows = robot.journal.last_seq()
            while flows:
                began = time.process_time()
                robot.run()
                rows = robot.journal.last_seq()
                if compactor is not None:
                    compactor.update(rows, rows)
                costs.append((time.process_time() - began) / arguments.actions)
                flows -= 1
            if compactor is not None:
                compactor.join()
            memory.append(rss_kb(os.getpid()) / 1024)
            files.append(len(os.listdir('/proc/self/fd')))
            robot.journal.close()
            starts.append(min(start_s(folder) for _ in range(3)))
        size = sum(path.stat().st_size for path in folder.iterdir())
    first, last = (statistics.mean(found) for found in (costs[:tenth], costs[-tenth:]))
    report({
        'life_cpu': last / first, 'first_cpu_us': 1e6 * first, 'last_cpu_us': 1e6 * last,
        'life_rss': memory[1] / memory[0], 'last_rss_mb': memory[1],
        'life_fds': files[1] - files[0], 'life_start': starts[1] / starts[0],
        'last_start_s': starts[1], 'rows': rows, 'journal_mb': size / 1e6}, arguments.json)


if __name__ == '__main__':
    main()
