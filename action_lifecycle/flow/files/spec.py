# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The model of a flow file."""

from __future__ import annotations

from typing import Any, Literal, Optional

from pydantic import Field

from ...documents.models import seconds, StrictModel
from ...lifecycle.schedule.schedule import ScheduleSpec


class ParameterSpec(StrictModel):
    """A parameter of a flow; without `type`, the type of its default."""

    type: Optional[Literal[  # noqa: A003
        'number', 'integer', 'boolean', 'text', 'list', 'mapping']] = Field(
            default=None, description='Type of its value.')
    default: Any = Field(default=None, description='Null: it must be given.')
    min: Optional[float] = Field(default=None, description='Smallest value.')  # noqa: A003
    max: Optional[float] = Field(default=None, description='Largest value.')  # noqa: A003
    choices: list[Any] = Field(default=[], description='The only values; empty: any.')
    unit: str = ''
    description: str = ''


class DialogueSpec(StrictModel):
    """The texts of a flow's dialogue: a template by state of config/graphs/dialogue.yaml."""

    asking: str = Field(default='', description='A person is asked.')
    working: str = Field(default='', description='A person has answered.')
    ended: str = Field(default='', description='The flow has ended.')
    hooks: str = Field(default='', description='Name of hooks that change what is kept.')


class FlowSpec(StrictModel):
    """
    A flow: actions that depend on one another.

    `defaults` and each entry of `actions` have the fields of an action; they are checked after
    their templates are filled in.
    """

    flow: str = Field(description='Name of the flow: letters, digits, _ and -.')
    version: int = Field(default=1, ge=1, le=1, description='Version of this file format.')
    description: str = ''
    parameters: dict[str, ParameterSpec] = {}
    max_motions: int = Field(
        default=4, ge=1, le=1000, description='Maximum number of actions at work at a time.')
    schedule: Optional[ScheduleSpec] = Field(
        default=None, description='When the flow starts; without it, at once.')
    steering: bool = Field(
        default=False, description='The planner is told which actions have ended and how, and may '
        'answer with an edit.')
    deadline: float = seconds(
        0.0, 'Seconds from its start; actions that have not ended by then fail. 0: no limit.')
    dialogue: DialogueSpec = DialogueSpec()
    defaults: dict[str, Any] = Field(default={}, description='Fields that every action has.')
    actions: dict[str, dict[str, Any]]
