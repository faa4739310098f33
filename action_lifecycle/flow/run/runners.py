# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The runners of a flow's actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..files.flow import LoadedFlow
from ...lifecycle.running.runner import ActionRunner


class Runners(Mapping[str, ActionRunner]):
    """The runners of a flow's actions; each is created on first access."""

    def __init__(self, flow: LoadedFlow, make: Callable[[str], ActionRunner]) -> None:
        self._flow = flow
        self._make = make
        self._made: dict[str, ActionRunner] = {}

    def __getitem__(self, name: str) -> ActionRunner:
        runner = self._made.get(name)
        if runner is None:
            if name not in self._flow.actions:
                raise KeyError(name)
            runner = self._made[name] = self._make(name)
        return runner

    def __iter__(self) -> Iterator[str]:
        return iter(self._flow.actions)

    def __len__(self) -> int:
        return len(self._flow.actions)

    def __contains__(self, name: object) -> bool:
        return name in self._flow.actions

    def made(self) -> list[ActionRunner]:
        """Return the runners created so far; other actions are unchanged."""
        return list(self._made.values())

    def one_made(self, name: str) -> ActionRunner | None:
        """Return the runner of an action; None if it was not created."""
        return self._made.get(name)

    def renew(self, name: str) -> None:
        """
        Replace the runner of an action that was edited before it started.

        An action that is assigned again keeps its record.
        """
        old = self._made.pop(name, None)
        if old is not None and old.action.seq and name in self._flow.actions:
            self[name].action.keep_record(old.action)
