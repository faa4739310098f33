# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One run of a DAG of tasks on an engine, and its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
import contextlib
from dataclasses import dataclass
from functools import partial
import logging
import threading
from typing import Any, NamedTuple, Protocol
import uuid

from .engine import Engine
from .jobs import Job, LOST, Names, Outcome
from .work import count, Group, Map, MAX_ELEMENTS, Sequence, Task, Work, WorkError
from ..documents.errors import LifecycleError

Then = Callable[[Any], None]

_LOG = logging.getLogger(__name__)


class Progress(NamedTuple):
    """
    The number of known tasks, the number of tasks done, and the fraction to show.

    `done` and `fraction` never decrease. `fraction` is done / total until more tasks become known
    (a map starts, another invoker state follows); then it grows in smaller steps.
    """

    total: int = 0
    done: int = 0
    fraction: float = 0.0

    def grown(self, tasks: int) -> Progress:
        """Return the progress with more tasks."""
        return self._replace(total=self.total + tasks)

    def advanced(self) -> Progress:
        """Return the progress with one more task done."""
        left = self.total - self.done
        fraction = 1.0 if left == 1 else self.fraction + (1.0 - self.fraction) / left
        return Progress(self.total, self.done + 1, fraction)


class RunSuspended(LifecycleError):
    """The log takes no more rows; another run with the same id goes on with the tasks later."""


class RunLog(Protocol):
    """
    Records the tasks of a run, so that another run can go on with it, also in a later process.

    If it raises, the run fails; if it raises RunSuspended, the run waits until it is abandoned.
    """

    def sent(self, path: str) -> None:
        """Record that a task is about to be given to a worker."""

    def ended(self, path: str, outcome: Outcome) -> None:
        """Record the outcome of a task before it is used."""


class Run:
    """
    Performs work; calls `finished(run, outcome)` exactly once.

    The first failed task ends the run. Repeated replies, and replies after the end, are ignored.

    `log` records each task by its path in the work, such as `0.2`. A run that an earlier process
    or object has begun goes on with the same `run_id` and what has been recorded: `earlier`
    has, in this order, the paths of tasks that were sent (with None) and of those that ended (with
    the outcome). What has ended is not performed again; what was sent is looked up by its job id.

    `keep`: without a log, a later process can follow a run with the same `run_id`, too, if the
    engine knows the jobs: it keeps their results until `release`. `lost_retries`: see `Job`.
    """

    def __init__(
        self,
        work: Work,
        names: Names,
        engine: Engine,
        before: Progress,
        finished: Callable[[Run, Outcome], None],
        *,
        run_id: str = '',
        log: RunLog | None = None,
        earlier: Iterable[tuple[str, Outcome | None]] | None = None,
        keep: bool = False,
        lost_retries: int = 0,
    ) -> None:
        self.id = run_id or uuid.uuid4().hex
        self.progress = before.grown(count(work) + 1)  # one for the `done` event
        self._work = work
        self._names = names
        self._engine = engine
        self._finished = finished
        self._log = log
        self._keep = keep
        self._lost_retries = lost_retries
        self._is_resumed = earlier is not None
        self._earlier = list(earlier or ())
        self._lock = threading.RLock()
        self._entered = 0  #: number of frames that hold the lock
        self._waiting: dict[str, _Waiting] = {}  #: tasks to be submitted, by path
        self._sent: set[str] = set()  #: paths of tasks that an earlier process has sent
        self._open: set[str] = set()  #: paths of the submitted tasks that have not ended
        self._jobs: list[Job] = []  #: whose results the engine keeps
        self._recorded: dict[str, Job] = {}  #: the same until their outcomes are recorded
        self._over = False
        self._outcome: Outcome | None = None
        self._stopped: Callable[[], None] | None = None

    def start(self) -> None:
        """Submit the first tasks, after the recorded outcomes have been used again."""
        with self._guarded():
            self._perform(self._work, self._names, lambda value: self._end(Outcome(value)), '0')
            for path, outcome in self._earlier:
                if outcome is None:
                    self._sent.add(path)
                elif path in self._waiting and not self._over:
                    waiting = self._waiting.pop(path)
                    waiting.replied = True
                    self._use(waiting, outcome)
            self._submit_all()

    def abandon(self) -> None:
        """End the run without calling `finished`."""
        with self._lock:
            self._over = True

    def cancel(self, stopped: Callable[[], None]) -> None:
        """End the run without calling `finished`; `stopped` is called when no task runs."""
        with self._lock:
            self._over = True
            self._stopped = stopped
        self._engine.withdraw()
        self.release()
        self._dropped('')

    def release(self) -> None:
        """Say that the results of the tasks are not needed any more."""
        with self._lock:
            jobs, self._jobs = self._jobs, []
        if jobs:
            self._engine.release(jobs)

    def _dropped(self, path: str) -> None:
        """Handle that a task does not run."""
        with self._lock:
            self._open.discard(path)
            stopped = None if self._open else self._stopped
            if stopped is not None:
                self._stopped = None
        if stopped is not None:
            stopped()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Hold the lock; afterwards, report the end of the run without it."""
        with self._lock:
            self._entered += 1
            try:
                yield
            finally:
                self._entered -= 1
                outcome = None
                if not self._entered:
                    outcome, self._outcome = self._outcome, None
        if outcome is not None:
            self._finished(self, outcome)

    def _perform(self, work: Work, names: Names, then: Then, path: str) -> None:
        if isinstance(work, Task):
            self._waiting[path] = _Waiting(path, work, names, then)
        elif isinstance(work, Sequence):
            self._follow(work.parts, names, then, path, 0)
        elif isinstance(work, Group):
            self._together([(part, names) for part in work.parts.values()],
                           lambda values: self._joined(dict(zip(work.parts, values)), then), path)
        else:
            self._waiting[path] = _Waiting(
                path, Task('', work.over), names,
                lambda elements: self._map(work, elements, names, then, path))

    def _follow(
        self, parts: tuple[Work, ...], names: Names, then: Then, path: str, index: int
    ) -> None:
        def next_part(value: Any) -> None:
            self._advance()
            self._follow(parts, {**names, 'actor_input': value}, then, path, index + 1)
        self._perform(parts[index], names, next_part if index + 1 < len(parts) else then,
                      f'{path}.{index}')

    def _map(self, work: Map, elements: Any, names: Names, then: Then, path: str) -> None:
        if not isinstance(elements, list) or len(elements) > MAX_ELEMENTS:
            got = f'{len(elements)} elements' if isinstance(elements, list) \
                else type(elements).__name__
            raise WorkError(f'a map takes a list of at most {MAX_ELEMENTS} elements, got {got}')
        self.progress = self.progress.grown(len(elements) * count(work.each))
        self._together([(work.each, {**names, 'actor_input': element, 'map_index': index})
                        for index, element in enumerate(elements)], then, path)

    def _together(self, parts: list[tuple[Work, Names]], then: Then, path: str) -> None:
        """Perform parts concurrently; `then` gets the list of their values."""
        values: list[Any] = [None] * len(parts)
        waiting = set(range(len(parts)))
        if not parts:
            then(values)

        def arrived(index: int, value: Any) -> None:
            values[index] = value
            waiting.discard(index)
            if not waiting:
                then(values)
        for index, (part, names) in enumerate(parts):
            self._perform(part, names, partial(arrived, index), f'{path}.{index}')

    def _joined(self, value: Any, then: Then) -> None:
        self._advance()
        then(value)

    def _submit_all(self) -> None:
        while self._waiting and not self._over:
            waiting = self._waiting.pop(next(iter(self._waiting)))
            task = waiting.task
            job = Job(task.call, task.input, waiting.names, task.time_limit,
                      lambda: not self._over, partial(self._reply, waiting), task.retries,
                      lost_retries=self._lost_retries,
                      dropped=partial(self._dropped, waiting.path))
            self._open.add(waiting.path)
            if self._log is not None:
                self._submit_recorded(waiting.path, job, self._log)
            elif self._keep:
                job = job._replace(id=f'{self.id}.{waiting.path}', keep=True)
                self._jobs.append(job)
                self._engine.resume(job, False)
            else:
                self._engine.submit(job)

    def _submit_recorded(self, path: str, job: Job, log: RunLog) -> None:
        """
        Submit a job that is looked up by its id if an earlier process may have sent it.

        The engine keeps its result until the outcome is recorded.
        """
        job = job._replace(id=f'{self.id}.{path}', sent=partial(log.sent, path), keep=True)
        self._recorded[path] = job
        resume = getattr(self._engine, 'resume', None)
        if resume is None:  # an engine that knows no ids
            if path in self._sent:
                job.reply(Outcome(None, LOST))
                return
            log.sent(path)
            self._engine.submit(job)
        elif self._is_resumed:
            resume(job, path in self._sent)
        else:
            self._engine.submit(job)

    def _reply(self, waiting: _Waiting, outcome: Outcome) -> None:
        self._dropped(waiting.path)
        with self._guarded():
            if self._over or waiting.replied:
                return
            waiting.replied = True
            try:
                if self._log is not None:
                    self._log.ended(waiting.path, outcome)
                    self._release_recorded(waiting.path)
            except RunSuspended:  # the engine keeps the outcome for the run that goes on
                return
            except Exception as error:  # what is not recorded must not be used
                outcome = Outcome(None, f'its outcome is not recorded: {error}')
                self._release_recorded(waiting.path)
            self._use(waiting, outcome)
            try:
                self._submit_all()
            except Exception as error:
                self._end(Outcome(None, str(error) or type(error).__name__))

    def _release_recorded(self, path: str) -> None:
        job = self._recorded.pop(path, None)
        release = getattr(self._engine, 'release', None)
        if job is not None and release is not None:
            release([job])

    def _use(self, waiting: _Waiting, outcome: Outcome) -> None:
        """Go on with the outcome of a task."""
        task = waiting.task
        if outcome.error:
            name = f"task '{task.call}'" if task.call else 'the list of a map'
            self._end(Outcome(None, f'{name}: {outcome.error}'))
            return
        try:
            self._advance()
            waiting.then(outcome.value)
        except Exception as error:
            _LOG.debug('a run can not go on', exc_info=True)
            self._end(Outcome(None, str(error) or type(error).__name__))

    def _advance(self) -> None:
        self.progress = self.progress.advanced()

    def _end(self, outcome: Outcome) -> None:
        if not self._over:
            self._over = True
            self._outcome = outcome


@dataclass
class _Waiting:
    """A task and what follows it."""

    path: str
    task: Task
    names: Names
    then: Then
    replied: bool = False
