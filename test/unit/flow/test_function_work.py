# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kinds of work of other packages: their names, their entry points, and functions as work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from action_lifecycle.documents.errors import DocumentError, LifecycleError
from action_lifecycle.flow import parse_flow
from action_lifecycle.flow.files.json_schema import flow_schema
from action_lifecycle.lifecycle.function_work import FunctionWork
from action_lifecycle.lifecycle.states import ErrorCode
from action_lifecycle.lifecycle.work import register_work, WORK, WorkRequest, WorkSpec
import pytest

from .robot import Clock, Process, Robot

pytestmark = pytest.mark.usefixtures('own_kinds')
KINDS = ('flow', 'graph', 'job', 'motion', 'tool')


class Threads(Robot):
    """Calls the function of work when the test says so."""

    def in_thread(self, name: str, check: Any, verdict: Any) -> None:
        self.function: Callable[[], Any] = check
        self.done: Callable[[Any, Any], None] = verdict

    def call(self) -> None:
        try:
            found = self.function()
        except Exception as error:
            self.done(None, error)
        else:
            self.done(found, None)


class Counted(FunctionWork):
    """Counts its calls."""

    to: int = 3

    calls: ClassVar[int] = 0

    def run(self, request: WorkRequest) -> Any:
        type(self).calls += 1
        request.told(0.5, 'half of it')
        return 'stopped' if request.canceled() else list(range(self.to))


class Threaded:
    """A process with the kind `count`."""

    def __init__(self, path: Path) -> None:
        register_work('count')(Counted)
        Counted.calls = 0
        self.clock = Clock()
        self.robot = Threads(self.clock)
        self.path = path
        self.process = Process(path, self.clock, self.robot)

    def submit(self, more: str = '') -> Any:
        run = self.process.submit(f'flow: f\nactions:\n  a: {{count: {{to: 2}}{more}}}\n')
        self.clock.run(1.0)
        return run.actions[0]


@pytest.fixture
def threaded(tmp_path: Path) -> Threaded:
    return Threaded(tmp_path / 'journal')


def test_what_the_function_returns_is_the_result(threaded: Threaded) -> None:
    action = threaded.submit()
    threaded.robot.call()
    threaded.clock.run(0.0)
    assert action.progress == (0, 0.5, 'half of it')
    threaded.clock.run()
    assert action.outcome.value == 'succeeded' and action.result == [0, 1]


def test_a_result_that_is_no_json_fails_the_action(
    threaded: Threaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Counted, 'run', lambda self, request: {1, 2})
    action = threaded.submit()
    threaded.robot.call()
    threaded.clock.run()
    assert (action.error_code, action.outcome.value) == (ErrorCode.WORK_FAILED, 'failed')
    assert 'its result is no JSON' in action.error_msg


def test_a_canceled_function_is_told_and_awaited(threaded: Threaded) -> None:
    action = threaded.submit()
    threaded.process.orchestrator.cancel('f', 'anna', 'enough')
    threaded.clock.run(1.0)
    assert action.outcome is None
    threaded.robot.call()
    threaded.clock.run()
    assert action.outcome.value == 'canceled' and action.result is None


@pytest.mark.parametrize('repeatable', [True, False])
def test_after_a_crash_it_is_called_again_only_if_it_says_so(
    threaded: Threaded, monkeypatch: pytest.MonkeyPatch, repeatable: bool
) -> None:
    monkeypatch.setattr(Counted, 'repeatable', repeatable)
    threaded.submit(', confirm: z > 0, on_resume: confirm')
    threaded.robot.call()  # its end is lost
    threaded.process.kill()
    process = Process(threaded.path, threaded.clock, threaded.robot)
    run, = process.orchestrator.restore()
    if repeatable:
        threaded.clock.run(1.0)
        threaded.robot.call()
    threaded.clock.run()
    assert run.state == 'FINISH' and Counted.calls == 1 + repeatable


@pytest.mark.parametrize('name, why', [
    ('timeout', 'actions have a field of this name'), ('after', 'actions have a field'),
    ('steps', 'actions have a field'), ('repeat', 'actions have a field'),
    ('question', 'fallbacks have a field of this name'),
    ('Weigh', 'expected up to 40 lower-case letters'), ('', 'expected up to 40')])
def test_a_name_that_has_another_meaning_is_refused(name: str, why: str) -> None:
    class Kind(WorkSpec):
        """A kind."""

    with pytest.raises(LifecycleError) as error:
        register_work(name)(Kind)
    assert f'kind of work {name!r} of ' in str(error.value) and why in str(error.value)
    assert name not in WORK


@pytest.mark.parametrize('name', KINDS)
def test_a_kind_is_registered_once(name: str) -> None:
    class Kind(WorkSpec):
        """A kind."""

    before = WORK[name]
    with pytest.raises(LifecycleError) as error:
        register_work(name)(Kind)
    assert f'already registered by {before.__module__}.' in str(error.value)
    register_work(name)(before)  # its module may be imported twice
    assert WORK[name] is before


def package(folder: Path, name: str, entries: str, module: str) -> None:
    (folder / f'{name}.py').write_text(module)
    info = folder / f'{name}-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(f'[action_lifecycle.work]\n{entries}\n')


@pytest.mark.parametrize('entries, module, fault', [
    ('weigh = weighing:Weigh', 'import no_such_module\n',
     "f.yaml:3:7: action 'a': entry point 'weigh' of action_lifecycle.work: ModuleNotFoundError: "
     "No module named 'no_such_module'"),
    ('weigh = weighing:Weigh', 'x = 1\n', "entry point 'weigh' of action_lifecycle.work: "
     'AttributeError'),
    ('weigh = weighing:Weigh', 'class Weigh: pass\n', 'is no WorkSpec: weighing:Weigh'),
    ('weigh = weighing', 'from action_lifecycle.lifecycle.work import *\n'
     "@register_work('job')\nclass Weigh(WorkSpec): pass\n",
     "kind of work 'job' of weighing.Weigh: it is already registered by "
     'action_lifecycle.work.job.JobSpec'),
])
def test_an_entry_point_that_can_not_be_used_refuses_the_flow_that_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: str, module: str, fault: str
) -> None:
    package(tmp_path, 'weighing', entries, module)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__('sys').modules, 'weighing', raising=False)
    with pytest.raises(DocumentError) as error:
        parse_flow('flow: f\nactions:\n  a: {weigh: {}}\n', 'f.yaml')
    assert fault in str(error.value)
    assert parse_flow('flow: f\nactions:\n  a: {job: {invoke: "m:f"}}\n', 'f.yaml')


def test_two_packages_with_a_kind_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ('first', 'second'):
        package(tmp_path, name, f'weigh = {name}:Weigh', '')
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DocumentError, match='is given twice: first:Weigh and second:Weigh'):
        parse_flow('flow: f\nactions:\n  a: {weigh: {}}\n', 'f.yaml')


def test_the_schema_of_flows_has_all_kinds() -> None:
    register_work('count')(Counted)
    schema = flow_schema()
    action = schema['$defs' if '$defs' in schema else 'definitions']['Action']
    assert {*KINDS, 'count'} <= set(action['properties'])
    steps = {name for kind in action['properties']['steps']['items']['anyOf']
             for name in kind['properties']}
    assert steps >= {*KINDS, 'count'}
