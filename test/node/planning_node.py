# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The action node in a process in which planners in Python are registered."""

from __future__ import annotations

import sys
import time

from action_lifecycle.executables import action_lifecycle_node
from action_lifecycle.flow import PlanRequest, register_planner

from .planner_process import GOOD, REPLACE


@register_planner('second_grasp')
class SecondGrasp:
    """Replaces a grasp that the sensors have refuted; makes the same flow of each request."""

    def plan(self, request: PlanRequest) -> str | None:
        if not request.flow_yaml:
            return GOOD
        (ended,) = request.ended
        if ended['outcome'] != 'failed':
            return None
        (evidence,) = ended['evidence']
        assert ended['error_code'] == 'REFUTED', ended
        assert evidence['facts'][0]['name'] == 'gap' and evidence['verdict'] == 'false', evidence
        assert request.facts['gap'] < 0.06, request.facts
        assert {action['action_id'] for action in request.status['actions']} == {'pick', 'place'}
        return REPLACE


@register_planner('broken')
def broken(request: PlanRequest) -> str:
    """Raise an exception."""
    raise RuntimeError('no idea')


@register_planner('silent')
def silent(request: PlanRequest) -> None:
    """Take too long."""
    time.sleep(3600.0)


if __name__ == '__main__':
    sys.exit(action_lifecycle_node())
