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

"""
Reducers: one number from the elements of a sample, or from the samples of a time window.

NaN elements (such as missing returns of a LaserScan) are left out; if no element is left, the fact
is unknown. `count` counts the elements of a sample; `rate` and `age` measure the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

ELEMENT_REDUCERS = (
    'latest', 'min', 'max', 'mean', 'median', 'norm', 'std', 'sum', 'count', 'any', 'all')
WINDOW_REDUCERS = (
    'latest', 'min', 'max', 'mean', 'median', 'std', 'sum', 'count', 'any', 'all', 'rate', 'age')
TIMING = ('count', 'rate', 'age')  # over a window; valid also without new samples

_PLAIN: dict[str, Callable[..., Any]] = {  # faster than np.min etc., which wrap these
    'min': np.minimum.reduce, 'max': np.maximum.reduce, 'sum': np.add.reduce, 'mean': np.mean,
    'median': np.median, 'std': np.std, 'any': np.logical_or.reduce,
    'all': np.logical_and.reduce,
}
_OF_NOTHING = {'any': False, 'all': True, 'sum': 0.0}


def reduce_elements(name: str, value: Any) -> Any:
    """Reduce the elements of one sample; None if no element is left. Not for `count`."""
    if name == 'latest':
        return value
    elements = value if value.__class__ is np.ndarray else np.asarray(value)
    if not elements.size:
        return _OF_NOTHING.get(name)
    if name == 'norm':
        return _number(np.linalg.norm(elements.astype(float)))
    result = _PLAIN[name](elements, axis=None)
    if result == result:
        return result.item()
    left = elements[~np.isnan(elements)]  # slow; only if there is a NaN
    return _number(_PLAIN[name](left)) if left.size else None


def reduce_window(name: str, values: Sequence[Any]) -> Any:
    """Reduce the values of a window, vectors element by element; None if there are none."""
    if name == 'count':
        return len(values)
    if not values:
        return None
    if name == 'latest':
        return values[-1]
    if isinstance(values[0], np.ndarray):
        if any(value.shape != values[-1].shape for value in values):
            return None
        return _PLAIN[name](np.stack(values), axis=0)
    return _number(_PLAIN[name](np.asarray(values)))


def _number(value: Any) -> Any:
    number = value.item()
    return None if number != number else number
