# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Loads and checks facts files: the facts, their topics, and the safety topics.

facts_file.py describes the format of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from keyword import iskeyword
from pathlib import Path

from .facts import ConstantFact, DerivedFact, Fact, FactSet, LoadedFile, TfFact, TopicFact
from .facts_checks import clashes, FieldKind, limits_faults, no_topic, wrong_key
from .facts_file import FactsFile, FactSpec, FRAMELESS, RANGE_TYPES, TOPIC
from .health_checks import add_health, cycle_faults, Health
from .message_constants import collect, Constants
from .safety_topics import add_safety_topics, SafetyTopic
from .selectors import compile_frame, compile_path
from .standstill import standstill, standstill_faults
from ..expressions.constant_values import as_value
from ..expressions.expression import compile_expression, Expression, is_reserved, NAME
from ..expressions.reducers import reduced, REDUCERS
from ..expressions.value_types import Kind, kind_of
from ...documents.errors import DocumentError, Fault, LifecycleError
from ...documents.models import validate
from ...documents.suggestions import nearest
from ...documents.yaml_document import Document, parse_document, read_document

any_field = FieldKind()


def load_facts(path: str | Path, field_kind: FieldKind = any_field) -> FactSet:
    """Load a facts file; raises DocumentError with all faults (file, line, column, message)."""
    file = LoadedFile.at(Path(path).expanduser())  # before it is read
    return replace(_build(read_document(path), field_kind), file=file)


def parse_facts(text: str, name: str = 'facts', field_kind: FieldKind = any_field) -> FactSet:
    """Load facts from a YAML string; `name`: file name for messages. Raises DocumentError."""
    return _build(parse_document(text, name), field_kind)


def _build(document: Document, field_kind: FieldKind) -> FactSet:
    if isinstance(document.data, dict) and 'estop' not in document.data:
        raise DocumentError([document.fault(
            (), "missing field 'estop'; where there is none, write `estop: none`")])
    file = validate(document, FactsFile)
    faults: list[Fault] = []
    facts: dict[str, Fact] = {}
    kinds = dict.fromkeys(file.facts, Kind.ANY)
    derived: dict[str, FactSpec] = {}
    for name, spec in file.facts.items():
        given = [source for source in _SOURCES if getattr(spec, source) is not None]
        if not NAME.match(name) or is_reserved(name) or iskeyword(name):
            faults.append(document.fault(
                ('facts', name), f"'{name}' can't be the name of a fact: letters, digits and _, "
                'no function or word of expressions'))
        elif len(given) != 1:
            faults.append(document.fault(
                ('facts', name), f"fact '{name}': expected one of {', '.join(_SOURCES)}, got "
                + (' and '.join(given) or 'none')))
        elif spec.expression is not None:
            derived[name] = spec
        else:
            faults.extend(_add(document, name, spec, facts, kinds, field_kind))
    constants = _constants(file, facts, field_kind)
    for name, value in constants.values.items():
        kinds[name] = kind_of(value)
    faults.extend(_derive(document, derived, facts, kinds, constants))
    health: dict[str, Health] = {}
    if not faults:
        faults.extend(add_health(document, file, kinds, health))
        faults.extend(cycle_faults(document, file, health, {
            name: fact.expression.names for name, fact in facts.items()
            if isinstance(fact, DerivedFact)}))
    faults.extend(clashes(document, file))
    safety: list[SafetyTopic] = []
    faults.extend(add_safety_topics(document, file, field_kind, safety))
    faults.extend(limits_faults(document, file, field_kind))
    found = FactSet(
        facts, kinds, file.limits, constants, tuple(safety), health, standstill(file))
    if not faults:
        faults.extend(standstill_faults(document, found, field_kind))
    if faults:
        raise DocumentError(faults)
    return found


def _constants(
    file: FactsFile, facts: Mapping[str, Fact], field_kind: FieldKind
) -> Constants:
    """Return the usable constants; facts hide constants of the same name."""
    found = collect(field_kind.constants(str(fact.spec.type), str(fact.spec.field))
                    for fact in facts.values() if isinstance(fact, TopicFact))
    return Constants(*({name: entry for name, entry in part.items()
                        if name not in file.facts and not is_reserved(name)} for part in found))


_SOURCES = ('topic', 'tf', 'constant', 'expression')


def _add(
    document: Document, name: str, spec: FactSpec, facts: dict[str, Fact],
    kinds: dict[str, Kind], field_kind: FieldKind,
) -> Iterator[Fault]:
    """Add a fact (not an expression) and its kind; yields its faults."""
    where = ('facts', name)
    if spec.infinite is not None and spec.topic is None:
        yield document.fault((*where, 'infinite'), f"fact '{name}': 'infinite' is for facts of a "
                             'topic and expressions')
    if spec.publishers is not None and spec.topic is None and (
            spec.tf is None or spec.publishers != 'any'):
        yield document.fault((*where, 'publishers'), f"fact '{name}': only a topic has publishers"
                             + (", that of tf may be 'any'" if spec.tf else ''))
    if spec.topic is not None:
        if not TOPIC.match(spec.topic):
            yield document.fault((*where, 'topic'), f"fact '{name}': {no_topic(spec.topic)}")
            return
        missing = [key for key in ('type', 'field') if not getattr(spec, key)]
        if missing:
            yield document.fault(where, f"fact '{name}': a topic needs '{missing[0]}'")
            return
        try:
            elements, over_time = _reducers(spec)
            read, stamp_of = compile_path(
                str(spec.field), str(spec.type), count=elements == 'count')
            kinds[name] = reduced(
                field_kind(str(spec.type), str(spec.field)), elements, over_time)
        except (LifecycleError, TypeError) as error:
            yield document.fault((*where, wrong_key(error)), f"fact '{name}': {error}")
            return
        facts[name] = TopicFact(
            name, spec, spec.topic, read, stamp_of, 'latest' if elements == 'count' else elements,
            over_time, spec.infinite == 'ordered' or (
                spec.infinite is None and spec.type in RANGE_TYPES),
            compile_frame(str(spec.field)) if spec.frame and spec.type not in FRAMELESS else None)
    elif spec.tf is not None:
        if spec.frame and spec.frame.lstrip('/') != spec.tf.target.lstrip('/'):
            yield document.fault((*where, 'frame'), f"fact '{name}': its pose is in the target "
                                 f"'{spec.tf.target}', not in '{spec.frame}'")
        facts[name] = TfFact(name, spec, spec.tf)
        kinds[name] = Kind.VECTOR
    else:
        try:
            value = as_value(spec.constant)
            facts[name], kinds[name] = ConstantFact(name, spec, value), kind_of(value)
        except ValueError as error:
            yield document.fault((*where, 'constant'), f"fact '{name}': {error}")


def _reducers(spec: FactSpec) -> tuple[str, str]:
    """Return the reducers of elements and of the window; raises TypeError for other `reduce`."""
    names = [spec.reduce] if isinstance(spec.reduce, str) else list(spec.reduce)
    if names == ['age']:
        if spec.window:
            raise TypeError("'age' takes no window")
        return 'latest', 'age'
    if spec.window == 0:
        names.append('')
    elif len(names) == 1:
        names.insert(0, 'latest')
    if len(names) != 2:
        raise TypeError('expected one reducer, or with a window [of elements, of the window]')
    elements, over_time = names
    for name, part, hint in (
            (elements, 'elements', '; it needs a window'),
            (over_time, 'window', f'; it reduces the elements of a sample: [{over_time}, max]')):
        try:
            reducer = REDUCERS.load(name) if name else None
        except LifecycleError as error:
            raise TypeError(str(error)) from error
        if name and (reducer is None or not getattr(reducer, part)):
            known = [name for name, reducer in REDUCERS.items() if getattr(reducer, part)]
            raise TypeError(f"reducer '{name}' is not one of {', '.join(known)}"
                            + (hint if reducer else nearest(name, REDUCERS.names())))
    if spec.max_rate and over_time in ('rate', 'count'):
        raise TypeError(f"'{over_time}' with max_rate would only count the samples that are read, "
                        'not all that come')
    return elements, over_time


def _derive(
    document: Document, specs: Mapping[str, FactSpec], facts: dict[str, Fact],
    kinds: dict[str, Kind], constants: Constants,
) -> Iterator[Fault]:
    """Add the expressions, each after the facts that it needs; yields their faults."""
    names = {*kinds, *constants.unclear}

    def faults(name: str, error: DocumentError) -> Iterator[Fault]:
        for fault in error.faults:
            yield document.fault(
                ('facts', name, 'expression'),
                f"fact '{name}', column {fault.column} of the expression: {fault.message}")

    ordered = {name for name, fact in facts.items()
               if isinstance(fact, TopicFact) and fact.ordered}
    waiting: dict[str, Expression] = {}
    for name, spec in specs.items():
        try:
            waiting[name] = compile_expression(str(spec.expression), names)
        except DocumentError as error:
            yield from faults(name, error)
        else:
            for read in waiting[name].names:
                if read in constants.unclear:
                    yield document.fault(('facts', name, 'expression'),
                                         f"fact '{name}': {constants.unclear[read]}")
    while True:
        ready = [name for name, expression in waiting.items()
                 if not any(other in waiting for other in expression.names)]
        if not ready:
            break
        for name in ready:
            expression = waiting.pop(name)
            infinite = ordered.intersection(expression.names)
            if specs[name].infinite is not None:
                infinite = set(expression.names if specs[name].infinite == 'ordered' else ())
            try:  # again, with the kinds of the facts it needs
                expression = compile_expression(
                    expression.text, names, kinds=kinds, ordered=frozenset(infinite))
            except DocumentError as error:
                yield from faults(name, error)
                continue
            if infinite:
                ordered.add(name)
            facts[name] = DerivedFact(name, specs[name], expression, bool(infinite))
            kinds[name] = expression.kind
    for name, expression in waiting.items():
        needs = ', '.join(other for other in expression.names if other in waiting)
        yield document.fault(('facts', name, 'expression'),
                             f"fact '{name}' needs itself by way of {needs}")
