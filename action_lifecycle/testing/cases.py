# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files of cases: loads and checks them, runs each, and compares its end with the expected one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .script import (
    Behaviour,
    CaseSpec,
    CasesSpec,
    Course,
    Expected,
    ExpectedAction,
    RobotScript,
)
from .scripted_facts import Signals
from .scripted_robot import RunReport, ScriptedRobot
from ..documents.errors import DocumentError, Fault, LifecycleError
from ..documents.models import validate
from ..documents.suggestions import nearest
from ..documents.yaml_document import Document, read_document
from ..flow.files.flow import LoadedFlow, with_nested
from ..flow.files.loader import load_flow
from ..flow.files.uses import check_names
from ..lifecycle.states import ErrorCode
from ..lifecycle.verifier_kinds import ServiceVerify
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
        if faults := list(self._checked()):
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
            flow = self.flow_of(case)
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

    def flow_of(self, case: CaseSpec | None) -> LoadedFlow:
        """Return the flow with the parameters of a case, or only with those of the file."""
        given = case.parameters if case is not None else {}
        return load_flow(self.flow_path, **{**self.spec.parameters, **given})

    def _checked(self) -> Iterator[Fault]:
        """Yield the faults of the file; raises DocumentError for those of the flow."""
        if not self.spec.cases:
            yield self.document.fault(('cases',), 'there is no case')
        flow = None
        for name, case in self.spec.cases.items():
            try:
                flow = self.flow_of(case)
            except LifecycleError as error:
                if not case.parameters:
                    raise
                yield self.document.fault(('cases', name, 'parameters'), f"case '{name}': {error}")
                continue
            check_names(flow, self.facts.kinds, self.facts.fixed)
            yield from _Checks(self.document, ('cases', name), flow, self.facts).of_case(case)
        if flow is not None:
            yield from _Checks(self.document, (), flow, self.facts).of_robot(self.spec.robot)


class _Checks:
    """The checks of what a part of the file, below `where`, names."""

    def __init__(
        self, document: Document, where: tuple[str, ...], flow: LoadedFlow, facts: FactSet
    ) -> None:
        self._document = document
        self._where = where
        self._flow = flow
        self._signals = Signals(facts)
        self._topics = {*facts.topic_types(), *(topic.spec.topic for topic in facts.safety)}
        steps = [step for one in with_nested(flow) for action in one.actions.values()
                 for step in action.steps]
        self._servers = {step.target for step in steps if step.at_bridge}
        self._at_actions = {
            f'{step.target}@{name}' for one in with_nested(flow)
            for name, action in one.actions.items() for step in action.steps if step.at_bridge}
        self._services = {
            verify.service for one in with_nested(flow) for action in one.actions.values()
            for verify in action.verify if isinstance(verify, ServiceVerify)}

    def _fault(self, path: tuple[str | int, ...], message: str) -> Fault:
        return self._document.fault((*self._where, *path), message)

    def of_case(self, case: CaseSpec) -> Iterator[Fault]:
        """Yield the faults of a case."""
        yield from self.of_robot(case.robot)
        expect = case.expect
        for field, given in (('answers', case.answers), ('expect', expect.actions),
                             ('expect', expect.asked)):
            yield from self._unknown((field,), 'action', given, self._flow.actions)
        yield from self._unknown(('expect', 'goals'), 'server', expect.goals, {
            *self._servers, *self._flow.actions}, open_ended=True)
        for server, count in expect.goals.items():
            if count < 0:
                yield self._fault(('expect', 'goals', server), 'expected 0 or more')
        for action, wanted in expect.actions.items():
            code = wanted.error if isinstance(wanted, ExpectedAction) else None
            if code is not None and code not in ErrorCode.__members__:
                known = nearest(code.upper(), ErrorCode.__members__)
                yield self._fault(('expect', 'actions', action, 'error'),
                                  f"there is no error code '{code}'" + known)
        if not (expect.flow or expect.actions or expect.goals or expect.asked or expect.at_most):
            yield self._fault(('expect',), 'expects nothing, so it could not fail')
        for index, event in enumerate(case.events):
            yield from self._courses(('events', index, 'facts'), event.facts)

    def of_robot(self, script: RobotScript) -> Iterator[Fault]:
        """Yield the faults of a robot."""
        yield from self._courses(('robot', 'facts'), script.facts)
        for topic in script.messages:
            if topic not in self._topics:
                yield self._fault(('robot', 'messages', topic), f"no fact is from topic '{topic}'"
                                  + nearest(topic, self._topics))
        yield from self._unknown(
            ('robot', 'servers'), 'server', script.servers,
            {*self._servers, *self._at_actions}, open_ended=True)
        yield from self._unknown(('robot', 'work'), 'action', script.work, self._flow.actions)
        yield from self._unknown(('robot', 'verdicts'), 'verification service', script.verdicts,
                                 self._services, open_ended=True)
        for field in ('servers', 'work'):
            for name, given in getattr(script, field).items():
                several = not isinstance(given, Behaviour)
                for index, one in enumerate(given if several else [given]):
                    path = ('robot', field, name, *([index] if several else []))
                    yield from self._courses((*path, 'during'), one.during)
                    yield from self._courses((*path, 'after'), one.after)
                if several and not given:
                    yield self._fault(('robot', field, name), 'expected at least one behaviour')

    def _courses(
        self, path: tuple[str | int, ...], courses: Mapping[str, Course]
    ) -> Iterator[Fault]:
        for name, course in courses.items():
            try:
                self._signals.check({name: course})
            except LifecycleError as error:
                yield self._fault((*path, name), str(error))

    def _unknown(
        self, path: tuple[str | int, ...], what: str, given: Iterable[str],
        known: Collection[str], *, open_ended: bool = False,
    ) -> Iterator[Fault]:
        """Yield names that the flow does not have; not if a template may make more of them."""
        if open_ended and any('{{' in name for name in known):
            return
        for name in given:
            if name not in known:
                yield self._fault((*path, name), f"the flow has no {what} '{name}'"
                                  + nearest(name, known))


def merged(one: RobotScript, other: RobotScript) -> RobotScript:
    """Return a script in which what `other` gives replaces what `one` gives, by name."""
    return RobotScript(**{
        field: {**getattr(one, field), **getattr(other, field)}
        for field in ('facts', 'messages', 'servers', 'work', 'verdicts')})


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
    if report.missed:
        yield (f'{report.missed} of the events did not happen: the flow had ended after '
               f'{report.duration:.3g} s')
    for action, answers in report.unused.items():
        yield f"answers of '{action}' that nobody asked for: {_listed(answers)}"
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
