# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files of cases: loads and checks them, runs each, and compares its end with the expected one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .script import CasesSpec, Expected, ExpectedAction, RobotScript
from .scripted_robot import RunReport, ScriptedRobot
from ..documents.errors import DocumentError, Fault, LifecycleError
from ..documents.models import validate
from ..documents.suggestions import nearest
from ..documents.yaml_document import Document, read_document
from ..flow.files.checks import check_names
from ..flow.files.flow import Flow
from ..flow.files.loader import load_flow
from ..lifecycle.states import ErrorCode
from ..world.facts.facts import FactSet
from ..world.facts.loader import load_facts

SUFFIX = '.cases.yaml'
"""The end of the names of files of cases."""


@dataclass(frozen=True)
class CaseResult:
    """The result of a case; it has passed if there are no `faults`."""

    name: str
    line: int  #: in the file of cases
    faults: Sequence[str]
    report: RunReport | None  #: None: it could not be run


class Cases:
    """
    A file of cases, with its flow and its facts.

    Raises DocumentError with all faults (file, line, column, message); the parameters of a case
    are checked when it runs.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.document = read_document(path)
        self.spec = validate(self.document, CasesSpec)
        self.flow_path, self.facts_path = (
            self._beside(name, getattr(self.spec, name)) for name in ('flow', 'facts'))
        self.facts: FactSet = load_facts(self.facts_path)
        flow = load_flow(self.flow_path, **self._parameters({}))
        check_names(flow, self.facts.kinds)
        if faults := list(self._faults(flow)):
            raise DocumentError(faults)

    @property
    def names(self) -> list[str]:
        """Return the names of the cases."""
        return list(self.spec.cases)

    def line(self, name: str) -> int:
        """Return the line of a case in its file."""
        return self.document.fault(('cases', name), '').line

    def run(self, name: str) -> CaseResult:
        """Run one case."""
        case = self.spec.cases[name]
        report = None
        try:
            flow = load_flow(self.flow_path, **self._parameters(case.parameters))
            robot = ScriptedRobot(self.facts, merged(self.spec.robot, case.robot))
            answers = {action: [given] if isinstance(given, str) else given
                       for action, given in case.answers.items()}
            report = robot.run(flow, events=case.events, answers=answers, within=case.within)
            faults = list(differences(case.expect, report, case.within))
        except LifecycleError as error:  # DocumentError, too
            faults = str(error).splitlines()
        return CaseResult(name, self.line(name), faults, report)

    def _beside(self, field: str, name: str) -> Path:
        path = self.path.parent / name
        if not path.is_file():
            raise DocumentError([self.document.fault((field,), f"{field}: no file '{path}'")])
        return path

    def _parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.spec.parameters, **given}

    def _faults(self, flow: Flow) -> Iterator[Fault]:
        """Yield the faults of names of actions, servers and facts."""
        yield from _robot_faults(self.document, ('robot',), self.spec.robot, flow, self.facts)
        for name, case in self.spec.cases.items():
            where: tuple[str, ...] = ('cases', name)
            yield from _robot_faults(
                self.document, (*where, 'robot'), case.robot, flow, self.facts)
            for field, given in (('answers', case.answers), ('expect', case.expect.actions),
                                 ('expect', case.expect.asked)):
                for action in given:
                    if action not in flow.actions:
                        yield self.document.fault(
                            (*where, field), f"case '{name}', {field}: the flow has no action "
                            f"'{action}'" + nearest(action, flow.actions))
            for action, wanted in case.expect.actions.items():
                code = wanted.error if isinstance(wanted, ExpectedAction) else None
                if code is not None and code not in ErrorCode.__members__:
                    yield self.document.fault(
                        (*where, 'expect', 'actions', action, 'error'),
                        f"case '{name}': there is no error code '{code}'"
                        + nearest(code, ErrorCode.__members__))


def merged(one: RobotScript, other: RobotScript) -> RobotScript:
    """Return a script in which what `other` gives replaces what `one` gives, by name."""
    return RobotScript(**{
        field: {**getattr(one, field), **getattr(other, field)}
        for field in ('facts', 'servers', 'work', 'verdicts')})


def _robot_faults(
    document: Document, where: tuple[str, ...], script: RobotScript, flow: Flow, facts: FactSet
) -> Iterator[Fault]:
    servers = {step.target for action in flow.actions.values() for step in action.steps}
    for name in script.servers:
        if name not in servers and not any('{{' in server for server in servers):
            yield document.fault(
                (*where, 'servers', name), f"the flow uses no server '{name}'"
                + nearest(name, servers))
    for name in script.work:
        if name not in flow.actions:
            yield document.fault(
                (*where, 'work', name), f"the flow has no action '{name}'"
                + nearest(name, flow.actions))
    for name in script.facts:
        if name not in facts:
            yield document.fault(
                (*where, 'facts', name), f"there is no fact '{name}'" + nearest(name, facts))


def differences(expected: Expected, report: RunReport, within: float) -> Iterator[str]:
    """Yield how the end of a flow differs from what was expected, one sentence each."""
    if report.outcome == 'open':
        open_ones = [f"'{name}' is {action.states[-1]}" if action.states else f"'{name}' waits"
                     for name, action in report.actions.items() if not action.outcome]
        asked = ''.join(f"; '{action}' asked: {text}" for action, text in report.asked[-1:])
        yield f"the flow has not ended after {within:g} s: {', '.join(open_ones)}{asked}"
    if expected.flow is not None and report.outcome not in (expected.flow, 'open'):
        yield f'flow: expected {expected.flow}, got {report.outcome}'
    for name, wanted in expected.actions.items():
        yield from _action_differences(name, wanted, report)
    for server, count in expected.goals.items():
        got = sum(goal.server == server for goal in report.goals)
        if got != count:
            yield f"goals of '{server}': expected {count}, got {got}"
    for action, text in expected.asked.items():
        questions = [question for name, question in report.asked if name == action]
        if not any(text in question for question in questions):
            yield (f"action '{action}': expected a question with '{text}', got "
                   + (_listed(questions) or 'none'))
    if expected.at_most is not None and report.duration > expected.at_most:
        yield f'expected at most {expected.at_most:g} s, got {report.duration:.3g} s'


def _action_differences(
    name: str, wanted: ExpectedAction | str, report: RunReport
) -> Iterator[str]:
    if isinstance(wanted, str):
        wanted = ExpectedAction(outcome=wanted)  # type: ignore[arg-type]
    found = report.actions.get(name)
    if found is None:
        yield f"action '{name}': the flow does not have it any more"
        return
    for field in ('outcome', 'error', 'attempts'):
        value = getattr(wanted, field)
        if value is not None and value != getattr(found, field):
            yield (f"action '{name}': expected {field} {value}, got "
                   f'{getattr(found, field) or "none"}')
    if wanted.cause not in found.cause:
        yield f"action '{name}': expected a cause with '{wanted.cause}', got '{found.cause}'"


def _listed(texts: Iterable[str]) -> str:
    return ', '.join(f"'{text}'" for text in texts)
