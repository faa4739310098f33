# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The models of actions in flow files (below `actions`)."""

from __future__ import annotations

from typing import Any, Literal, Optional, Union

from pydantic import Field

from . import verifier_kinds  # noqa: F401  (registers the built-in kinds)
from .schedule.schedule import ScheduleSpec
from .verifiers import VerifySpec
from ..documents.models import seconds, StrictModel


class ConditionSpec(StrictModel):
    """A condition over facts of the world model."""

    condition: str = Field(description='Expression over the names of facts and parameters.')
    hold: float = seconds(0.0, 'Seconds it must be true without interruption.', most=3600)
    within: float = seconds(2.0, 'Time limit in seconds.', most=86400)
    max_age: float = seconds(
        0.0, 'Seconds; older samples are unknown. 0: as the fact says.', most=3600)


class MaintainSpec(ConditionSpec):
    """A condition that must not become false while the motion runs."""

    within: float = seconds(
        0.5, 'Seconds for which it may be unknown before the motion is canceled.', most=86400)


class RetrySpec(StrictModel):
    """Number and delays of unchanged retries of a failed action."""

    times: int = Field(default=0, ge=0, le=1000, description='Further tries after the first.')
    delay: float = seconds(1.0, 'Seconds before the first of them.', most=3600)
    factor: float = Field(
        default=2.0, ge=1, le=100, description='Factor from each delay to the next.')
    max_delay: float = seconds(60.0, 'Seconds, the longest delay.', most=86400)
    jitter: float = Field(default=0.1, ge=0, le=1,
                          description='Random part of the delay.')


class StrategySpec(StrictModel):
    """A strategy for an action that has failed and has no retries left."""

    strategy: Literal['retry', 'action', 'recipe', 'give_up'] = Field(
        description='retry: try again with the parameters given here; action: other work '
        'for the same purpose, with the fields given here; recipe: the fields of a recipe; '
        'give_up: the action fails.')
    parameters: dict[str, Any] = Field(
        default={}, description="New values of the action's parameters.")
    recipe: str = Field(default='', description='Name of a recipe, or NAME/ACTION if the action '
                        'has another name there.')
    fields: dict[str, Any] = Field(
        default={}, description='Fields that replace those of the action: require, its work '
        '(motion, call and so on), maintain, stopped, confirm; they may also be given next to '
        '`strategy`.')


class FallbackSpec(StrategySpec):
    """One strategy of the list, which is tried in order; it may ask a person."""

    strategy: Literal['retry', 'action', 'recipe', 'give_up', 'ask'] = Field(  # type: ignore
        description='ask: a person chooses one of the options; others: see StrategySpec.')
    question: str = Field(default='', description='Template of the question to the person.')
    options: dict[str, StrategySpec] = Field(
        default={}, description='Possible answers, each with its strategy; default: retry and '
        'give_up.')
    timeout: float = seconds(0.0, 'Seconds for an answer; 0: no limit.', most=864000)
    default: str = Field(
        default='', description='The option at the timeout; without it, the next strategy is '
        'tried.')


class WhenSpec(StrictModel):
    """A condition of `after`, evaluated when all dependencies of an action have ended."""

    condition: str = Field(
        description='Expression over facts and `outcome`, `attempts`, `error_code` and `duration` '
        'of the earlier action. True: the action may start; false: it is skipped.')
    unknown: Literal['wait', 'fail'] = Field(
        default='wait', description='If it is unknown: wait, or fail at once.')
    within: float = seconds(
        60.0, 'Seconds to wait before the action fails; 0: no limit.', most=864000)
    max_age: float = seconds(
        0.0, 'Seconds; older samples are unknown. 0: as the fact says.', most=3600)


class RepeatSpec(StrictModel):
    """Further runs of an action that has succeeded; a plain number is `times`."""

    times: int = Field(ge=1, le=1_000_000, description='Maximum number of runs in all.')
    until: Optional[WhenSpec] = Field(
        default=None, description='Condition that ends the runs, evaluated after each success; '
        'if it is false after the last run, the action fails. Without it: `times` runs.')
    delay: float = seconds(0.0, 'Seconds between two runs.', most=864000)


class ActionSpec(StrictModel):
    """
    One action of a flow; if its work is physical, it needs `confirm`.

    In a file, its work is in one field: the name of a kind of work (`motion`, `call` and so on)
    with one or several of its steps, or `steps` with steps of any kinds.
    """

    description: str = ''
    parameters: dict[str, Any] = Field(
        default={}, description='Names for templates and expressions of this action.')
    after: dict[str, Union[Literal['unconditional', 'completion', 'success'], WhenSpec]] = Field(
        default={}, description='Dependencies: actions of this flow, each with a kind or a '
        'condition.')
    replaces: str = Field(
        default='', description='Only in an edit: an action that has ended without success; what '
        'depends on it depends on this action instead.')
    schedule: Optional[ScheduleSpec] = Field(
        default=None, description='Times at which it starts, after its dependencies are met.')
    for_each: dict[str, Any] = Field(
        default={}, description='A name and a list: the action is done once for each element, '
        'with a parameter of this name; the list may be a template that reads facts or results.')
    in_order: bool = Field(
        default=False, description='The elements of `for_each` one after the other, until one '
        'does not succeed; otherwise, as many at a time as resources and `max_motions` permit.')
    repeat: Optional[RepeatSpec] = Field(
        default=None, description='Whether and how often it runs again after a success.')
    resources: list[str] = Field(
        default=[], description='Resources that it holds exclusively while it runs, such as arm.')
    priority: int = Field(default=0, ge=-1000, le=1000, description='Higher goes first.')
    timeout: float = seconds(0.0, 'Seconds an attempt may take; 0: no limit.', most=864000)
    deadline: float = seconds(
        0.0, 'Seconds from the start of the flow; if it has not ended by then, it fails. 0: no '
        'limit.')
    require: list[ConditionSpec] = Field(default=[], description='Must be true before it starts.')
    steps: list[Any] = Field(
        default=[], description='Its work, one step after the other, each with one kind.')
    maintain: list[MaintainSpec] = Field(
        default=[], description='Must not become false while the motion runs.')
    stopped: Optional[ConditionSpec] = Field(
        default=None, description='True when nothing moves; evaluated after every end of '
        'physical work but a confirmed success.')
    stop_timeout: float = seconds(
        3.0, 'Seconds from the end or the cancel to standstill.', most=60, more=True)
    confirm: list[ConditionSpec] = Field(
        default=[], description='Conditions that must all be true to confirm the outcome.')
    confirm_unseen: Literal['refuse', 'allow'] = Field(
        default='refuse', description='Whether its motion may start while a fact of `confirm` is '
        'unknown or stale: allow it only if the fact has a value after the motion, not before.')
    verify: list[VerifySpec] = Field(
        default=[], description='Verifiers; default: the sensors.')
    verify_when: Literal['all', 'any'] = Field(
        default='all', description='Whether all verifiers must agree, or one is enough.')
    ask_again: float = seconds(
        5.0, 'Seconds after which a verifier that answered pending is asked again, at most '
        'three times.', most=86400)
    retry: RetrySpec = Field(default=RetrySpec())
    fallback: list[FallbackSpec] = Field(
        default=[], description='Strategies, tried in this order.')
    idempotent: bool = Field(
        default=False, description='Repeating the motion does no harm.')
    on_resume: Optional[Literal['confirm', 'retry', 'ask']] = Field(
        default=None, description='If the motion does not run after a restart and its outcome is '
        'not confirmed: confirm: error; retry: repeat the motion; ask: a person decides. '
        'Default: ask, or retry if idempotent.')

    @property
    def physical(self) -> bool:
        """Whether its work moves something."""
        return any(step.is_physical() for step in self.steps)

    def steps_of_kind(self, kind: str) -> list[Any]:
        """Return the steps of one kind of work."""
        return [step for step in self.steps if step.kind == kind]

    @property
    def bridge_steps(self) -> list[Any]:
        """Return the steps that the bridge does."""
        return [step for step in self.steps if step.at_bridge and step.is_physical()]

    @property
    def checked_steps(self) -> list[Any]:
        """Return the steps that the bridge checks, also those that it does not do."""
        return [step for step in self.steps if step.at_bridge]

    @property
    def motion(self) -> list[Any]:
        """Return the steps that are motions."""
        return self.steps_of_kind('motion')

    @property
    def resume_policy(self) -> str:
        """Return `on_resume` or its default."""
        return self.on_resume or ('retry' if self.idempotent else 'ask')
