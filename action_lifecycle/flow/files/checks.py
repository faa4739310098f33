# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks of a flow's actions beyond the types of their fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
import math
import re
from typing import Any

from .alternatives import fallback_faults, strategies
from .edit_provenance import Path
from .flow import LoadedFlow, with_nested
from .names import IDENTIFIER, NAME
from .shorthand import CONDITIONS
from ...documents.budget import spend
from ...documents.errors import DocumentError, Fault, MAX_FAULTS
from ...documents.models import as_written
from ...documents.suggestions import nearest
from ...documents.templates.template import has_template, names_read, parts_read
from ...documents.yaml_document import Document
from ...lifecycle.ports import Condition, gaps
from ...lifecycle.schedule.schedule import schedule_faults
from ...lifecycle.spec import ActionSpec, ConditionSpec, WhenSpec
from ...lifecycle.work import NestingSpec
from ...world.expressions.constant_values import as_value
from ...world.expressions.expression import certain_fault, compile_expression
from ...world.expressions.value_types import Kind, kind_of

_WORD = re.compile(r'[A-Za-z_]\w*')
RESULT_FIELDS = ('outcome', 'attempts', 'error_code', 'error_msg', 'duration', 'controller_said',
                 'sensors_said', 'result', 'results', 'facts')
"""Fields of an action's result that templates may read."""
RESULT_NAMES: Mapping[str, Any] = {
    'outcome': 'succeeded', 'attempts': 1, 'error_code': 'NONE', 'duration': 1.0}
"""Names available in a condition of `after`, from the earlier action's result, with examples."""
_CONDITION_STEPS = 300
"""Budget steps for the check of a condition, in addition to 2 for each character."""


def checked_action(
    flow: LoadedFlow, action_id: str, names: Collection[str]
) -> tuple[ActionSpec | None, list[Fault]]:
    """Return the spec of an action and its faults; `names`: the flow's actions."""
    try:
        action = flow.render(action_id)
    except DocumentError as error:
        return None, list(error.faults)
    faults = list(islice(_action_faults(flow, action_id, action, names), MAX_FAULTS))
    found = list(islice(fallback_faults(flow, action_id, action), MAX_FAULTS))
    faults += found or _alternative_faults(flow, action_id, action, names)
    return action, faults


def order_faults(
    flow: LoadedFlow, action_ids: Iterable[str], needs: Callable[[str], Iterable[str]],
    stand_in: Callable[[str], str] = str,
) -> Iterator[Fault]:
    """
    Yield the faults of templates that read facts or results, such as those of later actions.

    `stand_in(name)` returns the replacement of an action, or its name.
    """
    comes_before = _Precedence(needs)
    for action_id in action_ids:
        for path, text in flow.late[action_id]:
            where = ('actions', action_id, *path)
            facts = parts_read(text, 'facts')
            if path[0] in ('after', 'repeat') and facts:
                yield flow.document.fault(
                    where, f"action '{action_id}': a condition reads facts by their names, "
                    'without a template')
            if 'facts' in names_read(text) and not all(name for name, _ in facts or [('', '')]):
                yield flow.document.fault(
                    where, f"action '{action_id}': the template {text.strip()!r} must say which "
                    'fact, as in facts.NAME')
            results = sorted(parts_read(text, 'results'))
            if 'results' in names_read(text) and not results:
                results = [('', '')]
            for name, field in results:
                own = path[0] == 'repeat' and name == action_id
                if not own and not comes_before(stand_in(name), action_id) \
                        and not comes_before(name, action_id):
                    before = comes_before.all(action_id)
                    yield flow.document.fault(
                        where, f"action '{action_id}': the template {text.strip()!r} reads the "
                        f"result of '{name}', which does not come before" + nearest(name, before))
                elif field and field not in RESULT_FIELDS:
                    yield flow.document.fault(
                        where, f"action '{action_id}': results have no '{field}'"
                        + nearest(field, RESULT_FIELDS)
                        + f" (known: {', '.join(RESULT_FIELDS)})")


class _Precedence:
    """Tells whether an action runs before another; `needs(name)`: its dependencies, acyclic."""

    def __init__(self, needs: Callable[[str], Iterable[str]]) -> None:
        self._needs = needs
        self._bits: dict[str, int] = {}  # bit of each action that others depend on
        self._masks: dict[str, int] = {}  # bits of all earlier actions, by action

    def __call__(self, name: str, action_id: str) -> bool:
        """Return whether the action `name` runs before `action_id`."""
        return bool(self._mask(action_id) & self._bits.get(name, 0))

    def all(self, action_id: str) -> list[str]:  # noqa: A003
        """Return all actions that run before an action."""
        mask = self._mask(action_id)
        return [name for name, bit in self._bits.items() if mask & bit]

    def _mask(self, action_id: str) -> int:
        front = [action_id]
        while front:
            name = front[-1]
            if name in self._masks:
                front.pop()
                continue
            missing = [needed for needed in self._needs(name) if needed not in self._masks]
            if missing:
                front += missing
                continue
            mask = 0
            for needed in self._needs(name):
                mask |= self._masks[needed] | self._bits.setdefault(
                    needed, 1 << len(self._bits))
            self._masks[name] = mask
            front.pop()
        return self._masks[action_id]


def _action_faults(
    flow: LoadedFlow, action_id: str, action: ActionSpec, names: Collection[str]
) -> Iterator[Fault]:
    document, path = flow.document, ('actions', action_id)
    spend(len(action.parameters))
    for name in action.parameters:
        if name in ('facts', 'results') or (
                name not in flow.parameters and not IDENTIFIER.match(name)):
            yield document.fault((*path, 'parameters', name), f'{name!r} is not an identifier, '
                                 'or has a meaning of its own in templates')
    for name in action.after:
        if name not in names:
            yield document.fault((*path, 'after', name), f"action '{action_id}' waits for "
                                 f"'{name}', which the flow does not have"
                                 + nearest(name, names))
    if action.schedule is not None:
        for field, message in schedule_faults(action.schedule, of_action=True):
            yield document.fault(
                (*path, 'schedule', field), f"action '{action_id}', schedule: {message}")
    if action.schedule is not None and action.repeat is not None:
        yield document.fault((*path, 'repeat'), f"action '{action_id}' has 'schedule' and "
                             "'repeat': expected one of them")
    for name in action.resources:
        if not NAME.match(name):
            yield document.fault((*path, 'resources'), f'{name!r} is not a name of a resource')
    if not action.confirm and (action.physical or not action.steps):
        yield document.fault(path, f"action '{action_id}' has no 'confirm': nothing would show "
                             'that it is done')
    if action.confirm and not _asks_sensors(action):
        yield document.fault((*path, 'confirm'), f"action '{action_id}': 'confirm' reads no fact, "
                             'so no sensor would be asked')
    yield from _void_evidence(document, action_id, action, {})
    if action.maintain and not action.physical:
        yield document.fault((*path, 'maintain'), f"action '{action_id}' has 'maintain' but no "
                             "'motion' that it could stop; 'maintain: []' leaves it out")
    for index, verifier in enumerate(action.verify):
        for field, message in verifier.faults():
            yield document.fault((*path, 'verify', index, *filter(None, [field])),
                                 f"action '{action_id}': {message}")
    yield from _condition_faults(document, action_id, action, None)
    for step in action.steps:
        where = (*path, *step.path)
        for field, message in step.faults():
            yield document.fault((*where, *filter(None, [field])),
                                 f"action '{action_id}', {step.kind}: {message}")
        if step.needs_stopped() and action.stopped is None:
            yield document.fault(where, f"action '{action_id}', {step.kind}: nothing would show "
                                 "that it has stopped; it needs 'finally', or the action needs "
                                 "'stopped'")
        for field, value in as_written(step).items():
            yield from _number_faults(document, where, (field,), value)


def check_conditions(
    flow: LoadedFlow, facts: Mapping[str, Kind], fixed: Mapping[str, Any] = {}
) -> None:
    """
    Raise DocumentError if a condition is not valid for these facts; `facts`: kinds by name.

    `fixed`: the values that no sensor measures, such as constants.
    """
    faults = [
        fault for one in with_nested(flow) for action_id, action in one.actions.items()
        for fault in (
            *_condition_faults(
                one.document, action_id, action, {*facts, *action.parameters}, facts),
            *_work_faults(one.document, action_id, action, facts),
            *_void_evidence(one.document, action_id, action, fixed))]
    if faults:
        raise DocumentError(faults)


def _condition_faults(
    document: Document, action_id: str, action: ActionSpec, names: Collection[str] | None,
    facts: Mapping[str, Kind] = {},
) -> Iterator[Fault]:
    def kinds_in(text: str) -> dict[str, Kind]:
        words = set(_WORD.findall(text))
        return {
            **{name: facts[name] for name in words if name in facts},
            **{name: kind_of(action.parameters[name]) for name in words
               if name in action.parameters and not has_template(action.parameters[name])}}

    for field in CONDITIONS:
        value = getattr(action, field)
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if item is None:
                continue
            where = ('actions', action_id, field, index)
            said = f"action '{action_id}', {field}"
            for wrong in Condition(hold=item.hold, within=item.within).faults():
                yield document.fault((*where, 'hold'), f'{said}: {wrong}')
            said += f' {item.condition!r}'
            read, faults = _checked_condition(item.condition, names, kinds_in(item.condition))
            for fault in faults:
                yield document.fault((*where, 'condition'), f'{said}, {fault}')
            for name in read:
                if why := _unusable(action.parameters, name):
                    yield document.fault(
                        (*where, 'condition'), f"{said}: parameter '{name}' has no value that a "
                        f'condition can read: {why}')
    for below, said, when in judged_conditions(action):
        if not has_template(when.condition):
            known = {**RESULT_NAMES, 'iteration': 1} if below[0] == 'repeat' else RESULT_NAMES
            both = None if names is None else {*names, *known}
            kinds = {**kinds_in(when.condition),
                     **{name: kind_of(value) for name, value in known.items()}}
            for fault in _checked_condition(when.condition, both, kinds)[1]:
                yield document.fault(
                    ('actions', action_id, *below),
                    f"action '{action_id}', {said} {when.condition!r}, {fault}")


def _work_faults(
    document: Document, action_id: str, action: ActionSpec, facts: Mapping[str, Kind]
) -> Iterator[Fault]:
    """Yield the expressions of work whose operands are of other kinds than they need."""
    kinds = {**facts, **parameter_kinds(action.parameters)}
    for step in action.steps:
        field, until = step.evidence(False)
        found = [((*step.path, field), until, True)] \
            if until and not getattr(step, 'over_response', False) else []
        if not isinstance(step, NestingSpec):
            found += [(step.path, text, False) for text in gaps(as_written(step))]
        for where, text, condition in found:
            if has_template(text):
                continue
            try:
                compile_expression(text, None, condition=condition, kinds=kinds)
            except DocumentError as error:
                for fault in error.faults:
                    yield document.fault(
                        ('actions', action_id, *where), f"action '{action_id}', {step.kind}: "
                        f'{text!r}, character {fault.column}: {fault.message}')


def parameter_kinds(parameters: Mapping[str, Any]) -> dict[str, Kind]:
    """Return the kinds of parameters, as far as they are known before templates are filled in."""
    return {name: Kind.ANY if has_template(value) else kind_of(value)
            for name, value in parameters.items()}


def _void_evidence(
    document: Document, action_id: str, action: ActionSpec, fixed: Mapping[str, Any]
) -> Iterator[Fault]:
    """Yield the conditions that are evidence, and true with these values and the parameters."""
    known: dict[str, Any] = dict(fixed)
    for name, value in action.parameters.items():
        known.pop(name, None)
        if not has_template(value) and not _unusable(action.parameters, name):
            known[name] = as_value(value)
    for where, said, text in _evidence(action):
        try:
            expression = compile_expression(text, None, condition=True, dotted=True)
        except DocumentError:
            continue  # reported as a separate fault
        if fault := certain_fault(expression, known):
            yield document.fault(
                ('actions', action_id, *where), f"action '{action_id}', {said} {text!r}: {fault}")


def _evidence(action: ActionSpec) -> Iterator[tuple[Path, str, str]]:
    """Yield path, name in messages and text of the conditions that show an end or an outcome."""
    for index, item in enumerate(action.confirm if _asks_sensors(action) else []):
        yield ('confirm', index, 'condition'), 'confirm', item.condition
    if action.stopped is not None:
        yield ('stopped', 0, 'condition'), 'stopped', action.stopped.condition
    for step in action.steps:
        field, text = step.evidence(bool(action.confirm))
        if text and not has_template(text):
            yield (*step.path, field), f'{step.kind}: {field}', text
    if action.repeat is not None and action.repeat.until is not None \
            and not has_template(action.repeat.until.condition):
        yield ('repeat', 'until', 'condition'), 'repeat until', action.repeat.until.condition


def judged_conditions(action: ActionSpec) -> Iterator[tuple[Path, str, WhenSpec]]:
    """Yield the conditions in `after` and `repeat`, with their paths and names in messages."""
    for needed, when in action.after.items():
        if isinstance(when, WhenSpec):
            yield ('after', needed, 'condition'), f"after '{needed}' if", when
    if action.repeat is not None and action.repeat.until is not None:
        yield ('repeat', 'until', 'condition'), 'repeat until', action.repeat.until


def _asks_sensors(action: ActionSpec) -> bool:
    """Return whether a condition in `confirm` reads a fact."""
    return any(_facts_read(item, action) for item in action.confirm)


def _facts_read(condition: ConditionSpec, action: ActionSpec) -> set[str]:
    """Return the names that a condition reads, without the action's parameters."""
    try:
        names = _names_of_any_facts(condition.condition, ())
    except DocumentError:
        return {'?'}  # reported as a separate fault
    return set(names) - set(action.parameters)


def _checked_condition(
    text: str, names: Collection[str] | None, kinds: Mapping[str, Kind]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the names that a condition reads, and its faults."""
    spend(_CONDITION_STEPS + 2 * len(text))
    try:
        if names is None:
            return _names_of_any_facts(text, tuple(sorted(kinds.items()))), []
        return compile_expression(text, names, condition=True, kinds=kinds).names, []
    except DocumentError as error:
        return (), [f'character {fault.column}: {fault.message}' for fault in error.faults]


def _unusable(parameters: Mapping[str, Any], name: str) -> str:
    """Return why a condition can't read a parameter; '' if it can or is filled in later."""
    if name not in parameters or has_template(parameters[name]):
        return ''
    try:
        as_value(parameters[name])
    except ValueError as error:
        return str(error)
    return ''


@lru_cache(maxsize=4096)
def _names_of_any_facts(text: str, kinds: tuple[tuple[str, Kind], ...]) -> tuple[str, ...]:
    """Return the names that a condition reads; raises `DocumentError` if it is not valid."""
    return compile_expression(text, None, condition=True, kinds=dict(kinds)).names


def _number_faults(
    document: Document, where: Path, path: Path, value: Any
) -> Iterator[Fault]:
    """Yield the numbers in a step that are not finite; `path`: below the step at `where`."""
    if isinstance(value, float) and not math.isfinite(value):
        dotted = '.'.join(map(str, path))
        yield document.fault(
            (*where, *path), f"field '{dotted}': expected a finite number, got {value}")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _number_faults(document, where, (*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _number_faults(document, where, (*path, index), item)


def _alternative_faults(
    flow: LoadedFlow, action_id: str, action: ActionSpec, names: Collection[str],
) -> Iterator[Fault]:
    """Yield the faults of an action with each of its fallbacks applied."""
    changing = [(path, strategy) for path, strategy in strategies(action)
                if strategy.parameters or strategy.fields]
    known = set(_action_faults(flow, action_id, action, names)) if changing else set()
    for path, strategy in changing:
        try:
            changed = flow.render(action_id, strategy.parameters, strategy.fields)
        except DocumentError as error:
            # The fields of a fallback have no position of their own in the action.
            yield from (flow.document.fault(('actions', action_id, *path), fault.message)
                        if strategy.fields else fault for fault in error.faults)
            continue
        if not flow.late[action_id] and any(
                has_template({key: value for key, value in dict(step).items()
                              if key not in step.late}) for step in changed.steps):
            yield flow.document.fault(
                ('actions', action_id, *path), f"action '{action_id}': a fallback can not read "
                'facts or results that the action itself does not read')
        for fault in _action_faults(flow, action_id, changed, names):
            if fault not in known:
                yield flow.document.fault(('actions', action_id, *path), fault.message)
        if changed.resources != action.resources:
            yield flow.document.fault(
                ('actions', action_id, *path, 'parameters'), f"action '{action_id}': a fallback "
                'can not change the resources that it holds')
