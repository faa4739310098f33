# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
What the sensors were asked in the runs of a journal, and what they said.

Each row is applied to its action by the same code as in a restart, and the conditions are those
of the flow as the journal has it, filled in as they were when the action started.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .journaled_flows import JournaledFlows, UNUSABLE
from .journaled_times import asked_at, LATENCY
from .recorded import CONFIRM, MAINTAIN, MAINTAINED, Recorded, REQUIRE, VIOLATED
from ...documents.errors import LifecycleError
from ...flow.files.alternatives import Alternatives, no_recipes
from ...graphs.packaged import packaged_graph
from ...journal.action_rows import replay as apply_row
from ...journal.durability import STEP
from ...journal.projection import ReadOnly
from ...journal.reader import JournalReader
from ...journal.row import JournalError, Row
from ...lifecycle.action import Action
from ...lifecycle.flow_ids import depth_of, parent_of
from ...lifecycle.ports import Condition, conditions_of, Evidence
from ...lifecycle.running.work_states import bridge_steps
from ...lifecycle.spec import ActionSpec
from ...lifecycle.states import ActionState, ErrorCode
from ...traces.contents import TraceKey

MOVES, SENSORS = ActionState.EXECUTING_MOTION.value, ActionState.SENSOR_CONFIRM.value
BEGUN, VERIFIED = (ActionState.IN_PROGRESS.value,
                   ActionState.STATUS_VERIFICATION_REQUESTED.value)
_SAID = ('confirmed', 'refuted', 'timed_out', 'stale')
_REQUIRED = {ErrorCode.REQUIRE_REFUTED.name: 'refuted', ErrorCode.CONFIRM_STALE.name: 'stale',
             ErrorCode.CONFIRM_TIMEOUT.name: 'timed_out'}


class Inputs(NamedTuple):
    """What an attempt differs in from its action in the flow; see `Action`."""

    parameters: Mapping[str, Any]
    fields: Mapping[str, Any]
    seen: Mapping[str, Any]
    step: int = 0  #: index of the step that began last


@dataclass
class _Open:
    """Something that the bridge does now: a motion, or a question to the sensors."""

    kind: str
    began: float  #: ROS time in s
    after: float = 0.0
    step: int = 0  #: index of the first step of the motion


class JournaledRuns:
    """
    The confirmations and motions in a journal that overlap `spans` (s of ROS time).

    `recorded`: in the order of their end. `nested`: what the action of a nested flow had read when
    that flow began, by its id; `inputs`: what attempts had read or changed; `parameters`: of the
    outermost flows. Raises JournalError.
    """

    def __init__(self, path: str, spans: Iterable[tuple[float, float]]) -> None:
        self.recorded: list[Recorded] = []
        self.nested: dict[str, Inputs] = {}
        self.inputs: dict[TraceKey, Inputs] = {}
        self.parameters: dict[str, Mapping[str, Any]] = {}
        self._spans = list(spans)
        self._flows = JournaledFlows()
        self._actions: dict[tuple[str, str], Action] = {}
        self._open: dict[tuple[str, str], _Open] = {}
        with JournalReader(path) as journal:
            for row in journal.rows():
                try:
                    self._take(row)
                except JournalError as error:
                    raise JournalError(f'{path}: {error}') from error
                except UNUSABLE as error:
                    raise JournalError(
                        f"{path}: row {row.seq}: '{row.event}' of {row.flow_id}/{row.action_id} "
                        f'has data that can not be used: {error!r}') from error

    def _take(self, row: Row) -> None:
        if row.kind == 'flow':
            self._flows.take(row)
            if row.event == 'accepted':
                self._flow_begins(row)
            elif row.final:
                for key in [key for key in self._actions if key[0] == row.flow_id]:
                    del self._actions[key]
        elif row.kind == 'transition':
            action = self._action(row)
            apply_row(action, row)
            self._changed(action, row)
            if row.from_state != row.to_state:
                self._begins(action, row)
        elif row.kind == 'note' and row.event == STEP:
            action = self._action(row)
            action.begin_step(row.data)
            self._changed(action, row)
            if row.to_state == MOVES:
                self._open[row.flow_id, row.action_id] = _Open(
                    MAINTAIN, row.ros_time or 0.0, step=len(action.results))

    def _action(self, row: Row) -> Action:
        key = row.flow_id, row.action_id
        if key not in self._actions:
            self._actions[key] = Action(
                *key, ActionSpec(), packaged_graph('action'), ReadOnly())
        return self._actions[key]

    def _flow_begins(self, row: Row) -> None:
        if depth_of(row.flow_id) == 0:
            self.parameters[row.flow_id] = dict(row.data.get('parameters') or {})
        outer = self._actions.get((parent_of(row.flow_id), str(
            self._flows.origin(row.flow_id).get('action', ''))))
        if outer is not None:
            self.nested[row.flow_id] = _inputs(outer)

    def _changed(self, action: Action, row: Row) -> None:
        """Record what ends with a row."""
        one = self._open.pop((row.flow_id, row.action_id), None)
        if one is None or not self._overlaps(one.began, row.ros_time or 0.0):
            return
        inputs = _inputs(action)
        if any(inputs[:3]):
            self.inputs[TraceKey(row.flow_id, row.action_id, row.attempt)] = inputs
        if one.kind == MAINTAIN:
            self.recorded.extend(self._motion(action, one, row))
        else:
            self.recorded.extend(self._question(action, one, row))

    def _begins(self, action: Action, row: Row) -> None:
        """Note what begins with a change."""
        now, key = row.ros_time or 0.0, (row.flow_id, row.action_id)
        if row.to_state == MOVES:
            self._open[key] = _Open(MAINTAIN, now)
        elif row.to_state == SENSORS:
            self._open[key] = _Open(CONFIRM, now, action.motion_ended)
        elif row.to_state == BEGUN:
            self._open[key] = _Open(REQUIRE, now)
        elif row.to_state == VERIFIED and action.sensors_said != 'confirmed':
            self._open[key] = _Open(CONFIRM, now, action.motion_ended or now)

    def _overlaps(self, begin: float, end: float) -> bool:
        return any(first <= end and begin <= last for first, last in self._spans)

    def _spec(self, action: Action) -> ActionSpec:
        """Return the spec of an action as it ran."""
        flow = self._flows.find(action.flow_id)
        if action.action_id not in flow.actions:
            raise LifecycleError(f"flow '{flow.name}' in the journal has no action "
                                 f"'{action.action_id}'")
        if action.parameters or action.fields or action.seen:
            return Alternatives(flow, action, no_recipes).render(
                action.parameters, action.fields)
        return flow.actions[action.action_id]

    def _motion(self, action: Action, one: _Open, row: Row) -> Iterator[Recorded]:
        """Yield what a motion had to maintain, and whether it did."""
        spec, fault = self._spec_or_fault(action)
        if spec is not None and not bridge_steps(spec.steps[one.step:]):
            return  # the process did this step
        data, ended, stopped_by = row.data, row.ros_time or 0.0, ''
        evidence = _evidence(data, MAINTAIN)
        violated = bool(evidence) or data.get('error_code') == ErrorCode.MAINTAIN_VIOLATED.name
        if violated and evidence:
            ended = float(evidence[0]['stamp'])
        elif row.event == 'fail' and not violated:
            stopped_by = str(data.get('error_code', ''))
        elif row.event == 'motion_done':
            ended = float(data['ended'])
            stopped_by = 'interrupted' if data.get('interrupted') else ''
        elif row.event not in ('fail', STEP):
            stopped_by = row.event
        yield Recorded(
            row.flow_id, row.action_id, row.attempt, one.began, max(ended, one.began), 0.0,
            () if spec is None else conditions_of(spec.maintain, MAINTAIN),
            VIOLATED if violated else MAINTAINED, evidence,
            {} if spec is None else spec.parameters, 'journal', MAINTAIN, fault, stopped_by)

    def _question(self, action: Action, one: _Open, row: Row) -> Iterator[Recorded]:
        """Yield a confirmation, if the row that ends it has a verdict."""
        data = row.data
        if one.kind == REQUIRE:
            verdict = _REQUIRED.get(str(data.get('error_code')), '') if row.event == 'fail' \
                else 'confirmed' if row.event in ('execute', 'request_verification', STEP) else ''
        else:
            verdict = str(data.get('sensors_said', ''))
        spec, fault = self._spec_or_fault(action)
        conditions: Sequence[Condition] = () if spec is None else conditions_of(
            spec.require if one.kind == REQUIRE else spec.confirm, one.kind)
        evidence = _evidence(data, one.kind)[:len(conditions) or None]
        if verdict not in _SAID or not (conditions or fault and evidence):
            return
        ended = float(evidence[0]['stamp']) if evidence else row.ros_time or 0.0
        started = asked_at(one.began, conditions, verdict, evidence)
        if started is None:
            started, fault = one.began, fault or (
                'when the bridge began to judge it is not in the journal: the verdict came more '
                f'than {LATENCY:g} s after the time limit, so that a process was restarted')
        yield Recorded(
            row.flow_id, row.action_id, row.attempt, started, ended, one.after, conditions,
            verdict, evidence, {} if spec is None else spec.parameters, 'journal', one.kind,
            fault)

    def _spec_or_fault(self, action: Action) -> tuple[ActionSpec | None, str]:
        try:
            return self._spec(action), ''
        except LifecycleError as error:
            return None, ' '.join(str(error).split())


def _inputs(action: Action) -> Inputs:
    return Inputs(dict(action.parameters), dict(action.fields), dict(action.seen),
                  len(action.results))


def _evidence(data: Mapping[str, Any], kind: str) -> list[Evidence]:
    """Return the evidence of the conditions of a field in the data of a row."""
    found = [entry for entry in (*(data.get('evidence') or ()), *(data.get('required') or ()))
             if entry.get('condition') == kind]
    for entry in found:  # a row may have any content
        _ = entry['expression'], entry['verdict'], float(entry['stamp']), float(entry['held'])
        _ = [(fact['name'], fact['validity'], float(fact['stamp'])) for fact in entry['facts']]
    return found
