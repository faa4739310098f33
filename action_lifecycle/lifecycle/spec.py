# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""What an action is to do, and how it is seen to be done: a flow file below `actions`."""

from __future__ import annotations

from typing import Any, Literal, Optional, Union

from pydantic import Field

from .schedule import ScheduleSpec
from ..engine.models import seconds, StrictModel


class ConditionSpec(StrictModel):
    """A condition over facts of the world model."""

    condition: str = Field(description='Expression over the names of facts and parameters.')
    hold: float = seconds(0.0, 'Seconds it must be true without a break.', most=3600)
    within: float = seconds(2.0, 'Seconds until given up.', most=86400)
    max_age: float = seconds(
        0.0, 'Seconds; older samples are unknown. 0: as the fact says.', most=3600)


class MotionSpec(StrictModel):
    """One goal for one ROS action server."""

    server: str = Field(description='Name of the action, such as gripper_controller/gripper_cmd.')
    type: str = Field(  # noqa: A003
        description='Such as control_msgs/action/GripperCommand.')
    goal: dict[str, Any] = Field(
        default={}, description='Fields of the goal; {fact: NAME} and {expr: TEXT} are filled '
        'in from the facts when the goal is sent.')
    server_timeout: float = seconds(5.0, 'Seconds to wait for the server.', most=600)
    timeout: float = seconds(60.0, 'Seconds from sending to the result; 0: no limit.', most=86400)


class RetrySpec(StrictModel):
    """How often a failed action is tried again, unchanged, and after which delay."""

    times: int = Field(default=0, ge=0, le=1000, description='Further tries after the first.')
    delay: float = seconds(1.0, 'Seconds before the first of them.', most=3600)
    factor: float = Field(
        default=2.0, ge=1, le=100, description='Each further delay is longer by this.')
    max_delay: float = seconds(60.0, 'Seconds, the longest delay.', most=86400)
    jitter: float = Field(default=0.1, ge=0, le=1,
                          description='Part of the delay that is drawn at random.')


class StrategySpec(StrictModel):
    """What is done about an action that has failed and is not tried again unchanged."""

    strategy: Literal['retry', 'action', 'recipe', 'give_up'] = Field(
        description='retry: once more, with the parameters given here; action: another motion '
        'for the same purpose, with the fields given here; recipe: what worked elsewhere; '
        'give_up: the action has failed.')
    parameters: dict[str, Any] = Field(
        default={}, description="New values of the action's parameters.")
    recipe: str = Field(default='', description='Name of a recipe, or NAME/ACTION when the action '
                        'is called otherwise there.')
    fields: dict[str, Any] = Field(
        default={}, description='Fields in place of those of the action: require, motion, '
        'maintain, stopped, confirm; they may also be written beside `strategy`.')


class FallbackSpec(StrategySpec):
    """One strategy of the list that is tried in order; it may be to ask a person."""

    strategy: Literal['retry', 'action', 'recipe', 'give_up', 'ask'] = Field(  # type: ignore
        description='As below; ask: a person chooses one of the options.')
    question: str = Field(default='', description='Template of what the person is asked.')
    options: dict[str, StrategySpec] = Field(
        default={}, description='What the person may answer, and the strategy that it stands '
        'for; default: retry and give_up.')
    timeout: float = seconds(0.0, 'Seconds for an answer; 0: no limit.', most=864000)
    default: str = Field(
        default='', description='The option that is taken when nobody answers in time; without '
        'one the next strategy is tried.')


class VerifySpec(StrictModel):
    """One who says whether the action is done, after the sensors have confirmed it."""

    by: Literal['sensor', 'operator', 'service', 'checker'] = Field(
        description='sensor: the evidence of `confirm`; operator: a person; service: any ROS '
        'service; checker: a registered Python callable.')
    service: str = Field(default='', description='Name of the service.')
    type: str = Field(default='action_lifecycle_msgs/srv/Verify',  # noqa: A003
                      description='Type of the service, such as std_srvs/srv/Trigger.')
    request: dict[str, Any] = Field(
        default={}, description='Fields of the request, with templates; not for Verify.')
    verdict: str = Field(
        default='', description='Expression over the fields of the response that is true, false, '
        'completed, pending or error; not for Verify.')
    reason: str = Field(
        default='', description='Expression over the fields of the response that says why.')
    checker: str = Field(default='', description='Name of the checker.')
    question: str = Field(default='', description='Template of what the person is asked.')
    timeout: float = seconds(30.0, 'Seconds for a verdict.', most=864000, more=True)


class WhenSpec(StrictModel):
    """A condition that is judged when all that an action waits for has ended."""

    condition: str = Field(
        description='Expression over facts and `outcome`, `attempts`, `error_code` and `duration` '
        'of the action it stands at. True: the action may start; false: it is skipped.')
    unknown: Literal['wait', 'fail'] = Field(
        default='wait', description='While it can not be told: wait, or fail at once.')
    within: float = seconds(
        60.0, 'Seconds to wait until the action has failed; 0: no limit.', most=864000)
    max_age: float = seconds(
        0.0, 'Seconds; older samples are unknown. 0: as the fact says.', most=3600)


class ActionSpec(StrictModel):
    """One action of a flow. With `motion` it is physical, and then `confirm` is a must."""

    description: str = ''
    parameters: dict[str, Any] = Field(
        default={}, description='Names for templates and expressions of this action.')
    after: dict[str, Union[Literal['unconditional', 'completion', 'success'], WhenSpec]] = Field(
        default={}, description='What it waits for: actions of this flow, each with a kind or a '
        'condition.')
    schedule: Optional[ScheduleSpec] = Field(
        default=None, description='When it starts, once what it waits for is there.')
    resources: list[str] = Field(
        default=[], description='Held alone from start to end, such as arm.')
    priority: int = Field(default=0, ge=-1000, le=1000, description='Higher goes first.')
    timeout: float = seconds(0.0, 'Seconds an attempt may take; 0: no limit.', most=864000)
    deadline: float = seconds(
        0.0, 'Seconds from the start of the flow; what has not ended then has failed. 0: no '
        'limit.')
    require: list[ConditionSpec] = Field(default=[], description='Must be true before it starts.')
    motion: list[MotionSpec] = Field(
        default=[], description='Goals, executed one after the other.')
    maintain: list[ConditionSpec] = Field(
        default=[], description='Must not become false while the motion runs.')
    stopped: Optional[ConditionSpec] = Field(
        default=None, description='True when nothing moves any more; asked after a cancel.')
    stop_timeout: float = seconds(3.0, 'Seconds from cancel to standstill.', most=60, more=True)
    confirm: list[ConditionSpec] = Field(
        default=[], description='All true: the sensors confirm the outcome.')
    verify: list[VerifySpec] = Field(
        default=[], description='Who says that it is done; default: the sensors.')
    verify_when: Literal['all', 'any'] = Field(
        default='all', description='Whether all of them must say so, or one is enough.')
    ask_again: float = seconds(
        5.0, 'Seconds after which a verifier that needs more time is asked again, at most '
        'three times.', most=86400)
    retry: RetrySpec = Field(default=RetrySpec())
    fallback: list[FallbackSpec] = Field(
        default=[], description='Strategies, tried in this order.')
    idempotent: bool = Field(
        default=False, description='Executing the motion once more than needed does no harm.')
    on_resume: Optional[Literal['confirm', 'retry', 'ask']] = Field(
        default=None, description='When a restart finds the motion gone and its outcome not '
        'there: confirm: error; retry: once more; ask: a person decides. '
        'Default: ask, or retry if idempotent.')

    @property
    def physical(self) -> bool:
        """Whether it moves something."""
        return bool(self.motion)

    @property
    def resume_policy(self) -> str:
        """Return what `on_resume` means when it is not written out."""
        return self.on_resume or ('retry' if self.idempotent else 'ask')


def has_gaps(goal: Any) -> bool:
    """Whether something in a goal is filled in from the facts when it is sent."""
    if isinstance(goal, dict):
        return goal.keys() in ({'fact'}, {'expr'}) or any(map(has_gaps, goal.values()))
    return isinstance(goal, list) and any(map(has_gaps, goal))
