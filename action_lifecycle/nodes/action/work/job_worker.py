# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Does work of the kind `job`: tasks on the engine of the node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
import importlib.util
from pathlib import Path

from .followed import Followed, FollowedWork, shown
from .task_modules import module_faults
from ...shared.task_engine import node_engine
from ....documents.errors import LifecycleError
from ....invoke import Engine, Outcome, Progress, to_json_data
from ....invoke.local import LocalEngine
from ....invoke.run import Run
from ....invoke.work import tasks_of
from ....lifecycle.ports import Handle
from ....lifecycle.states import ErrorCode
from ....lifecycle.work import Ended, WorkRequest, WorkResult
from ....ros.node.lifecycle_node import ManagedNode
from ....work.job import JobSpec

LOST_RETRIES = 3
"""Maximum number of retries of a task whose worker was lost."""
PERIOD = 0.2
"""Period (s) in which the progress is read."""
STOP_LIMIT = 10.0
"""Maximum time (s) for the tasks of a job that is too late to stop."""


class JobWorker(Followed):
    """
    Runs jobs on the engine of the node, whose processes start with the first job.

    `journal`: path of the journal; `modules`: see `module_faults`. Raises LifecycleError if the
    parameters of the node are wrong.
    """

    def __init__(self, node: ManagedNode, journal: Path, modules: Sequence[str]) -> None:
        super().__init__(node)
        self._modules = modules
        self._engine: Engine = node_engine(node, journal)

    def faults(self, spec: JobSpec, parameters: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield modules that are not allowed, and those that a local worker can't import."""
        for fault in module_faults(spec.work(), self._modules):
            yield 'invoke', fault
        if not isinstance(self._engine, LocalEngine):
            return
        for package in sorted({task.call.split(':')[0].split('.')[0]
                               for task in tasks_of(spec.work())}):
            if importlib.util.find_spec(package) is None:
                yield 'invoke', f"no module '{package}' is on the path of this node's workers"

    def resume(self, spec: JobSpec, request: WorkRequest, ended: Ended) -> Handle:
        """Follow a job by the ids of its tasks; a local engine has lost them with its process."""
        if not spec.repeat_lost and isinstance(self._engine, LocalEngine) \
                and not self.knows(request.id):
            return self.not_running(ended, 'its tasks ended with the process of the node')
        return self.start(spec, request, ended)

    def make(self, spec: JobSpec, request: WorkRequest) -> FollowedWork:
        """Start a job, or follow the one with this id at the engine."""
        if faults := list(module_faults(spec.work(), self._modules)):
            raise LifecycleError('; '.join(faults))
        return _Job(self.node, self._engine, spec, request)

    def close(self) -> None:
        """End the tasks of a local engine; those in Celery workers continue."""
        super().close()
        self._engine.close(keep=True)


class _Job(FollowedWork):
    """A job that runs, or whose tasks are looked up."""

    def __init__(
        self, node: ManagedNode, engine: Engine, spec: JobSpec, request: WorkRequest
    ) -> None:
        super().__init__(node)
        names = {**request.parameters, 'actor_input': spec.input}
        self._run = Run(
            spec.work(), names, engine, Progress(),
            lambda run, outcome: node.call_soon(lambda: self._finished(outcome)),
            run_id=request.id, keep=True, lost_retries=LOST_RETRIES if spec.repeat_lost else 0)
        self._run.start()
        self._timers = [node.call_later(PERIOD, self._read_progress)]
        if spec.time_limit:
            self._timers.append(node.call_later(
                spec.time_limit, lambda: self._give_up(spec.time_limit)))

    def _read_progress(self) -> None:
        progress = self._run.progress
        tasks = progress.total - 1  # without the end of the run
        self.told(progress.fraction, f'{min(progress.done, tasks)} of {tasks}')
        self._timers[0] = self.node.call_later(PERIOD, self._read_progress)

    def _finished(self, outcome: Outcome) -> None:
        if outcome.error:
            self.fail(ErrorCode.WORK_FAILED, outcome.error)
        else:
            self._read_progress()
            self.end(WorkResult(
                'executed', self.node.now(), shown(outcome.value),
                result=to_json_data(outcome.value)))
        self._run.release()

    def _give_up(self, limit: float) -> None:
        """Cancel the job, since it takes too long."""
        def stopped() -> None:
            self.fail(ErrorCode.MOTION_TIMEOUT, f'no output within {limit:g} s; it was canceled')

        self._stop(stopped)

    def cancel(self) -> None:
        """Kill the tasks; the job ends when none runs."""
        self._stop(lambda: self.end(WorkResult('canceled', self.node.now(), 'no task runs')))

    def _stop(self, stopped: Callable[[], None]) -> None:
        self._timers.append(self.node.call_later(STOP_LIMIT, stopped))
        self._run.cancel(lambda: self.node.call_soon(stopped))

    def over(self) -> None:
        """Stop the timers."""
        for timer in self._timers:
            timer.cancel()
