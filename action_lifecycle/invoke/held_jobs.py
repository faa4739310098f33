# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The jobs of an engine that can be found again by their id in the same process."""

from __future__ import annotations

from collections.abc import Iterable
import threading
from typing import Optional

from .jobs import Job, Outcome

KEPT = 100
"""Maximum number of outcomes that are kept until they are released; the oldest is forgotten."""


class HeldJobs:
    """
    The jobs with an id that have not ended, and the outcomes of those with `keep`.

    A job is held until it ends, is not wanted, or could not be sent; an outcome until `release`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, _Held] = {}
        self._ended: dict[str, _Held] = {}

    def hold(self, job: Job) -> Job:
        """Return the same job, whose callbacks are those of the last `rebind`."""
        if not job.id:
            return job
        held = _Held(self, job)
        with self._lock:
            self._open[job.id] = held
            self._ended.pop(job.id, None)
        return job._replace(wanted=held.wanted, reply=held.reply, sent=held.sent,
                            dropped=held.dropped)

    def rebind(self, job: Job) -> tuple[bool, Optional[Outcome]]:
        """Have the job with this id call back to `job`; return whether it is held, its outcome."""
        with self._lock:
            held = self._open.get(job.id) or self._ended.get(job.id)
            if held is None:
                return False, None
            held.job = job
            return True, held.outcome

    def release(self, jobs: Iterable[Job]) -> None:
        """Forget jobs."""
        with self._lock:
            for job in jobs:
                self._open.pop(job.id, None)
                self._ended.pop(job.id, None)

    def forget(self, held: _Held, job: Job) -> bool:
        """Forget a job unless another one than `job` is called back by now."""
        with self._lock:
            if held.job is not job:
                return False
            for jobs in self._open, self._ended:
                if jobs.get(job.id) is held:
                    del jobs[job.id]
            return True

    def end(self, held: _Held, outcome: Outcome) -> Job:
        """Keep the outcome of a job; return the job that is to be called back."""
        with self._lock:
            job, held.outcome = held.job, outcome
            if self._open.get(job.id) is held:
                del self._open[job.id]
                if job.keep:
                    self._ended[job.id] = held
                    while len(self._ended) > KEPT:
                        del self._ended[next(iter(self._ended))]
            return job


class _Held:
    """The callbacks of a job, which go to the last one that was bound."""

    def __init__(self, jobs: HeldJobs, job: Job) -> None:
        self._jobs = jobs
        self.job = job
        self.outcome: Outcome | None = None

    def wanted(self) -> bool:
        while True:
            job = self.job
            if job.wanted():
                return True
            if self._jobs.forget(self, job):
                return False

    def sent(self) -> None:
        while True:
            job = self.job
            try:
                job.sent()
                return
            except Exception:
                if self._jobs.forget(self, job):
                    raise

    def reply(self, outcome: Outcome) -> None:
        job = self._jobs.end(self, outcome)
        if not job.wanted():
            self._jobs.forget(self, job)
        job.reply(outcome)

    def dropped(self) -> None:
        job = self.job
        self._jobs.forget(self, job)
        job.dropped()
