# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Goals: JSON that is filled into messages of many types and held against limits."""

from __future__ import annotations

import random
from typing import Any

from .case import Case
from .expressions import value_of
from .values import how_many, mutated, number


class Goals(Case):
    """Goals, requests and messages of every type that a robot's programs have."""

    def prepare(self) -> None:
        from action_lifecycle.ros.interfaces import limits, types
        from action_lifecycle.ros.interfaces import message_fields as goals
        from action_lifecycle.work import goal_values
        from rclpy.serialization import serialize_message
        self.goals, self.limits, self.serialize = goals, limits, serialize_message
        self.resolve, self.later = goal_values.resolve, goal_values.LATER
        wanted = ('control_msgs/', 'nav2_msgs/', 'test_msgs/', 'tf2_msgs/', 'example_interfaces/')
        self.kinds = [types.action_class(name).Goal for name in types.installed_types('action')
                      if name.startswith((*wanted, 'simulation_'))]
        self.kinds += [types.service_class(name).Request for name in types.installed_types('srv')
                       if name.startswith((*wanted, 'std_srvs/', 'action_lifecycle_msgs/'))]
        self.kinds += [types.message_class(name) for name in types.installed_types('msg')
                       if name.startswith(('test_msgs/', 'trajectory_msgs/', 'geometry_msgs/'))]

    def make(self, rng: random.Random) -> Any:
        from .ros_data import data_of, paths_of
        cls = rng.choice(self.kinds)
        data = mutated(rng, data_of(rng, cls), how_many(rng))
        values: list[Any] = []
        if rng.random() < 0.3:
            data = self._with_gaps(rng, data, values)
        limits = {paths_of(rng, cls): (rng.uniform(-5, 0), rng.choice((10.0, number(rng))))
                  for _ in range(2)} if rng.random() < 0.3 else {}
        return cls, data, values, limits

    def _with_gaps(self, rng: random.Random, data: Any, values: list[Any]) -> Any:
        """Put facts and expressions in place of some parts."""
        if isinstance(data, dict):
            return {key: self._with_gaps(rng, item, values) for key, item in data.items()}
        if isinstance(data, list) and rng.random() < 0.8:
            return [self._with_gaps(rng, item, values) for item in data]
        if rng.random() < 0.3:
            made = value_of(rng, rng.choice(('number', 'vector', 'any')))
            values.append(self.later if made is None else made)
            return {rng.choice(('fact', 'expr')): str(len(values) - 1)}
        return data

    def check(self, given: Any) -> bool:
        cls, data, values, limits = given

        def value_at(text: str, path: str) -> Any:
            return values[int(text)] if text.isdecimal() and int(text) < len(values) \
                else self.later

        filled = self.resolve(data, value_at)
        message = cls()
        faults = list(self.goals.fill(message, filled))
        for fault in faults:
            str(fault)
        if faults:
            return False
        self.serialize(message)  # what was accepted can be sent
        self.limits.message_fault(message)
        for path, bounds in limits.items():
            try:
                self.goals.compile_path(path, '')
                if not bounds[0] <= bounds[1]:
                    continue
                bounds = tuple(map(float, bounds))
            except (self.goals_error, OverflowError):
                continue
            for fault in self.goals.limit_faults(message, {path: bounds}):
                str(fault)
        return True

    @property
    def goals_error(self) -> type[Exception]:
        """Return what a path that can't be read raises."""
        from action_lifecycle.world.expressions.field_paths import PathError
        return PathError


CASE = Goals()
