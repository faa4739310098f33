# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""No flow and no motion starts once the journal of a running node was replaced or truncated."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import subprocess

from action_lifecycle.journal import Entry, Journal
from action_lifecycle.nodes.action.health import journal_health
from action_lifecycle.ros.node.diagnostics import ERROR, OK
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import pytest

from .system import System
from .test_flow_on_cell import finish, flow_file


def replaced(path: Path) -> None:
    """Put a copy in the place of the journal, as a restored backup is."""
    subprocess.run(['cp', str(path), f'{path}.copy'], check=True)
    Path(f'{path}.copy').rename(path)


def truncated(path: Path) -> None:
    """Leave nothing of the journal, as a faulty script or a shell's > does."""
    for suffix in ('', '-wal'):
        os.truncate(f'{path}{suffix}', 0)


def test_health_says_that_no_motion_starts(tmp_path: Path) -> None:
    path = tmp_path / 'robot.journal'
    with Journal(path) as journal:
        journal.append(Entry('note'))
        health = journal_health(journal)
        assert (health.level, health.values['rows']) == (OK, 1)
        replaced(path)
        health = journal_health(journal)
        assert health.level == ERROR
        assert health.message.startswith(f'no motion starts: {path}: the file was replaced')
        assert 'put the files back' in health.message


@pytest.mark.parametrize('damage', [replaced, truncated])
def test_no_motion_starts_and_the_node_says_why(
    system: System, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    told: dict[str, DiagnosticStatus] = {}
    system.node.create_subscription(DiagnosticArray, '/diagnostics', lambda message: told.update(
        (status.name, status) for status in message.status), 10)
    system.start_all()
    code, output = finish(system.run(flow_file(tmp_path)))
    assert code == 0, output + system.logs()
    system.until(lambda: system.motions.get('arm_controller') == 1, 10, 'the motion is counted')
    damage(system.journal_path)
    code, output = finish(system.run(flow_file(tmp_path, x=0.1)))
    assert code != 0 and 'while in use' in ' '.join(output.split()), output
    status = system.until(
        lambda: next((status for name, status in told.items() if 'journal' in name
                      and status.level == DiagnosticStatus.ERROR), None), 20, 'diagnostics')
    assert 'no motion starts' in status.message and 'while in use' in status.message
    asked = system.shell('run', str(flow_file(tmp_path, x=0.2)), '--plain', '--wait', '5')
    assert asked.returncode != 0 and 'while in use' in ' '.join(
        (asked.stdout + asked.stderr).split()), asked
    assert system.motions['arm_controller'] == 1, system.logs()
    assert system.stop('action_lifecycle_node', timeout=20.0) < 20.0
    assert system.motions['arm_controller'] == 1
