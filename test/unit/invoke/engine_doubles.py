# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Engines around a real one, that deliver later or twice."""

from __future__ import annotations

import threading
from typing import Any

from action_lifecycle.invoke import Engine, Job, Outcome


class Held:
    """An engine that replies to nothing while an event is fired."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.go = threading.Event()

    def submit(self, job: Job) -> None:
        def reply(outcome: Outcome) -> None:
            self.go.wait(30)
            job.reply(outcome)
        self.engine.submit(job._replace(reply=reply))

    def send(self, session: Any, *event: str) -> Any:
        """Return the reply of a session to an event, which can't know an end of its work."""
        self.go.clear()
        try:
            return session.send(*event)
        finally:
            self.go.set()


class Twice:
    """An engine that delivers everything twice: it performs it twice, and repeats the reply."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.replies = 0

    def submit(self, job: Job) -> None:
        def reply(outcome: Outcome) -> None:
            self.replies += 1
            job.reply(outcome)
            job.reply(outcome)
        for _ in range(2):
            self.engine.submit(job._replace(reply=reply, wanted=lambda: True))
