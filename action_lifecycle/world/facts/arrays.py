# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Numpy views of the data of PointCloud2 and Image messages, without a copy."""

from __future__ import annotations

from collections.abc import Callable
import re
import sys
from typing import Any

import numpy as np


class Absent(LookupError):
    """The message lacks what the path selects, so it is no sample of the fact."""


_CLOUD_TYPES = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 8: 'f8'}


def cloud(name: str) -> Callable[[Any], Any]:
    """Return a reader of a PointCloud2 field: shape (points,), organized: (height, width)."""
    def read(message: Any) -> Any:
        for field in message.fields:
            if field.name == name:
                break
        else:
            raise Absent(f'the cloud has no field {name!r}')
        order = '>' if message.is_bigendian else '<'
        width, height = message.width, message.height
        shape: tuple[int, ...] = (width,)
        strides: tuple[int, ...] = (message.point_step,)
        if height > 1:
            shape, strides = (height, width), (message.row_step, message.point_step)
        if not width or not height:
            return np.empty(0)
        if not 0 < width * message.point_step * height <= len(message.data):
            # with a step of 0, numpy would read one point a billion times
            raise Absent('the cloud has less data than points')
        try:
            return np.ndarray(shape, order + _CLOUD_TYPES[field.datatype], message.data,
                              field.offset, strides)
        except (TypeError, KeyError, ValueError) as error:
            raise Absent(f'the cloud does not fit its description: {error}') from None
    return read


_ENCODINGS = {
    'mono8': ('u1', 1), 'mono16': ('u2', 1), 'rgb8': ('u1', 3), 'bgr8': ('u1', 3),
    'rgba8': ('u1', 4), 'bgra8': ('u1', 4), 'rgb16': ('u2', 3), 'bgr16': ('u2', 3),
}
_CV_ENCODING = re.compile(r'(8|16|32|64)([USF])C([1-4])?\Z')


def image(message: Any) -> Any:
    """Return the pixels of an Image: shape (height, width) or (height, width, channels)."""
    encoding = message.encoding
    if encoding in _ENCODINGS:
        kind, channels = _ENCODINGS[encoding]
    else:
        match = _CV_ENCODING.match(encoding)
        if match is None:
            raise Absent(f'image encoding {encoding!r} is not known')
        bits, letter, count = match.groups()
        kind = {'U': 'u', 'S': 'i', 'F': 'f'}[letter] + str(int(bits) // 8)
        channels = int(count or 1)
    big = bool(message.is_bigendian) and sys.byteorder == 'little'
    dtype = np.dtype(('>' if big else '=') + kind)
    if len(message.data) < message.height * message.width * dtype.itemsize * channels:
        raise Absent('the image has less data than pixels')
    shape: tuple[int, ...] = (message.height, message.width)
    strides: tuple[int, ...] = (message.step, dtype.itemsize * channels)
    if channels > 1:
        shape, strides = (*shape, channels), (*strides, dtype.itemsize)
    try:
        return np.ndarray(shape, dtype, message.data, 0, strides)
    except (TypeError, ValueError) as error:
        raise Absent(f'the image does not fit its description: {error}') from None


def equal(one: Any, other: Any) -> bool:
    """Whether two values of samples are the same."""
    if one.__class__ is np.ndarray or other.__class__ is np.ndarray:
        return np.array_equal(one, other)
    return bool(one == other)
