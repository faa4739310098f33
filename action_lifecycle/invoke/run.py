# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""One run of a DAG of tasks on an engine, and its progress."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import logging
import threading
from typing import Any, NamedTuple
import uuid

from .jobs import Engine, Job, Names, Outcome
from .work import count, Group, Map, MAX_ELEMENTS, Sequence, Task, Work, WorkError

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


class Run:
    """
    Performs work; calls `finished(run, outcome)` exactly once.

    The first failed task ends the run. Repeated replies, and replies after the end, are ignored.
    """

    def __init__(
        self,
        work: Work,
        names: Names,
        engine: Engine,
        before: Progress,
        finished: Callable[[Run, Outcome], None],
    ) -> None:
        self.id = uuid.uuid4().hex
        self.progress = before.grown(count(work) + 1)  # one for the `done` event
        self._work = work
        self._names = names
        self._engine = engine
        self._finished = finished
        self._lock = threading.Lock()
        self._over = False

    def start(self) -> None:
        """Submit the first tasks."""
        self._perform(self._work, self._names, lambda value: self._end(Outcome(value)))

    def abandon(self) -> None:
        """End the run without calling `finished`."""
        with self._lock:
            self._over = True

    def _perform(self, work: Work, names: Names, then: Then) -> None:
        if isinstance(work, Task):
            self._submit(work, names, then)
        elif isinstance(work, Sequence):
            self._follow(work.parts, names, then)
        elif isinstance(work, Group):
            self._together([(part, names) for part in work.parts.values()],
                           lambda values: self._joined(dict(zip(work.parts, values)), then))
        else:
            self._submit(Task('', work.over), names,
                         lambda elements: self._map(work, elements, names, then))

    def _follow(self, parts: tuple[Work, ...], names: Names, then: Then) -> None:
        first, rest = parts[0], parts[1:]

        def next_part(value: Any) -> None:
            self._advance()
            self._follow(rest, {**names, 'actor_input': value}, then)
        self._perform(first, names, next_part if rest else then)

    def _map(self, work: Map, elements: Any, names: Names, then: Then) -> None:
        if not isinstance(elements, list) or len(elements) > MAX_ELEMENTS:
            got = f'{len(elements)} elements' if isinstance(elements, list) \
                else type(elements).__name__
            raise WorkError(f'a map takes a list of at most {MAX_ELEMENTS} elements, got {got}')
        with self._lock:
            self.progress = self.progress.grown(len(elements) * count(work.each))
        self._together([(work.each, {**names, 'actor_input': element, 'map_index': index})
                        for index, element in enumerate(elements)], then)

    def _together(self, parts: list[tuple[Work, Names]], then: Then) -> None:
        """Perform parts concurrently; `then` gets the list of their values."""
        values: list[Any] = [None] * len(parts)
        waiting = set(range(len(parts)))
        if not parts:
            then(values)

        def arrived(index: int, value: Any) -> None:
            with self._lock:
                values[index] = value
                waiting.discard(index)
                complete = not waiting
            if complete:
                then(values)
        for index, (part, names) in enumerate(parts):
            self._perform(part, names, partial(arrived, index))

    def _joined(self, value: Any, then: Then) -> None:
        self._advance()
        then(value)

    def _submit(self, task: Task, names: Names, then: Then) -> None:
        replied = False

        def reply(outcome: Outcome) -> None:
            nonlocal replied
            with self._lock:
                if self._over or replied:
                    return
                replied = True
            if outcome.error:
                name = f"task '{task.call}'" if task.call else 'the list of a map'
                self._end(Outcome(None, f'{name}: {outcome.error}'))
                return
            try:
                self._advance()
                then(outcome.value)
            except Exception as error:
                _LOG.debug('a run can not go on', exc_info=True)
                self._end(Outcome(None, str(error) or type(error).__name__))
        self._engine.submit(Job(
            task.call, task.input, names, task.time_limit, lambda: not self._over, reply,
            task.retries))

    def _advance(self) -> None:
        with self._lock:
            self.progress = self.progress.advanced()

    def _end(self, outcome: Outcome) -> None:
        with self._lock:
            if self._over:
                return
            self._over = True
        self._finished(self, outcome)
