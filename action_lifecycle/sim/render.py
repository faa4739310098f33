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
A picture of the cell without OpenGL: every pixel is a ray of MuJoCo's.

Direct light from a broad key lamp, and ambient light from a dome, which darkens corners. Both are
sampled: each pixel of a tile has its own few lamps, and the tile shares their light. Shadow rays
start at the lamp, so one call of MuJoCo's traces all pixels of one lamp.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from pathlib import Path
import struct
import zlib

from action_lifecycle.sim.scene import mujoco
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.integer]
Picture = npt.NDArray[np.uint8]

EYE = (0.60, -1.62, 0.92)
TARGET = (-0.01, 0.0, 0.235)
FIELD_OF_VIEW = math.radians(33.0)  # vertical
KEY = np.array([1.1, -1.3, 2.6])
KEY_RADIUS = 0.28  # m
KEY_LAMPS = 4
DOME_LAMPS = 10
DOME_RADIUS = 6.0  # m
WARM = np.array([0.80, 0.76, 0.70])
COOL = np.array([0.84, 0.89, 0.97])
GLOSS = 0.25
EMPTY = np.array([0.80, 0.83, 0.86])  # what a ray into the empty room sees, linear
TILE = 4  # pixels: each pixel of a tile has lamps of its own, then their light is averaged


@dataclass
class _Surface:
    """What n view rays have met: points, normals, rays (n, 3) and geoms (n,), -1 for nothing."""

    points: Array
    normals: Array
    rays: Array
    geoms: Indices

    def at(self, chosen: Indices) -> _Surface:
        """Return the chosen ones."""
        return _Surface(*(part[chosen] for part in vars(self).values()))


def render(
    model: mujoco.MjModel, data: mujoco.MjData, width: int = 960, height: int = 640
) -> Picture:
    """Return the picture as (height, width, 3): one ray a pixel, and four more at edges."""
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    middle = (np.array([width, height]) - 1) / 2
    pixels = np.stack((columns.ravel(), rows.ravel()), axis=1) - middle
    scale = 2.0 * math.tan(FIELD_OF_VIEW / 2) / height
    seen = _look(model, data, pixels * scale)
    turns = (columns % TILE + TILE * (rows % TILE)).ravel()
    light = np.zeros_like(seen.points)
    for turn in range(TILE * TILE):
        mine = np.flatnonzero(turns == turn)
        light[mine] = _light(model, data, seen.at(mine), turn)
    light = _smooth(light, seen, (height, width))
    colour = _colour(model, seen, light)
    edges = np.flatnonzero(_edges(colour.reshape(height, width, 3)))
    colour[edges] = 0.0
    for dx, dy in ((-0.25, -0.25), (-0.25, 0.25), (0.25, -0.25), (0.25, 0.25)):
        near = _look(model, data, (pixels[edges] + (dx, dy)) * scale)
        light = np.mean([_light(model, data, near, turn) for turn in (0, 5, 10, 15)], axis=0)
        colour[edges] += _colour(model, near, light) / 4
    return np.rint(255 * colour).astype(np.uint8).reshape(height, width, 3)


def save_png(path: Path, picture: Picture) -> None:
    """Write an 8-bit RGB picture (height, width, 3) as PNG."""
    height, width, _ = picture.shape
    lines = np.hstack((np.zeros((height, 1), np.uint8), picture.reshape(height, -1)))

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = zlib.crc32(kind + body)
        return struct.pack('>I', len(body)) + kind + body + struct.pack('>I', check)

    header = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
    path.write_bytes(
        b'\x89PNG\r\n\x1a\n'
        + chunk(b'IHDR', header)
        + chunk(b'IDAT', zlib.compress(lines.tobytes(), 9))
        + chunk(b'IEND', b'')
    )


def _look(model: mujoco.MjModel, data: mujoco.MjData, screen: Array) -> _Surface:
    """Return what is seen at the screen points (n, 2): tangents to the right and down."""
    eye = np.array(EYE)
    ahead = (np.array(TARGET) - eye) / np.linalg.norm(np.array(TARGET) - eye)
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    rays = ahead + screen[:, :1] * right + screen[:, 1:] * np.cross(ahead, right)
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    distances, geoms, normals = _cast(model, data, eye, rays)
    normals *= -np.sign(np.sum(normals * rays, axis=1, keepdims=True))
    return _Surface(eye + distances[:, None] * rays, normals, rays, geoms)


def _light(
    model: mujoco.MjModel, data: mujoco.MjData, seen: _Surface, turn: int
) -> Array:
    """Return the light (n, 3) that the points get; `turn` chooses among TILE**2 sets of lamps."""
    part = turn / TILE**2
    light = np.zeros_like(seen.points)
    for x, y in _disc(KEY_LAMPS, part):
        lamp = KEY + KEY_RADIUS * np.array([x, y, 0.0])
        light += _lamp(model, data, lamp, seen, GLOSS)[:, None] * WARM / KEY_LAMPS
    for x, y in _disc(DOME_LAMPS, part):
        # A disc lifted onto a hemisphere lights level ground evenly by Lambert's law.
        lamp = DOME_RADIUS * np.array([x, y, math.sqrt(1.0 - x * x - y * y) + 0.02])
        light += _lamp(model, data, lamp, seen, 0.0)[:, None] * COOL / DOME_LAMPS
    return light


def _lamp(
    model: mujoco.MjModel, data: mujoco.MjData, lamp: Array, seen: _Surface, gloss: float
) -> Array:
    """Return the light (n,) of one lamp: Lambert's, and a highlight after Blinn and Phong."""
    toward = lamp - seen.points
    span = np.linalg.norm(toward, axis=1)
    toward /= span[:, None]
    facing = np.sum(seen.normals * toward, axis=1)
    candidates = np.flatnonzero((facing > 0.0) & (seen.geoms >= 0))
    reached, _, _ = _cast(model, data, lamp, -toward[candidates])
    lit = candidates[np.abs(reached - span[candidates]) < 1e-3]
    light = np.zeros(len(span))
    light[lit] = facing[lit]
    if gloss:
        half = toward[lit] - seen.rays[lit]
        half /= np.linalg.norm(half, axis=1, keepdims=True)
        light[lit] += gloss * np.clip(np.sum(half * seen.normals[lit], axis=1), 0.0, 1.0) ** 40
    return light


def _cast(
    model: mujoco.MjModel, data: mujoco.MjData, origin: Array, rays: Array
) -> tuple[Array, Indices, Array]:
    """Return distance (n,), geom (n,; -1 for none) and normal (n, 3) where the rays first hit."""
    count = len(rays)
    geoms, distances, normals = np.empty(count, np.int32), np.empty(count), np.zeros(3 * count)
    if count:
        mujoco.mj_multiRay(
            model, data, origin, rays.ravel(), None, True, -1, geoms, distances, normals, count,
            mujoco.mjMAXVAL,
        )
    return distances, geoms, normals.reshape(-1, 3)


def _disc(count: int, part: float) -> Array:
    """Return points (count, 2) over the unit disc, by the golden angle, shifted by `part`."""
    index = np.arange(count) + part
    turns = (index + 7.0 * count * part) * math.pi * (3.0 - math.sqrt(5.0))
    reach = np.sqrt((index + 0.03) / count) * 0.99
    return np.stack((reach * np.cos(turns), reach * np.sin(turns)), axis=1)


def _smooth(light: Array, seen: _Surface, shape: tuple[int, int]) -> Array:
    """Average the light over a tile around each pixel, within one face of one geom."""
    total, weight = np.zeros((*shape, 3)), np.zeros((*shape, 1))
    fields = light.reshape(*shape, 3), seen.geoms.reshape(shape), seen.normals.reshape(*shape, 3)
    for dy in range(-TILE // 2, TILE // 2):
        for dx in range(-TILE // 2, TILE // 2):
            near, geoms, normals = (np.roll(field, (dy, dx), axis=(0, 1)) for field in fields)
            alike = (geoms == fields[1]) & (np.sum(normals * fields[2], axis=2) > 0.9)
            total += near * alike[..., None]
            weight += alike[..., None]
    return np.asarray(total / weight.clip(1.0)).reshape(-1, 3)


def _colour(model: mujoco.MjModel, seen: _Surface, light: Array) -> Array:
    """Return the colour (n, 3), 0 to 1: the geom's own under the light, far floor in haze."""
    colour = model.geom_rgba[seen.geoms, :3].astype(np.float64) ** 2.2 * light
    away = np.clip((np.linalg.norm(seen.points[:, :2], axis=1) - 1.0) / 2.6, 0.0, 1.0)
    haze = np.where(seen.geoms == model.geom('floor').id, away * away * (3 - 2 * away), 0.0)
    haze[seen.geoms < 0] = 1.0
    colour += haze[:, None] * (EMPTY - colour)
    return np.asarray(np.clip(colour, 0.0, 1.0) ** (1 / 2.2))


def _edges(colour: Array) -> npt.NDArray[np.bool_]:
    """Return (height, width) where a pixel differs much from the one beside or below."""
    edges = np.zeros(colour.shape[:2], bool)
    step = np.abs(np.diff(colour, axis=0)).max(axis=2) > 0.03
    edges[:-1] |= step
    edges[1:] |= step
    step = np.abs(np.diff(colour, axis=1)).max(axis=2) > 0.03
    edges[:, :-1] |= step
    edges[:, 1:] |= step
    return edges
