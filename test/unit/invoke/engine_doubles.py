# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
