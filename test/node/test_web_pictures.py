# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Image messages become pictures that any program reads."""

from __future__ import annotations

import io

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.nodes.web.pictures import picture, WIDEST
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from sensor_msgs.msg import CompressedImage, Image

RGB = {'rgb8': [0, 1, 2], 'bgr8': [2, 1, 0], 'rgba8': [0, 1, 2], 'bgra8': [2, 1, 0]}


def read(data: bytes) -> np.ndarray:
    pillow = pytest.importorskip('PIL.Image')
    with pillow.open(io.BytesIO(data)) as image:
        image.load()
        return np.asarray(image)


def message(pixels: np.ndarray, encoding: str, pad: int = 0, big: bool = False) -> Image:
    height, width = pixels.shape[:2]
    rows = pixels.astype(pixels.dtype.newbyteorder('>' if big else '<')).tobytes()
    step = len(rows) // height
    padded = b''.join(rows[at:at + step] + b'\xaa' * pad for at in range(0, len(rows), step))
    return Image(height=height, width=width, encoding=encoding, step=step + pad,
                 is_bigendian=int(big), data=padded)


@given(st.sampled_from(sorted(RGB)), st.integers(1, 9), st.integers(1, 9), st.integers(0, 5),
       st.integers(0, 2**32 - 1))
def test_colours_are_kept(encoding: str, height: int, width: int, pad: int, seed: int) -> None:
    channels = 4 if 'a' in encoding else 3
    pixels = np.random.default_rng(seed).integers(
        0, 256, (height, width, channels), dtype=np.uint8)
    data, kind = picture(message(pixels, encoding, pad))
    assert kind == 'image/png'
    np.testing.assert_array_equal(read(data), pixels[:, :, RGB[encoding]])


@pytest.mark.parametrize('big', [False, True])
def test_depth_is_scaled_to_its_range(big: bool) -> None:
    depth = np.array([[0.5, 1.0, np.nan], [1.5, 2.5, np.inf]], np.float32)
    data, _ = picture(message(depth, '32FC1', big=big))
    np.testing.assert_array_equal(read(data), [[0, 63, 0], [127, 255, 0]])
    millimetres = np.array([[1000, 2000]], np.uint16)
    np.testing.assert_array_equal(
        read(picture(message(millimetres, '16UC1', 2, big))[0]), [[0, 255]])
    flat = np.full((2, 2), 7, np.uint16)
    assert not read(picture(message(flat, 'mono16'))[0]).any()
    assert not read(picture(message(np.full((1, 1), np.nan, np.float32), '32FC1'))[0]).any()


def test_bayer_cells_become_colours() -> None:
    cells = np.zeros((4, 4), np.uint8)
    cells[0::2, 0::2], cells[1::2, 1::2], cells[0::2, 1::2], cells[1::2, 0::2] = 200, 50, 90, 110
    found = read(picture(message(cells, 'bayer_rggb8'))[0])
    assert found.shape == (2, 2, 3) and (found == (200, 100, 50)).all()


def test_a_large_picture_is_thinned() -> None:
    wide = np.zeros((100, 3 * WIDEST, 3), np.uint8)
    assert read(picture(message(wide, 'rgb8'))[0]).shape == (34, WIDEST, 3)


@pytest.mark.parametrize(('wrong', 'said'), [
    (Image(height=1, width=1, encoding='yuv', step=1, data=b'x'), "encoding 'yuv'"),
    (Image(height=2, width=2, encoding='rgb8', step=6, data=b'x' * 11), '11 bytes'),
    (Image(height=2, width=2, encoding='rgb8', step=5, data=b'x' * 12), '5 bytes in a row'),
    (Image(height=1, width=2, encoding='mono16', step=5, data=b'x' * 5), '5 bytes in a row'),
    (Image(encoding='rgb8'), '0 x 0'),
    (Image(height=1, width=1, encoding='bayer_rggb8', step=1, data=b'x'), '1 x 1'),
    (CompressedImage(format='svg', data=b'<svg onload=alert(1)>'), "format 'svg'")])
def test_what_is_no_picture_is_refused(wrong: Image, said: str) -> None:
    with pytest.raises(LifecycleError, match=said):
        picture(wrong)


def test_a_browser_gets_what_the_bytes_are_and_not_what_the_format_says() -> None:
    found = CompressedImage(format='jpeg', data=b'\x89PNG\r\n\x1a\n...')
    assert picture(found)[1] == 'image/png'
