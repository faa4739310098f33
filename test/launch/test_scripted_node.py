# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cases of the stacks over DDS, beside the launch file: they end as without ROS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re

from action_lifecycle.testing import RunReport
from action_lifecycle.testing.cases import differences
from node.scripted_rig import CaseRig
import pytest

STACKS = Path(__file__).parents[2] / 'config' / 'stacks'


@pytest.fixture
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CaseRig]:
    """Give the nodes for a file of cases; a robot that ends takes its e-stop with it."""
    rig = CaseRig(tmp_path, STACKS / request.param)
    yield rig
    rig.close()


def ended(report: RunReport) -> dict[str, object]:
    """Return what must be the same with ROS and without."""
    return {
        'outcome': report.outcome,
        'actions': {name: (action.outcome, action.error, action.attempts)
                    for name, action in report.actions.items()},
        'goals': [(goal.server, goal.end) for goal in report.goals],
        'asked': [action for action, _ in report.asked]}


def compare(rig: CaseRig, case: str) -> RunReport:
    """Run a case both ways; both meet its expectations, and end the same."""
    report = rig.run_case(case, re.sub(r'\W+', '_', case))
    expected = rig.cases.spec.cases[case].expect
    assert list(differences(expected, report, 120.0)) == [], rig.logs()
    without = rig.cases.run(case).report
    assert without is not None and ended(report) == ended(without)
    return report


@pytest.mark.parametrize('rig', ['nav2/go_to.cases.yaml'], indirect=True)
@pytest.mark.long
@pytest.mark.parametrize('case', [
    'it arrives', 'it says that it has arrived half a metre before', 'it finds no path',
    'the nodes are killed on the way'])
def test_a_base_with_nav2(rig: CaseRig, case: str) -> None:
    pytest.importorskip('nav2_msgs')
    report = compare(rig, case)
    assert report.goals[0].goal['pose']['pose']['position']['x'] == 4.0


@pytest.mark.parametrize('rig', ['ros2_control/grip.cases.yaml'], indirect=True)
@pytest.mark.parametrize('case', [
    'it holds a part', *(pytest.param(name, marks=pytest.mark.long) for name in (
        'it closes on nothing and reports success', 'it stalls half open and reports success',
        'the force is too low, then enough', 'the nodes are killed while it closes'))])
def test_a_gripper_with_ros2_control(rig: CaseRig, case: str) -> None:
    compare(rig, case)
