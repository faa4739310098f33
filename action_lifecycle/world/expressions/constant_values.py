# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts constants of a facts file and parameters of a request to values."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

import numpy as np

from .functions import Text, Texts
from .value_types import Kind, kind_of


def as_value(data: Any, infinite: bool = False) -> Any:
    """
    Return a constant or parameter as a value; raises ValueError if it has none.

    `infinite`: infinities are numbers.
    """
    if isinstance(data, (bool, int, float)):
        if isinstance(data, float) and (math.isnan(data) or math.isinf(data) and not infinite):
            raise ValueError(
                f"{'NaN' if math.isnan(data) else 'infinity'} is no value; expected a number")
        if isinstance(data, int) and abs(data) > 2 ** 63:
            raise ValueError('a number beyond 64 bits')
        return data
    if isinstance(data, str):
        return Text(data)
    if isinstance(data, (list, tuple)):
        if data and all(isinstance(item, str) for item in data):
            return Texts(map(Text, data))
        try:
            array = np.array(data, dtype=float)
        except (ValueError, TypeError, OverflowError):
            pass
        else:
            if not np.isnan(array).any() if infinite else np.isfinite(array).all():
                return array
    raise ValueError('expected a number, a boolean, a text, or a list of numbers or of texts')


class ConditionParameters(dict[str, Any]):
    """
    Parameters of a request, converted to values of expressions.

    `kinds`: the kind of each value. `unusable`: why a parameter has no value, by name; this is an
    error only if an expression reads it, since a goal may use the parameter unconverted.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__()
        self.unusable: dict[str, str] = {}
        for name, data in given.items():
            try:
                self[name] = as_value(data)
            except ValueError as error:
                self.unusable[name] = str(error)
        self.kinds: dict[str, Kind] = {name: kind_of(value) for name, value in self.items()}

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> ConditionParameters:
        """Return converted parameters; a `ConditionParameters` object is returned unchanged."""
        return given if isinstance(given, cls) else cls(given or {})
