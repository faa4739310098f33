# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Metrics of a run: longest path, work, parallelism, width, and the time in each state.

Path and work are given in actions and in seconds. As in Brent's work-span model, parallelism is
the work divided by the longest path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...lifecycle.action import Action


@dataclass(frozen=True)
class FlowMetrics:
    """
    The metrics of one flow; times in s.

    `width`: the largest number of actions at the same depth. `waited_s`: time that ready actions
    waited for resources or for `max_motions`. `states`: total time of all actions in each state.
    """

    longest_path: int
    work: int
    parallelism: float
    width: int
    longest_path_s: float
    work_s: float
    parallelism_s: float
    waited_s: float
    longest_wait_s: float
    longest_wait: str  #: the action that waited longest
    states: Mapping[str, float]
    attempts: int
    retries: int
    fallbacks: int

    @classmethod
    def of(cls, actions: Sequence[Action]) -> FlowMetrics:
        """Return the metrics of a flow's actions, given in topological order."""
        level: dict[str, int] = {}
        path: dict[str, float] = {}
        work = 0.0
        states: Counter[str] = Counter()
        for action in actions:
            before = [needed for needed in action.spec.after if needed in level]
            busy = sum(action.spent.values())
            work += busy
            states.update(action.spent)
            level[action.action_id] = 1 + max((level[name] for name in before), default=0)
            path[action.action_id] = busy + max((path[name] for name in before), default=0.0)
        longest, longest_s = max(level.values(), default=0), max(path.values(), default=0.0)
        slowest = max(actions, key=lambda action: action.waited, default=None)
        attempts = sum(action.attempt for action in actions)
        fallbacks = sum(action.fallbacks for action in actions)
        return cls(
            longest_path=longest, work=len(actions),
            parallelism=round(len(actions) / longest, 2) if longest else 0.0,
            width=max(Counter(level.values()).values(), default=0),
            longest_path_s=round(longest_s, 3), work_s=round(work, 3),
            parallelism_s=round(work / longest_s, 2) if longest_s else 0.0,
            waited_s=round(sum(action.waited for action in actions), 3),
            longest_wait_s=round(slowest.waited, 3) if slowest else 0.0,
            longest_wait=slowest.action_id if slowest and slowest.waited else '',
            states={name: round(spent, 3) for name, spent in states.most_common() if spent},
            attempts=attempts,
            retries=attempts - fallbacks - sum(action.attempt > 0 for action in actions),
            fallbacks=fallbacks)


def metrics_table(data: Mapping[str, Any]) -> str:
    """Return the metrics of a summary as a table, with one metric per line."""
    rows = [
        ('longest path', f"{data['longest_path']} actions, {data['longest_path_s']:.1f} s"),
        ('total work', f"{data['work']} actions, {data['work_s']:.1f} s"),
        ('parallelism', f"{data['parallelism']:.2f} by actions, {data['parallelism_s']:.2f} by "
         'time'),
        ('width', f"{data['width']} actions"),
        ('wait for resources', f"{data['waited_s']:.1f} s" + (
            f", longest {data['longest_wait_s']:.1f} s ({data['longest_wait']})"
            if data['longest_wait'] else '')),
        ('attempts', f"{data['attempts']}; retries: {data['retries']}, fallbacks: "
         f"{data['fallbacks']}"),
        *((f'time in {state}', f'{spent:.1f} s') for state, spent in data['states'].items()),
    ]
    width = max(len(name) for name, _ in rows)
    return '\n'.join(f'{name:{width}}  {value}' for name, value in rows)
