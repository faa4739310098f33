# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The path of a newcomer: an empty folder, `new`, an edit, `test`, and a run against a double."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import subprocess
import time
from typing import Any

import pytest

pytest.importorskip('nav2_msgs')

from node.launched import Launch  # noqa: E402, I100
from node.system import System  # noqa: E402

STACKS = Path(__file__).parents[2] / 'config' / 'stacks'


class Newcomer(System):
    """A person with a robot that runs, an empty folder and a shell."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.launches: list[Launch] = []
        self.robot: subprocess.Popen[bytes] | None = None

    def robot_is(self, cases: Path, case: str = '') -> None:
        """Let the scripted robot play a case; the earlier one ends."""
        self.robot_off()
        with (self.folder / 'robot.log').open('ab') as log:
            self.robot = subprocess.Popen(
                ['scripted_robot', str(cases), *(['--case', case] if case else [])],
                env=self.environment, stdout=log, stderr=log)

    def robot_off(self) -> None:
        if self.robot is not None:
            self.robot.terminate()
            self.robot.wait(20.0)

    def ok(self, *command: str) -> str:
        """Run a command that must succeed; returns what it prints."""
        done = self.shell(*command)
        assert done.returncode == 0, done.stdout + done.stderr + self.logs()
        return done.stdout

    def close(self) -> None:
        self.robot_off()
        for launch in self.launches:
            launch.end()
        super().close()


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    newcomer = Newcomer(tmp_path)
    yield newcomer
    newcomer.close()


@pytest.mark.parametrize(('stack', 'name', 'edit', 'parameter', 'lie'), [
    pytest.param('nav2/go_to', 'go_to', ('< 0.25 and', '< 0.2 and'), 'x',
                 'it says so a metre before', marks=pytest.mark.long),
    ('ros2_control/grip', 'grip', ('< 0.005\n', '< 0.004\n'), 'position',
     'it stalls half way and reports success'),
])
def test_from_an_empty_folder_to_a_verified_action(
    newcomer: Newcomer, stack: str, name: str, edit: tuple[str, str], parameter: str, lie: str,
    record_property: Any,
) -> None:
    began = time.monotonic()
    folder = newcomer.folder / 'mine'
    newcomer.robot_is(STACKS / f'{stack}.cases.yaml')
    newcomer.until(lambda: newcomer.node.count_publishers('estop'), 30.0, 'the robot runs')
    out = newcomer.ok('new', str(folder), '--listen', '4')
    assert f'written: {folder}/{name}.cases.yaml' in out, out

    file, cases = folder / f'{name}.yaml', folder / f'{name}.cases.yaml'
    text = file.read_text(encoding='utf-8')
    assert text.count(edit[0]) == 1
    file.write_text(text.replace(*edit), encoding='utf-8')
    assert 'ok (flow)' in newcomer.ok('validate', str(file), '--facts', f'{folder}/facts.yaml')
    assert '3 passed, 0 failed' in newcomer.ok('test', str(folder))
    started = re.search(rf'^parameters: .*{parameter}: ([\d.]+)', cases.read_text(), re.M)
    assert started is not None
    given = f'{parameter}={started[1]}'

    newcomer.robot_is(cases, 'it works')
    newcomer.launches.append(Launch(newcomer, 'bringup.launch.py', {
        'facts_file': folder / 'facts.yaml', 'journal_path': newcomer.journal_path}))
    run = ('run', str(file), '-p', given, '--plain', '--wait', '40', '--flow-id')
    assert 'verified 1 of 1' in newcomer.ok(*run, 'works')
    record_property('seconds to the first verified action', round(time.monotonic() - began, 1))

    newcomer.robot_is(cases, lie)
    cleared = newcomer.until(lambda: newcomer.shell(
        'clear-stop', '--reason', 'another robot').returncode == 0, 60.0, 'the stop is cleared')
    assert cleared
    lied = newcomer.run(file, '-p', given, '--flow-id', 'lies')
    newcomer.until(lambda: newcomer.rows(flow_id='lies', kind='question_asked') or [
        row for row in newcomer.rows(flow_id='lies') if row.to_state == 'fallback_requested'],
        60.0, 'a person is asked')
    newcomer.ok('respond', 'give_up', '--wait', '30')
    output, _ = lied.communicate(timeout=60.0)
    assert lied.returncode == 1, output + newcomer.logs()
    assert re.search(r'\| +1 \| succeeded +\| refuted +\|', output), output
