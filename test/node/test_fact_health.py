# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A publisher that is frozen with live stamps, over DDS, with bridge and action node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import random

from action_lifecycle_msgs.msg import Fact
from diagnostic_msgs.msg import DiagnosticArray
import pytest

from .test_physical_cases import FACTS, Stack

HEALTH = FACTS.replace(
    'unit: m}', 'unit: m,\n        health: {frozen: {noise: 0.0002, resolution: 0.0001}}}')


class Frozen(Stack):
    """The stack with a noisy sensor of the gap, which can freeze."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, HEALTH)
        self.frozen = False
        self.noise = random.Random(1)
        self.diagnostics: list[str] = []
        self.asker.create_subscription(DiagnosticArray, '/diagnostics', self._diagnose, 10)

    def _sample(self) -> None:
        if not self.frozen:
            self.gap = round(self.noise.gauss(0.02, 2e-4), 4)
        super()._sample()

    def _diagnose(self, message: DiagnosticArray) -> None:
        self.diagnostics += [entry.value for status in message.status for entry in status.values]

    def gap_fact(self) -> Fact | None:
        facts = self.world[-1].facts if self.world else ()
        return next((fact for fact in facts if fact.name == 'gap'), None)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Frozen]:
    stack = Frozen(tmp_path)
    yield stack
    stack.close()


def test_a_frozen_sensor_with_live_stamps_confirms_nothing(stack: Frozen) -> None:
    stack.start()
    assert stack.end(stack.begin()).state == 'FINISH'  # while it lives
    completed = [row.to_state for row in stack.rows()].count('completed')
    stack.gripper.behaviour = 'wait'
    sent = len(stack.gripper.goals)
    future = stack.begin(maintain="''")
    stack.until(lambda: len(stack.gripper.goals) > sent)
    stack.frozen = True
    stack.until(lambda: (stack.gap_fact() or Fact()).note.startswith('frozen: '))
    fact = stack.gap_fact()
    assert fact is not None
    assert (fact.validity, list(fact.numbers)) == (Fact.UNKNOWN, [stack.gap])
    stack.gripper.let_go()
    assert stack.end(future).state == 'FAIL'
    rows = stack.rows()
    assert [row.to_state for row in rows].count('completed') == completed
    row = next(row for row in reversed(rows) if row.to_state == 'error')
    assert row.data['error_code'] == 'CONFIRM_TIMEOUT'
    assert 'gap > 0.01 is not known (gap 0.0' in row.data['error_msg']
    assert 'm unknown: frozen: ' in row.data['error_msg']
    assert 'its noise 0.0002 m makes at most 13 likely' in row.data['error_msg']
    evidence = row.data['evidence'][0]
    assert evidence['verdict'] == 'unknown'
    assert evidence['facts'][0]['note'].startswith('frozen: ')
    stack.until(lambda: any(text.startswith('gap: frozen: ') for text in stack.diagnostics))
    assert 'succeeded' in [row.data.get('controller_said') for row in rows]
