# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""
The facts file: what is known about the world, from which topics, and what stops the robot.

    estop: {topic: estop, type: std_msgs/msg/Bool, field: data, mode: heartbeat, max_age: 0.5}
    facts:
      finger_gap: {topic: joint_states, type: sensor_msgs/msg/JointState,
                   field: 'position[name=gripper]', max_age: 0.2, unit: m}
      tool: {tf: {target: world, source: tool0}}
      home: {constant: [0, 0, 0.3], unit: m}
      gap_mm: {expression: finger_gap * 1000, unit: mm}
    limits:
      control_msgs/action/GripperCommand: {command.max_effort: [0, 40]}
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Optional, Union

import numpy as np
from pydantic import Field

from ..engine.document import Document, StrictModel, parse_document, read_document, validate
from ..engine.errors import DocumentError, Fault, nearest
from .expressions import NAME, RESERVED, Expression, compile_expression
from .functions import Text, Texts
from .reducers import ELEMENT_REDUCERS, TIMING, WINDOW_REDUCERS
from .selectors import PathError, Reader, compile_path

TF_TYPE = 'tf2_msgs/msg/TFMessage'
TF_TOPICS = ('/tf', '/tf_static')


class QosSpec(StrictModel):
    """QoS of a subscription; what is left out fits itself to the publishers."""

    reliability: Optional[Literal['reliable', 'best_effort']] = None
    durability: Optional[Literal['volatile', 'transient_local']] = None
    depth: int = Field(10, ge=1, le=10000, description='Samples kept until they are read.')


class TfSpec(StrictModel):
    """A pose between two frames."""

    target: str = Field(description='Frame in which it is seen, such as world.')
    source: str = Field(description='Frame whose pose is wanted, such as tool0.')
    part: Literal['translation', 'rotation', 'pose'] = Field(
        'translation', description='(x, y, z) in m; (x, y, z, w); or both, seven numbers.')


class FactSpec(StrictModel):
    """One fact: from a topic, from tf, a constant or an expression; exactly one of the four."""

    topic: Optional[str] = Field(None, description="Relative names: in the bridge's namespace.")
    type: Optional[str] = Field(None, description='Such as sensor_msgs/msg/JointState.')
    field: Optional[str] = Field(None, description='Such as position[name=gripper] or ranges.')
    tf: Optional[TfSpec] = None
    constant: Optional[Any] = None
    expression: Optional[str] = Field(None, description='Over the names of other facts.')
    reduce: Union[str, list[str]] = Field(
        'latest', description='Reducer of the elements, of the window, or [elements, window].')
    window: float = Field(0.0, ge=0, le=3600, description='Seconds over which to reduce.')
    max_age: float = Field(1.0, gt=0, description='Seconds; older samples are stale. .inf: never.')
    unit: str = Field('', description='For people; SI by REP 103.')
    frame: str = Field('', description='For people: the frame that numbers are given in.')
    description: str = ''
    max_rate: float = Field(
        0.0, ge=0, le=10000, description='Hz at most at which samples are read; 0: all.')
    always: bool = Field(False, description='Subscribed all the time, not on demand.')
    qos: QosSpec = Field(QosSpec(depth=10))


class SafetySpec(StrictModel):
    """A topic that must be there for motions to run."""

    topic: str
    type: str
    field: Optional[str] = Field(None, description='A bool or number; none: only that it comes.')
    stop_when: Union[bool, float, str] = Field(True, description='Value of the field that stops.')
    mode: Literal['heartbeat', 'on_change'] = Field(
        'heartbeat', description='heartbeat: silence of max_age stops; on_change: latched topic.')
    max_age: float = Field(0.5, gt=0, le=60, description='Seconds (steady time).')
    qos: QosSpec = Field(QosSpec(depth=10))


class FactsFile(StrictModel):
    """The whole file."""

    estop: Union[Literal['none'], SafetySpec] = Field(
        description="The e-stop's topic; `none` has to be written out.")
    safety: list[SafetySpec] = Field([], description='Further topics without which nothing moves.')
    facts: dict[str, FactSpec] = {}
    limits: dict[str, dict[str, tuple[float, float]]] = Field(
        {}, description='By action type or server: least and greatest value of goal fields.')


@dataclass(frozen=True)
class TopicFact:
    """A fact read from a topic, compiled."""

    name: str
    spec: FactSpec
    topic: str
    read: Reader
    stamp_of: Reader
    elements: str  #: reducer of a sample's elements
    over_time: str  #: reducer of the window; empty: none
    window: float

    @property
    def timing(self) -> bool:
        """Whether it speaks of the samples' times, and so of silence too."""
        return self.over_time in TIMING


@dataclass(frozen=True)
class TfFact:
    """A fact from tf."""

    name: str
    spec: FactSpec
    tf: TfSpec


@dataclass(frozen=True)
class ConstantFact:
    """A fact that is written in the file."""

    name: str
    spec: FactSpec
    value: Any


@dataclass(frozen=True)
class DerivedFact:
    """An expression over other facts."""

    name: str
    spec: FactSpec
    expression: Expression


AnyFact = Union[TopicFact, TfFact, ConstantFact, DerivedFact]


@dataclass(frozen=True)
class FactSet(Mapping[str, AnyFact]):
    """A checked facts file: the facts by name, in an order in which each needs earlier ones."""

    name: str
    file: FactsFile
    facts: Mapping[str, AnyFact]
    limits: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> AnyFact:
        return self.facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    @property
    def estop(self) -> SafetySpec | None:
        """The e-stop, None when the file says that there is none."""
        return self.file.estop if isinstance(self.file.estop, SafetySpec) else None

    def bases(self, names: Iterable[str]) -> list[str]:
        """Return the facts that these need to be read from outside, themselves included."""
        found: dict[str, None] = {}
        todo = list(names)
        while todo:
            fact = self.facts[todo.pop()]
            if isinstance(fact, DerivedFact):
                todo.extend(fact.expression.names)
            found[fact.name] = None
        return list(found)

    def topics(self, names: Iterable[str]) -> set[str]:
        """Return the topics (as written) that these facts need."""
        topics: set[str] = set()
        for name in self.bases(names):
            fact = self.facts[name]
            if isinstance(fact, TopicFact):
                topics.add(fact.topic)
            elif isinstance(fact, TfFact):
                topics.update(TF_TOPICS)
        return topics

    def topic_types(self) -> dict[str, str]:
        """Return the message type of each topic that a fact is read from."""
        types = {fact.topic: str(fact.spec.type)
                 for fact in self.facts.values() if isinstance(fact, TopicFact)}
        if any(isinstance(fact, TfFact) for fact in self.facts.values()):
            types.update(dict.fromkeys(TF_TOPICS, TF_TYPE))
        return types


def load_facts(path: str | Path) -> FactSet:
    """Load a facts file; DocumentError with every fault (file, line, column, message)."""
    return _build(read_document(path))


def parse_facts(text: str, name: str = 'facts') -> FactSet:
    """Load facts from YAML text; `name` stands for the file in messages."""
    return _build(parse_document(text, name))


def _build(document: Document) -> FactSet:
    if isinstance(document.data, dict) and 'estop' not in document.data:
        raise DocumentError([document.fault(
            (), "missing field 'estop'; where there is none, write `estop: none`")])
    file = validate(document, FactsFile)
    faults: list[Fault] = []
    facts: dict[str, AnyFact] = {}
    for name, spec in file.facts.items():
        if not NAME.match(name) or name in RESERVED or name in _KEYWORDS:
            faults.append(document.fault(
                ('facts', name), f"'{name}' can't be the name of a fact: letters, digits and _, "
                'no function or word of expressions'))
        elif spec.expression is None:
            faults.extend(_add(document, name, spec, facts))
    faults.extend(_derive(document, file.facts, facts))
    faults.extend(_clashes(document, file))
    faults.extend(_limit_faults(document, file))
    if faults:
        raise DocumentError(faults)
    return FactSet(document.name, file, facts, file.limits)


_KEYWORDS = frozenset(('and', 'or', 'not', 'in', 'is', 'if', 'else', 'for', 'lambda', 'None',
                       'True', 'False', 'await', 'async', 'yield', 'pass', 'from', 'import',
                       'as', 'assert', 'break', 'class', 'continue', 'def', 'del', 'elif',
                       'except', 'finally', 'global', 'nonlocal', 'raise', 'return', 'try',
                       'while', 'with'))
_SOURCES = ('topic', 'tf', 'constant', 'expression')


def _add(
    document: Document, name: str, spec: FactSpec, facts: dict[str, AnyFact]
) -> Iterator[Fault]:
    """Add a fact that is no expression."""
    where = ('facts', name)
    given = [source for source in _SOURCES if getattr(spec, source) is not None]
    if len(given) != 1:
        yield document.fault(
            where, f"fact '{name}': expected one of {', '.join(_SOURCES)}, got "
            + (' and '.join(given) or 'none'))
    elif spec.topic is not None:
        missing = [key for key in ('type', 'field') if not getattr(spec, key)]
        if missing:
            yield document.fault(where, f"fact '{name}': a topic needs '{missing[0]}'")
            return
        elements, over_time, fault = _reducers(spec)
        if fault:
            yield document.fault((*where, 'reduce'), f"fact '{name}': {fault}")
            return
        try:
            read, stamp_of = compile_path(
                str(spec.field), str(spec.type), count=elements == 'count')
        except PathError as error:
            yield document.fault((*where, 'field'), f"fact '{name}': {error}")
            return
        facts[name] = TopicFact(
            name, spec, spec.topic, read, stamp_of, 'latest' if elements == 'count' else elements,
            over_time, spec.window)
    elif spec.tf is not None:
        facts[name] = TfFact(name, spec, spec.tf)
    else:
        try:
            facts[name] = ConstantFact(name, spec, as_value(spec.constant))
        except ValueError as error:
            yield document.fault((*where, 'constant'), f"fact '{name}': {error}")


def _reducers(spec: FactSpec) -> tuple[str, str, str]:
    """Return the reducer of elements, that of the window, and what is wrong with them."""
    names = [spec.reduce] if isinstance(spec.reduce, str) else list(spec.reduce)
    if names == ['age']:
        return 'latest', 'age', '' if not spec.window else "'age' takes no window"
    if spec.window == 0:
        names.append('')
    elif len(names) == 1:
        names.insert(0, 'latest')
    if len(names) != 2:
        return '', '', 'expected one reducer, or with a window [of elements, of the window]'
    elements, over_time = names
    for name, known in ((elements, ELEMENT_REDUCERS), (over_time, ('', *WINDOW_REDUCERS))):
        if name not in known:
            hint = ''
            if name in WINDOW_REDUCERS:
                hint = '; it needs a window'
            elif name in ELEMENT_REDUCERS:
                hint = f'; it reduces the elements of a sample: [{name}, max]'
            return '', '', (f"reducer '{name}' is not one of {', '.join(filter(None, known))}"
                            + (hint or nearest(name, known)))
    if spec.max_rate and over_time in ('rate', 'count'):
        return '', '', f"'{over_time}' with max_rate would count what was read, not what came"
    return elements, over_time, ''


def _derive(
    document: Document, specs: Mapping[str, FactSpec], facts: dict[str, AnyFact]
) -> Iterator[Fault]:
    """Add the expressions, each after those it needs."""
    waiting: dict[str, Expression] = {}
    for name, spec in specs.items():
        if spec.expression is None or not NAME.match(name):
            continue
        given = [source for source in _SOURCES if getattr(spec, source) is not None]
        if len(given) > 1:
            yield document.fault(
                ('facts', name), f"fact '{name}': expected one of {', '.join(_SOURCES)}, got "
                + ' and '.join(given))
            continue
        try:
            waiting[name] = compile_expression(spec.expression, specs.keys())
        except DocumentError as error:
            for fault in error.faults:
                yield document.fault(
                    ('facts', name, 'expression'),
                    f"fact '{name}', column {fault.column} of the expression: {fault.message}")
    while True:
        ready = [name for name, expression in waiting.items()
                 if not any(other in waiting for other in expression.names)]
        if not ready:
            break
        for name in ready:
            facts[name] = DerivedFact(name, specs[name], waiting.pop(name))
    for name, expression in waiting.items():
        needs = ', '.join(other for other in expression.names if other in waiting)
        yield document.fault(('facts', name, 'expression'),
                             f"fact '{name}' needs itself by way of {needs}")


def _clashes(document: Document, file: FactsFile) -> Iterator[Fault]:
    """One topic has one type."""
    types: dict[str, str] = {}
    entries: list[tuple[tuple[str | int, ...], Any]] = [
        (('facts', name), spec) for name, spec in file.facts.items()]
    entries += [(('safety', index), spec) for index, spec in enumerate(file.safety)]
    if file.estop != 'none':
        entries.append((('estop',), file.estop))
    for path, spec in entries:
        if spec.topic is None or spec.type is None:
            continue
        if types.setdefault(spec.topic, spec.type) != spec.type:
            yield document.fault(
                (*path, 'type'), f"topic '{spec.topic}' is {types[spec.topic]} elsewhere in this "
                f'file, {spec.type} here')
        if isinstance(spec, SafetySpec) and spec.field is not None:
            try:
                compile_path(spec.field, spec.type)
            except PathError as error:
                yield document.fault((*path, 'field'), str(error))
    if file.estop != 'none' and file.estop.field is None:
        yield document.fault(('estop',), "the e-stop needs a 'field'")


def _limit_faults(document: Document, file: FactsFile) -> Iterator[Fault]:
    for goal, fields in file.limits.items():
        for path, (low, high) in fields.items():
            where = ('limits', goal, path)
            if not low <= high:
                yield document.fault(where, f'limits [{low}, {high}]: expected [least, greatest]')
            try:
                compile_path(path, '')
            except PathError as error:
                yield document.fault(where, str(error))


def as_value(data: Any) -> Any:
    """Return a constant or parameter as a value: number, bool, text, vector or several texts."""
    if isinstance(data, (bool, int, float)):
        if isinstance(data, float) and math.isnan(data):
            raise ValueError('NaN is no value')
        return data
    if isinstance(data, str):
        return Text(data)
    if isinstance(data, (list, tuple)):
        if data and all(isinstance(item, str) for item in data):
            return Texts(map(Text, data))
        try:
            array = np.array(data, dtype=float)
        except (ValueError, TypeError):
            pass
        else:
            if not np.isnan(array).any():
                return array
    raise ValueError('expected a number, a truth, a text, or a list of numbers or of texts')


