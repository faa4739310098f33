# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Processes that are killed, and the next ones on their journals."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from action_lifecycle.flow import FlowRun

from .robot import Killed, Process, Start


def restart(start: Start, process: Process) -> tuple[Process, list[FlowRun]]:
    """Kill the process and start the next one; returns it with the flows that it restored."""
    process.kill()
    process = start()
    return process, process.orchestrator.restore()


def killed_at_every_row(
    start: Start, work: Callable[[Process, str], None], *, fewest: int, most: int = 80,
    prepare: Callable[[Process, str], None] = lambda process, flow_id: None,
) -> Iterator[tuple[str, Process, list[FlowRun]]]:
    """
    Kill a process after its first row, another after its second, and so on, until one survives.

    All are on one journal. Each prepares a flow of its own, then works on it and is killed
    meanwhile. Yields the id of the flow, the process that was started next, and the flows that
    it restored. At least `fewest` and fewer than `most` rows must be needed.
    """
    for rows in range(1, most):
        process = start()
        flow_id = f'f{rows}'
        prepare(process, flow_id)
        process.die_after(rows)
        try:
            work(process, flow_id)
        except Killed:
            process, runs = restart(start, process)
            yield flow_id, process, runs
            process.kill()
        else:
            assert rows > fewest
            return
    raise AssertionError('the work never ended')
