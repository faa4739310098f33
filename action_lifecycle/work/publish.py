# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The kind `publish`: a message of any type, once, or at a rate until a condition is true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Optional

from pydantic import Field

from .bridge_work import MessageWork
from ..documents.models import seconds, StrictModel
from ..documents.templates.template import has_template
from ..lifecycle.ports import Condition, has_gaps
from ..lifecycle.work import register_work

MAX_RATE = 200.0  #: Hz; faster streams are for controllers


class PublishQosSpec(StrictModel):
    """QoS of a publication."""

    reliability: Literal['reliable', 'best_effort'] = 'reliable'
    durability: Literal['volatile', 'transient_local'] = 'volatile'
    depth: int = Field(
        default=10, ge=1, le=10000, description='Messages kept until they are sent.')


@register_work('publish')
class PublishSpec(MessageWork):
    """Messages on one topic: one, or several at a rate."""

    name_field = 'topic'
    data_field = 'message'
    condition_field = 'until'

    topic: str = Field(description='Name of the topic, such as cmd_vel.')
    type: str = Field(description='Such as geometry_msgs/msg/Twist.')  # noqa: A003
    message: dict[str, Any] = Field(
        default={}, description='Fields of the message; in physical work, {fact: NAME} and '
        '{expr: TEXT} are filled in from the facts when it is sent for the first time.')
    rate: float = Field(default=0.0, ge=0, le=MAX_RATE, description='Messages per second until '
                        '`until` is true; 0: one message.')
    until: str = Field(
        default='', description='Condition over facts and parameters that ends the publication.')
    hold: float = seconds(
        0.0, 'Seconds for which `until` must be true without interruption.', most=3600)
    max_age: float = seconds(
        0.0, 'Seconds; for `until`, older samples are unknown. 0: as the fact says.', most=3600)
    within: float = seconds(
        60.0, 'Seconds after which the publication fails if `until` has not been true.',
        most=86400, more=True)
    last: Optional[dict[str, Any]] = Field(
        default=None, alias='finally', description='Fields of the last message, which is sent at '
        'every end: success, failure, cancel, stop, and first of all after a crash.')
    qos: PublishQosSpec = PublishQosSpec()
    server_timeout: float = seconds(5.0, 'Seconds to wait for a subscriber.', most=600)

    def needs_stopped(self) -> bool:
        return self.physical and self.rate > 0 and self.last is None

    def until_condition(self) -> Condition:
        """Return `until` as a condition."""
        return Condition('until', self.until, self.hold, self.within, self.max_age)

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.rate and not self.until:
            yield 'rate', "a publication at a rate needs 'until', the condition that ends it"
        if self.until and not self.rate:
            yield 'until', "'until' needs a 'rate' greater than 0"
        if has_gaps(self.last):
            yield 'finally', ('{fact: …} and {expr: …} have no value after a crash, when '
                              "'finally' is sent before anything else")
        if self.until and not has_template(self.until):
            for wrong in self.until_condition().faults():
                yield 'hold', wrong
        yield from super().faults()
