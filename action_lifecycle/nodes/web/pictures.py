# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Converts image messages to pictures that a browser shows."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from ...documents.errors import LifecycleError

WIDEST = 1280  #: pixels; larger pictures are thinned
LARGEST = 64 * 1024 * 1024  #: bytes of a message
PNG, JPEG = 'image/png', 'image/jpeg'
_MAGIC = {b'\x89PNG\r\n\x1a\n': PNG, b'\xff\xd8\xff': JPEG}

# channels of each encoding (sensor_msgs/image_encodings.hpp) as indices into red, green, blue
_COLOUR = {'rgb8': (0, 1, 2), 'bgr8': (2, 1, 0), 'rgba8': (0, 1, 2, 3), 'bgra8': (2, 1, 0, 3),
           '8UC3': (2, 1, 0), '8UC4': (2, 1, 0, 3)}
_GREY = {'mono8': 'u1', '8UC1': 'u1', 'mono16': 'u2', '16UC1': 'u2', '16SC1': 'i2',
         '32SC1': 'i4', '32FC1': 'f4', '64FC1': 'f8'}
_BAYER = ('bayer_rggb8', 'bayer_bggr8', 'bayer_gbrg8', 'bayer_grbg8')


def picture(message: Any) -> tuple[bytes, str]:
    """
    Return the picture in an Image or CompressedImage, and its media type.

    Depth and other values of more than 8 bits are scaled to the range of the picture. Raises
    LifecycleError with the encoding if it is not known, or why the message is not valid.
    """
    if len(message.data) > LARGEST:
        raise LifecycleError(f'a picture of {len(message.data)} bytes; at most {LARGEST} are '
                             'shown')
    if hasattr(message, 'format'):
        return _compressed(message)
    return png(_pixels(message)), PNG


def _compressed(message: Any) -> tuple[bytes, str]:
    data = bytes(message.data)
    for magic, kind in _MAGIC.items():
        if data.startswith(magic):
            return data, kind
    raise LifecycleError(f"format '{message.format[:40]}': expected JPEG or PNG")


def _pixels(message: Any) -> npt.NDArray[np.uint8]:
    """Return the pixels, (height, width) grey or (height, width, 3) in red, green, blue."""
    encoding = message.encoding
    channels: tuple[int, ...] = _COLOUR.get(encoding, (0,))
    kind = 'u1' if encoding in _COLOUR or encoding in _BAYER else _GREY.get(encoding)
    if kind is None:
        raise LifecycleError(f"encoding '{encoding[:40]}': expected one of "
                             + ', '.join((*_COLOUR, *_GREY, *_BAYER)))
    item = np.dtype(('>' if message.is_bigendian else '<') + kind)
    height, width, step = message.height, message.width, message.step
    if not (height and width and step >= width * len(channels) * item.itemsize
            and step % item.itemsize == 0 and len(message.data) >= height * step):
        raise LifecycleError(f'a picture of {width} x {height} pixels with {step} bytes in a row '
                             f'and {len(message.data)} bytes')
    table = np.frombuffer(message.data, item, count=height * step // item.itemsize)
    rows = table.reshape(height, -1)[:, :width * len(channels)]
    pixels = rows.reshape(height, width, len(channels))
    if encoding in _BAYER:
        return _from_bayer(pixels[:, :, 0], encoding)
    thinned = pixels[::_stride(width), ::_stride(width)]
    if len(channels) == 1:
        return _grey(thinned[:, :, 0])
    return np.ascontiguousarray(thinned[:, :, [channels.index(colour) for colour in range(3)]])


def _from_bayer(pixels: npt.NDArray[Any], encoding: str) -> npt.NDArray[np.uint8]:
    """Return a picture with one pixel for each 2 x 2 cells."""
    height, width = pixels.shape[0] // 2 * 2, pixels.shape[1] // 2 * 2
    if not height or not width:
        raise LifecycleError(f'a picture of {pixels.shape[1]} x {pixels.shape[0]} Bayer cells')
    cells = [pixels[row:height:2, column:width:2] for row in (0, 1) for column in (0, 1)]
    order = encoding[6:10]
    greens = [cell for cell, colour in zip(cells, order) if colour == 'g']
    mean = ((greens[0].astype(np.uint16) + greens[1]) // 2).astype(np.uint8)
    found = np.dstack([cells[order.index('r')], mean, cells[order.index('b')]])
    stride = _stride(found.shape[1])
    return np.ascontiguousarray(found[::stride, ::stride])


def _grey(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    if values.dtype.itemsize == 1:
        return np.ascontiguousarray(values)
    numbers = values.astype(float)
    known = np.isfinite(numbers)
    if not known.any():
        return np.zeros(numbers.shape, np.uint8)
    low, high = numbers[known].min(), numbers[known].max()
    scaled = (np.where(known, numbers, low) - low) * (255.0 / (high - low) if high > low else 0.0)
    return scaled.astype(np.uint8)


def _stride(width: int) -> int:
    return -(-width // WIDEST)


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return pixels, (height, width) or (height, width, 3), as a PNG file."""
    try:
        from PIL import Image  # on use: cameras mostly send compressed pictures
    except ModuleNotFoundError as error:
        raise LifecycleError('uncompressed pictures need Pillow; install it with: '
                             "pip install 'action_lifecycle[web]'") from error
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, 'png', compress_level=1)
    return file.getvalue()
