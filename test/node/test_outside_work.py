# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A kind of work in one file of another package, done by real nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from action_lifecycle_msgs.msg import ErrorCode
import pytest

from .work_rig import WorkRig

KIND = """\
import time
from pathlib import Path
from action_lifecycle.lifecycle.function_work import FunctionWork

class WeighSpec(FunctionWork):
    '''Reads a scale.'''

    file: str
    least: float = 0.0

    repeatable = True

    def faults(self):
        if not self.file.startswith('/'):
            yield 'file', f'expected an absolute path, got {self.file!r}'

    def run(self, request):
        with open(self.file + '.calls', 'a') as calls:
            calls.write(request.id + '\\n')
        while not Path(self.file).exists():
            request.told(0.5, 'waits for the scale')
            if request.canceled():
                return None
            time.sleep(0.02)
        mass = float(Path(self.file).read_text())
        if mass < self.least:
            raise ValueError(f'{mass} kg, expected at least {self.least} kg')
        return {'mass': mass}
"""
ENTRIES = """\
[action_lifecycle.work]
weigh = my_scale.work:WeighSpec
broken = my_scale.no_such_module:Spec
"""


@pytest.fixture(scope='module')
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkRig]:
    folder = tmp_path_factory.mktemp('outside')
    package, info = folder / 'my_scale', folder / 'my_scale-1.0.dist-info'
    package.mkdir()
    (package / '__init__.py').touch()
    (package / 'work.py').write_text(KIND)
    info.mkdir()
    (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: my-scale\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(ENTRIES)
    rig = WorkRig(folder, folder)
    yield rig
    rig.close()


def weigh(file: Path | str, more: str = '', least: float = 0.25) -> str:
    return f'a: {{weigh: {{file: {file}, least: {least}}}{more}}}'


def test_its_result_is_read_by_later_actions(rig: WorkRig, tmp_path: Path) -> None:
    (tmp_path / 'kg').write_text('0.5')
    name = rig.new_id()
    result = rig.result(name, weigh(tmp_path / 'kg') + '\nb: {after: a, job: {invoke: '
                        "'tasks_of_tests:echo', input: '{{ results.a.result.mass }}'}}")
    assert result.error_code == ErrorCode.NONE, result.error_msg
    assert rig.row(name, 'request_verification').data['result'] == 0.5


@pytest.mark.parametrize('mass, more, code', [
    ('0.1', '', 'WORK_FAILED'),
    ('0.5', ', confirm: {condition: level > 5, within: 0.5}', 'REFUTED')])
def test_it_fails(rig: WorkRig, tmp_path: Path, mass: str, more: str, code: str) -> None:
    (tmp_path / 'kg').write_text(mass)
    name = rig.new_id()
    rig.send(name, weigh(tmp_path / 'kg', more))
    rig.end_of(name)
    assert rig.row(name, 'fail').data['error_code'] == code


@pytest.mark.parametrize('work, fault', [
    (weigh('kg'), "test.yaml:3:15: action 'a', weigh: expected an absolute path, got 'kg'"),
    ('a: {weigh: {flie: /kg}}', "test.yaml:3:15: unknown field 'flie'; did you mean 'file'?"),
    ('a: {wiegh: {file: /kg}}', "test.yaml:3:7: unknown field 'wiegh'; did you mean 'weigh'?"),
    ('a: {broken: {}}', "test.yaml:3:7: action 'a': entry point 'broken' of action_lifecycle."
     "work: ModuleNotFoundError: No module named 'my_scale.no_such_module'"),
])
def test_faults_name_their_place(rig: WorkRig, work: str, fault: str) -> None:
    result = rig.result(rig.new_id(), work)
    assert result.error_code == ErrorCode.FLOW_INVALID and fault in result.error_msg


@pytest.mark.parametrize('how', ['cancel', 'timeout'])
def test_a_stop_asks_the_function_to_return(rig: WorkRig, tmp_path: Path, how: str) -> None:
    name = rig.new_id()
    handle = rig.send(name, weigh(tmp_path / 'kg', ', timeout: 2' if how == 'timeout' else ''))
    rig.until(lambda: name in rig.status and rig.status[name].progress == 0.5, 30.0, 'progress')
    assert rig.status[name].progress_text == 'waits for the scale'
    if how == 'cancel':
        handle.cancel_goal_async()
    rig.end_of(name)
    failed = rig.row(name, 'fail').data
    assert failed['error_code'] == {'cancel': 'CANCELED', 'timeout': 'DEADLINE_EXCEEDED'}[how]
    assert failed['controller_said'] == 'it has returned'


def test_killed_in_its_function_it_is_called_again_with_the_same_id(
    rig: WorkRig, tmp_path: Path
) -> None:
    name, calls = rig.new_id(), tmp_path / 'kg.calls'
    rig.send(name, weigh(tmp_path / 'kg'))
    rig.until(lambda: calls.exists() and calls.read_text(), 30.0, 'it is called')
    rig.kill()
    rig.start_node()
    rig.until(lambda: len(calls.read_text().splitlines()) == 2, 30.0, 'it is called again')
    (tmp_path / 'kg').write_text('1.5')
    assert rig.end_of(name).data['outcome'] == 'succeeded'
    assert len(set(calls.read_text().splitlines())) == 1
