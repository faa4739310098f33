# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The model of the facts file.

    estop: {topic: estop, type: std_msgs/msg/Bool, field: data, mode: heartbeat, max_age: 0.5}
    facts:
      finger_gap: {topic: joint_states, type: sensor_msgs/msg/JointState,
                   field: 'position[name=gripper]', max_age: 0.2, unit: m}
      tool: {tf: {target: world, source: tool0}}
      home: {constant: [0, 0, 0.3], unit: m}
      gap_mm: {expression: finger_gap * 1000, unit: mm}
    stopped:
      control_msgs/action/GripperCommand: {condition: abs(finger_speed) < 0.002, hold: 0.1}
    limits:
      control_msgs/action/GripperCommand: {command.max_effort: [0, 40]}
      geometry_msgs/msg/Twist: {linear.x: [-0.3, 0.3]}
"""

from __future__ import annotations

import re
from typing import Any, Literal, Optional, TYPE_CHECKING, Union

from pydantic import conint, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from ...documents.models import StrictModel

RANGE_TYPES = tuple(
    f'sensor_msgs/msg/{name}' for name in ('LaserScan', 'MultiEchoLaserScan', 'Range'))
"""Types whose infinities mean nearer or farther than the sensor measures (REP 117)."""
TF_TYPE = 'tf2_msgs/msg/TFMessage'
FRAMELESS = ('sensor_msgs/msg/JointState',)  #: the frame of the header is not that of the numbers
TF_STATIC = '/tf_static'
TF_TOPICS = ('/tf', TF_STATIC)
TOPIC = re.compile(r'(~?/)?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*\Z')


_TYPE = re.compile(r'[A-Za-z]\w*/(action|srv|msg)/[A-Za-z]\w*\Z')


def is_type(name: str) -> bool:
    """Whether a key of `limits` and `stopped` is a type, not a name of a server or topic."""
    return _TYPE.match(name) is not None


if TYPE_CHECKING:
    Count = int
else:
    Count = conint(strict=True, gt=0)  # pydantic 1 takes 1.5 for 1 otherwise


class QosSpec(StrictModel):
    """QoS of a subscription; a policy that is not given follows the publishers."""

    reliability: Optional[Literal['reliable', 'best_effort']] = None
    durability: Optional[Literal['volatile', 'transient_local']] = None
    depth: Optional[int] = Field(
        default=None, ge=1, le=10000, description='Samples kept until they are read; default: '
        'by the type, 64 MB at most, or 4 s of a declared rate (docs/world.md, Queues).')


class TfSpec(StrictModel):
    """A pose between two frames."""

    target: str = Field(min_length=1, description='Reference frame, such as world.')
    source: str = Field(min_length=1, description='Frame whose pose is read, such as tool0.')
    part: Literal['translation', 'rotation', 'pose'] = Field(
        'translation', description='(x, y, z) in m; (x, y, z, w); or both, seven numbers.')


class FrozenSpec(StrictModel):
    """When samples with equal values show that a sensor is frozen."""

    noise: float = Field(
        0.0, ge=0, allow_inf_nan=False, description='Least standard deviation of the noise of one '
        'sample, in the unit of the fact; 0: not known.')
    resolution: float = Field(
        0.0, ge=0, description='Step to which the sensor rounds, in the unit of the fact.')
    for_: float = Field(
        0.0, ge=0, le=3600, alias='for', description='Seconds for which the value must be '
        'unchanged.')
    clip: Optional[tuple[float, float]] = Field(
        None, description='Least and greatest value of the sensor; a value there may stay equal.')


class RateSpec(StrictModel):
    """The rate of samples of a healthy sensor."""

    min: float = Field(0.0, ge=0, le=1e5, description='Hz.')  # noqa: A003
    max: Optional[float] = Field(None, gt=0, description='Hz.')  # noqa: A003
    over: float = Field(1.0, gt=0, le=3600, description='Seconds over which samples are counted.')


class AgreeSpec(StrictModel):
    """Another fact that must have the same value."""

    with_: str = Field(alias='with', description='Name of the other fact.')
    within: float = Field(
        ge=0, allow_inf_nan=False, description='Greatest difference, of vectors the length of it, '
        'in the unit of both.')
    for_: float = Field(
        0.0, ge=0, le=3600, alias='for', description='Seconds for which they must differ.')
    lag: float = Field(
        0.0, ge=0, le=60, description='Seconds by which one may follow the other.')
    when: Optional[str] = Field(
        None, description='Condition over facts: compared only while it is true.')


class HealthSpec(StrictModel):
    """What makes a fact healthy; an unhealthy fact is unknown."""

    frozen: Optional[Union[float, FrozenSpec]] = Field(
        None, description='A number: seconds for which the value of samples must be unchanged.')
    rate: Optional[Union[tuple[float, float], RateSpec]] = Field(
        None, description='[min, max] Hz of samples, counted over 1 s.')
    range: Optional[Union[tuple[float, float], list[tuple[float, float]]]] = Field(  # noqa: A003
        None, description='[min, max] of the value, or one such pair for each element.')
    agree: Optional[Union[AgreeSpec, list[AgreeSpec]]] = Field(
        None, description='Facts with which it must agree.')
    needs: list[str] = Field([], description='Facts that must be valid.')
    recover: float = Field(
        0.5, ge=0, le=3600, description='Seconds without a failed check after which the fact is '
        'healthy again; at least its window.')


class FactSpec(StrictModel):
    """One fact: from a topic, from tf, a constant or an expression; exactly one of the four."""

    topic: Optional[str] = Field(None, description="Relative to the bridge's namespace.")
    type: Optional[str] = Field(  # noqa: A003
        None, description='Such as sensor_msgs/msg/JointState.')
    field: Optional[str] = Field(
        None, description='Path of the field, such as position[name=gripper] or ranges.')
    tf: Optional[TfSpec] = None
    constant: Optional[Any] = None
    expression: Optional[str] = Field(None, description='Over the names of other facts.')
    reduce: Union[str, list[str]] = Field(
        'latest', description='Reducer of the elements, of the window, or [elements, window].')
    window: float = Field(0.0, ge=0, le=3600, description='Seconds over which to reduce.')
    max_age: float = Field(1.0, gt=0, description='Seconds; older samples are stale. .inf: never.')
    unit: str = Field('', description='Only shown; SI by REP 103.')
    frame: str = Field(
        '', description='Frame of the numbers; a sample with another frame in its header has no '
        'value.')
    description: str = ''
    infinite: Optional[Literal['ordered', 'unknown']] = Field(
        None, description='What an infinite value is: ordered: a number, less or greater than all '
        'others; unknown: no value. Default: ordered for LaserScan, MultiEchoLaserScan and Range '
        '(REP 117) and for expressions over ordered facts, else unknown.')
    max_rate: float = Field(
        0.0, ge=0, le=10000, description='Maximum rate (Hz) at which samples are read; 0: all.')
    publishers: Optional[Union[Literal['any'], Count]] = Field(
        None, description='Number of publishers of the topic that may give the fact, or any; '
        'default: one, and others make it unknown if they contradict. Of tf: none or any.')
    always: bool = Field(False, description='Subscribed all the time, not on demand.')
    qos: QosSpec = Field(QosSpec())
    health: Optional[HealthSpec] = Field(
        None, description='Checks of the sensor; the fact is unknown while one fails.')


Value = Union[StrictBool, StrictInt, StrictFloat, StrictStr]


class SafetySpec(StrictModel):
    """A topic that motions need; it can stop them."""

    topic: str
    type: str  # noqa: A003
    field: Optional[str] = Field(
        None, description='Path of the field; none: only the arrival of messages counts.')
    stop_when: Union[Value, list[Value]] = Field(
        True, description='Value of the field that stops, or several; true includes any number '
        'except 0. A number may be given by the name of a constant of the message type.')
    ok_when: Optional[Union[Value, list[Value]]] = Field(
        None, description='Value of the field that permits motions, or several; every other one '
        'stops. Instead of stop_when.')
    mode: Literal['heartbeat', 'on_change'] = Field(
        'heartbeat', description='heartbeat: silence for max_age stops; on_change: latched topic.')
    max_age: float = Field(0.5, gt=0, le=60, description='Seconds (steady time).')
    qos: QosSpec = Field(QosSpec())


class StandstillSpec(StrictModel):
    """What shows that nothing moves any more that an action server, service or topic has moved."""

    condition: str = Field(description='Expression over facts.')
    hold: float = Field(0.0, ge=0, le=60, description='Seconds for which it must be true.')
    max_age: float = Field(
        0.0, ge=0, le=3600, description='Seconds; older samples are unknown. 0: as the fact says.')


NO_STANDSTILL = 'none'
"""Written in `stopped` for a server, service or topic of which nothing can go on moving."""


class FactsFile(StrictModel):
    """The whole file."""

    estop: Union[Literal['none'], SafetySpec] = Field(
        description="The e-stop's topic; `none` has to be written out.")
    safety: list[SafetySpec] = Field([], description='Further topics that motions need.')
    facts: dict[str, FactSpec] = {}
    limits: dict[str, dict[str, tuple[float, float]]] = Field(
        {}, description='By type or name of an action, service or topic: least and greatest value '
        'of fields of goals, requests and messages.')
    stopped: dict[str, Union[StrictStr, StandstillSpec]] = Field(
        {}, description='By type or name of an action, service or topic: the condition that shows '
        'that nothing moves any more, for actions of flows without `stopped`; `none`: nothing '
        'can go on moving.')
