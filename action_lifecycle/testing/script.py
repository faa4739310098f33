# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The models of a file of cases: what the robot does, and what is expected of the flow.

    flow: go_to.yaml
    facts: facts.yaml
    robot:
      facts: {at: [0, 0, 0], speed: 0.0, battery: 0.8}
      servers:
        navigate_to_pose: {takes: 8, during: {at: {to: [4, -1.5, 0]}, speed: 0.4}}
    cases:
      it arrives:
        expect: {flow: succeeded, actions: {go: succeeded}}
      the navigator says so half a metre before:
        robot: {servers: {navigate_to_pose: {takes: 8, during: {at: {to: [3.5, -1.5, 0]}}}}}
        answers: {go: give_up}
        expect: {actions: {go: {outcome: failed, error: REFUTED}}}
"""

from __future__ import annotations

from typing import Any, Literal, Optional, Union

from pydantic import Field

from ..documents.models import seconds, StrictModel

Plain = Union[None, bool, int, float, str, list[Any]]
Answer = Literal['completed', 'pending', 'error']
Outcome = Literal['succeeded', 'failed', 'canceled', 'skipped']


class Ramp(StrictModel):
    """A value that changes linearly."""

    to: Union[float, list[float]] = Field(description='The value at the end.')
    over: Optional[float] = Field(
        default=None, gt=0, le=86400,
        description='Seconds. Default: as long as the goal takes.')


Course = Union[Ramp, Plain]
"""A value, or a ramp to one; null: the sensor is silent."""


class Behaviour(StrictModel):
    """
    What a server, a service or a subscriber does with a goal, a request or a publication.

    The facts in `during` begin to change when it begins. When it ends or is canceled, ramps stay
    where they are, and other values are again what they were; those in `after` are set when it
    has ended by itself.
    """

    takes: float = seconds(1.0, 'Seconds from the goal to the result.', most=86400)
    result: Literal['succeeded', 'aborted', 'canceled', 'rejected', 'missing', 'none'] = Field(
        default='succeeded',
        description='missing: there is no server; none: it never answers.')
    text: str = Field(default='', description='The words of its result.')
    values: dict[str, Any] = Field(
        default={}, description='Fields of the result or of the response.')
    during: dict[str, Course] = {}
    after: dict[str, Course] = {}
    on_cancel: Optional[Literal['stops', 'ignores']] = Field(
        default=None, description='ignores: it goes on to its end. Default: stops; of one that '
        'never answers: ignores.')
    stops_in: float = seconds(0.1, 'Seconds from a cancel to the end.', most=3600)

    @property
    def stops_on_cancel(self) -> bool:
        """Whether it ends when it is canceled."""
        return (self.on_cancel or ('ignores' if self.result == 'none' else 'stops')) == 'stops'


Behaviours = Union[Behaviour, list[Behaviour]]
"""What it does with each goal; of a list, the last one counts for all further goals."""


class RobotScript(StrictModel):
    """A robot and its sensors."""

    facts: dict[str, Course] = Field(
        default={},
        description='Values of facts that are read from topics or tf, at the beginning.')
    messages: dict[str, dict[str, Any]] = Field(
        default={}, description='By topic: fields of the message into which the values of its '
        'facts are written. Only for the scripted node; the kit without ROS has no messages.')
    servers: dict[str, Behaviours] = Field(
        default={}, description='By the name of the action, service or topic, as in the flow; '
        'NAME@ACTION: only for one action of the flow. Others succeed after 1 s and change '
        'nothing.')
    work: dict[str, Behaviours] = Field(
        default={}, description='By the name of an action: what its job, tool or graph does.')
    verdicts: dict[str, Union[Answer, list[Answer]]] = Field(
        default={},
        description='By the name of a verification service: completed, pending or error.')


class Event(StrictModel):
    """Something that happens at a time; times count from the start of the flow."""

    at: float = Field(ge=0, le=86400, description='Seconds.')
    facts: dict[str, Course] = {}
    estop: Optional[bool] = Field(
        default=None, description='true: pressed; false: released and cleared.')
    operator_goals: dict[str, float] = Field(
        default={}, description='By server: seconds for which a goal of another client is under '
        'way there; a goal of the flow that is executed there ends (aborted).')
    cancel: bool = Field(default=False, description='A person cancels the flow.')
    kill: bool = Field(
        default=False, description='The process is killed, and started again 1 s later; the robot '
        'goes on.')


class ExpectedAction(StrictModel):
    """What is expected of an action."""

    outcome: Optional[Outcome] = None
    error: Optional[str] = Field(
        default=None, description='The name of the error code of its last failure; NONE: none.')
    cause: str = Field(default='', description='A part of the error message.')
    attempts: Optional[int] = Field(default=None, ge=0)


class Expected(StrictModel):
    """What is expected at the end of the flow."""

    flow: Optional[Literal['succeeded', 'failed', 'canceled']] = None
    actions: dict[str, Union[ExpectedAction, Outcome]] = {}
    goals: dict[str, int] = Field(
        default={}, description='How many goals, requests or publications a server got.')
    asked: dict[str, str] = Field(
        default={}, description='By action: a part of a question that people were asked.')
    at_most: Optional[float] = Field(
        default=None, gt=0, description='Seconds that the flow may take.')


class CaseSpec(StrictModel):
    """One run of the flow."""

    description: str = ''
    parameters: dict[str, Any] = Field(default={}, description='Of the flow.')
    robot: RobotScript = Field(
        default=RobotScript(),
        description='Replaces the facts and servers of `robot` above, by name.')
    events: list[Event] = []
    answers: dict[str, Union[str, list[str]]] = Field(
        default={},
        description='By action: what people answer to its questions, one after the other.')
    within: float = seconds(
        3600.0, 'Seconds after which a flow that has not ended fails the case.', most=1e7)
    expect: Expected


class CasesSpec(StrictModel):
    """A file of cases; paths are relative to it."""

    flow: str = Field(description='The flow file.')
    facts: str = Field(description='The facts file.')
    parameters: dict[str, Any] = Field(default={}, description='Of the flow, in all cases.')
    robot: RobotScript = RobotScript()
    cases: dict[str, CaseSpec]
