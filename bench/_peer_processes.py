# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Durable flows of no-op steps, one library a process.

`_peer_processes.py LIBRARY FOLDER` prints `ready`, or why the library can't be used. Then it runs
a flow of STEPS steps for each line of stdin, and prints the wall and CPU time (s). Each library
writes a database in FOLDER with its default settings; a flow ends when its result is durable.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import gc
import heapq
import itertools
import json
import logging
import os
from pathlib import Path
import queue
import sqlite3
import sys
import time
from typing import Any

from action_lifecycle.testing.stepped_clock import Later

STEPS = 100


class Loop:
    """An event loop with the clock of the lifecycle; any thread may call `call_soon`."""

    boot_id = 'bench'
    now = wall_time = staticmethod(time.time)
    boot_time = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self._ready: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.call_soon = self._ready.put
        self._later: list[tuple[float, int, Later]] = []
        self._numbers = itertools.count()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Later:
        """Call back after `delay` s."""
        later = Later(callback)
        heapq.heappush(self._later, (time.monotonic() + delay, next(self._numbers), later))
        return later

    def run_until(self, done: Callable[[], bool]) -> None:
        """Run callbacks until `done()`."""
        while not done():
            while self._later and self._later[0][0] <= time.monotonic():
                later = heapq.heappop(self._later)[2]
                if later.callback is not None:
                    later.callback()
            wait = self._later[0][0] - time.monotonic() if self._later else 1.0
            with contextlib.suppress(queue.Empty):
                self._ready.get(timeout=max(0.0, wait))()


class Confirming:
    """A world that confirms all conditions."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def confirm(self, request: Any, result: Callable[[Any], None]) -> Later:
        """Confirm a condition."""
        from action_lifecycle.lifecycle.ports import Confirmation
        self._loop.call_soon(lambda: result(Confirmation('confirmed')))
        return Later(lambda: None)


class Ours:
    """An orchestrator on a journal; `run` runs a flow of `steps` actions, one after the other."""

    def __init__(self, folder: Path, steps: int = STEPS, begin: int = 0) -> None:
        from action_lifecycle.dialogue import OperatorDesk
        from action_lifecycle.engine import load_graph
        from action_lifecycle.flow import JournalRecorder, Orchestrator, parse_flow
        from action_lifecycle.graphs.packaged import config_file
        from action_lifecycle.journal import Journal
        self.loop = loop = Loop()
        self.journal = Journal(folder / 'journal')
        recorder = JournalRecorder(self.journal, loop, loop.call_soon, lambda action, row: None)
        world: Any = Confirming(loop)
        self.orchestrator = Orchestrator(
            load_graph(config_file('graphs/action.yaml')), recorder, world, loop,
            OperatorDesk(loop, lambda: None), None, lambda run: None)
        self._flow = parse_flow(
            'flow: row\ndefaults: {resources: [robot], confirm: z > 0}\nactions:\n'
            + ''.join(f'  step_{number}: {{}}\n' for number in range(steps)), 'row')
        self._numbers = itertools.count(begin)  #: of the flows' ids
        gc.freeze()  # as the nodes do

    def run(self) -> None:
        """Run the flow; its end survives a loss of power."""
        begun = self.orchestrator.submit(self._flow, f'row_{next(self._numbers)}')
        self.loop.run_until(lambda: begun.ended)
        assert begun.state == 'FINISH'
        self.orchestrator.forget(begun.flow_id)


def of_dbos(folder: Path) -> Callable[[], object]:
    """Run a workflow with steps."""
    from dbos import DBOS
    DBOS(config={'name': 'bench', 'system_database_url': f'sqlite:///{folder}/dbos.sqlite'})

    @DBOS.step()  # type: ignore[untyped-decorator]
    def step(number: int) -> int:
        return number

    @DBOS.workflow()  # type: ignore[untyped-decorator]
    def row() -> int:
        return sum(step(number) for number in range(STEPS))

    DBOS.launch()
    return row


def of_langgraph(folder: Path) -> Callable[[], object]:
    """Run a chain of nodes with the SQLite saver."""
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph
    from typing_extensions import TypedDict

    class State(TypedDict):
        number: int

    graph: Any = StateGraph(State)
    names = [f'step_{number}' for number in range(STEPS)]
    for name in names:
        graph.add_node(name, lambda state: {'number': state['number'] + 1})
    for one, other in zip([START, *names], [*names, END]):
        graph.add_edge(one, other)
    connection = sqlite3.connect(folder / 'langgraph.sqlite', check_same_thread=False)
    compiled = graph.compile(checkpointer=SqliteSaver(connection))
    numbers = itertools.count()
    return lambda: compiled.invoke({'number': 0}, {
        'configurable': {'thread_id': f'row_{next(numbers)}'}, 'recursion_limit': 2 * STEPS})


def of_burr(folder: Path) -> Callable[[], object]:
    """Run an application of one action, repeated, with the SQLite persister."""
    from burr.core import action, ApplicationBuilder, default, State, when
    from burr.core.persistence import SQLitePersister
    persister = SQLitePersister(str(folder / 'burr.sqlite'))
    persister.initialize()
    numbers = itertools.count()

    @action(reads=['number'], writes=['number'])  # type: ignore[untyped-decorator]
    def step(state: Any) -> Any:
        return state.update(number=state['number'] + 1)

    @action(reads=[], writes=[])  # type: ignore[untyped-decorator]
    def end(state: Any) -> Any:
        return state

    def run() -> None:
        application = (
            ApplicationBuilder().with_actions(step=step, end=end)
            .with_transitions(('step', 'end', when(number=STEPS)), ('step', 'step', default))
            .with_state(State({'number': 0})).with_entrypoint('step')
            .with_identifiers(app_id=f'row_{next(numbers)}').with_state_persister(persister)
            .build())
        application.run(halt_after=['end'])
    return run


LIBRARIES: dict[str, Callable[[Path], Callable[[], object]]] = {
    'ours': lambda folder: Ours(folder).run, 'dbos': of_dbos, 'langgraph': of_langgraph,
    'burr': of_burr}


def main(name: str, folder: str) -> None:
    """Serve one library."""
    logging.disable(logging.CRITICAL)
    answers = os.fdopen(os.dup(1), 'w', buffering=1)
    os.dup2(2, 1)  # what the libraries print
    try:
        if name == 'dbos':  # needs a newer SQLite than that of Debian
            import pysqlite3
            sys.modules['sqlite3'] = pysqlite3
        run = LIBRARIES[name](Path(folder))
    except ImportError as error:
        print(f'not installed: {error.name}', file=answers)
        return
    print('ready', file=answers)
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        print(json.dumps((time.perf_counter() - wall, time.process_time() - cpu)), file=answers)
    os._exit(0)


if __name__ == '__main__':
    main(*sys.argv[1:])
