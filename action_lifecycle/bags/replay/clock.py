# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Simulated time in a bag that was recorded in wall time: read from its topic /clock."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
import math

from ..bag import Bag
from ..definitions import type_table
from ..storage import Definition, Gap
from ...documents.stamps import from_ns, to_seconds
from ...world.model import JUMP

CLOCK, CLOCK_TYPE = '/clock', 'rosgraph_msgs/msg/Clock'
SIMULATED = 1e8  #: s; smaller ROS times are simulated


def has_clock(bag: Bag) -> bool:
    """Whether the bag has the topic /clock with the messages of ROS 2."""
    return CLOCK in bag.topics and bag.topics[CLOCK].type == CLOCK_TYPE \
        and bag.type_of(CLOCK).table == type_table(CLOCK_TYPE, Definition())


class SimulatedTime:
    """The simulated times of a bag; without messages on /clock, it has none."""

    def __init__(self, bag: Bag) -> None:
        self._logged, self._simulated = array('d'), array('d')
        if has_clock(bag):
            for entry in bag.messages([CLOCK]):
                self._logged.append(entry.log_time)
                self._simulated.append(to_seconds(entry.message.clock))

    def span(self) -> tuple[float, float] | None:
        """Return the first and the last simulated time (s); None without any."""
        return (min(self._simulated), max(self._simulated)) if self._simulated else None

    def jumps_back(self) -> bool:
        """Whether simulated time was reset."""
        return any(later < sooner - JUMP
                   for sooner, later in zip(self._simulated, self._simulated[1:]))

    def of_gap(self, gap: Gap) -> tuple[float, float]:
        """Return start and end (s) of a gap in simulated time."""
        before = bisect_left(self._logged, from_ns(gap.start))
        after = bisect_right(self._logged, from_ns(gap.end))
        return (self._simulated[before - 1] if before else -math.inf,
                self._simulated[after] if after < len(self._simulated) else math.inf)


def spans_of(bag: Bag) -> list[tuple[float, float]]:
    """Return the times (s) of the first and last message, in wall time and in simulated time."""
    span = bag.span()
    if span is None:
        return []
    simulated = SimulatedTime(bag).span() if span[0] >= SIMULATED else None
    return [span, simulated] if simulated else [span]
