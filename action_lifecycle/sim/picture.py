# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Pictures of the cell, drawn in a separate process by MuJoCo's renderer, else by matplotlib.

The cell's node starts and polls a `PictureProcess`, so an OpenGL driver that hangs or crashes
does not affect the cell. MuJoCo draws with EGL unless MUJOCO_GL names another backend.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import json
import math
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time

import numpy as np
import numpy.typing as npt

from .scene import build, CellConfig, mujoco
from .trajectory import Array
from ..documents.durable_file import replacing

WIDTH = 960  #: pixels of a picture
SHAPE = 3 / 2  #: width / height
CAMERA = 'overview'  #: of the model
LIMITS = {'opengl': 20.0, 'matplotlib': 60.0}  #: s for each renderer; tried in this order
SHADOWS = 4096 / 960  #: size of the map of shadows for each pixel of the width
PATCH = 0.04  #: m, side of the patches that matplotlib sorts by distance
ROUND = 24  #: sides of the prism drawn for a cylinder
LIGHT = np.array((0.35, -0.55, 0.76))  #: unit vector towards the light
ROOM = (0.87, 0.89, 0.92)  #: background of matplotlib's picture


class PictureProcess:
    """
    Draws states of the cell into the file `path`, PNG or JPEG by its suffix, `width` pixels wide.

    `cost` is the CPU time (s) of the last drawing.
    """

    def __init__(self, slippery: str, path: Path, width: int = WIDTH) -> None:
        """Start the first renderer; raises OSError if no process can be started."""
        self.path = path
        self.cost = 0.0
        self._arguments = [str(path), str(width), slippery]
        self._state = ''
        self._left = list(LIMITS)
        self._faults: list[str] = []
        self._start()

    def _start(self) -> None:
        self._renderer = self._left.pop(0)
        self._errors = tempfile.TemporaryFile('w+')  # noqa: SIM115 - closed by `end`
        environment = {'MUJOCO_GL': 'egl', **os.environ}  # MuJoCo reads it when it is imported
        if self._renderer != 'opengl':
            environment['MUJOCO_GL'] = 'disable'
        self._process = subprocess.Popen(
            [sys.executable, '-m', __name__, self._renderer, *self._arguments],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)

    def draw(self, qpos: Array) -> None:
        """Draw a state (MuJoCo's joint positions); not while another one is being drawn."""
        self._state = json.dumps(qpos.tolist())
        self._ask()

    def _ask(self) -> None:
        self._deadline = time.monotonic() + LIMITS[self._renderer]
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(self._state.encode() + b'\n')
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended at once; `poll` returns the reason

    def poll(self) -> str | None:
        """Return None during the drawing, '' when the file is written, else the error."""
        assert self._process.stdout is not None
        code = self._process.poll()
        if said := self._process.stdout.read():
            self.cost = float(said)
            return ''
        if code is None and time.monotonic() < self._deadline:
            return None
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        self._faults.append(f'{self._renderer}: ' + (
            f'not done within {LIMITS[self._renderer]:g} s' if code is None
            else lines[-1] if lines else f'ended with code {code}'))
        self.end()
        if not self._left:
            return '; '.join(self._faults)
        self._start()
        self._ask()
        return None

    def end(self) -> None:
        """End the process if it still runs."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream is not None
            with suppress(BrokenPipeError):  # of a state that it did not read
                stream.close()


Draw = Callable[[mujoco.MjData], npt.NDArray[np.uint8]]


def with_opengl(model: mujoco.MjModel, width: int) -> Draw:
    """Return a function that draws a picture (height, width, 3) by MuJoCo's renderer."""
    model.vis.quality.shadowsize = int(SHADOWS * width)
    renderer = mujoco.Renderer(model, int(width / SHAPE), width)
    option = mujoco.MjvOption()
    option.geomgroup[:4] = 1  # group 3, the collision geoms, is hidden by default

    def draw(data: mujoco.MjData) -> npt.NDArray[np.uint8]:
        renderer.update_scene(data, CAMERA, option)
        return np.array(renderer.render())
    return draw


def with_matplotlib(model: mujoco.MjModel, width: int) -> Draw:
    """Return a function that draws a picture (height, width, 3) by matplotlib."""
    return lambda data: by_matplotlib(model, data, width)


def by_matplotlib(
    model: mujoco.MjModel, data: mujoco.MjData, width: int
) -> npt.NDArray[np.uint8]:
    """Return the picture (height, width, 3): the faces towards the camera, far ones first."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

    camera = data.camera(CAMERA)
    eye, turn = camera.xpos, camera.xmat.reshape(3, 3)  # columns: right, up, back
    height = width / SHAPE
    scale = height / 2 / math.tan(math.radians(model.camera(CAMERA).fovy.item()) / 2)
    drawn = []
    for geom in range(model.ngeom):
        rotation, middle = data.geom_xmat[geom].reshape(3, 3), data.geom_xpos[geom]
        colour = model.geom_rgba[geom, :3]
        for face in _faces(model.geom_type[geom], model.geom_size[geom]):
            corners = face @ rotation.T + middle
            normal = np.cross(corners[1] - corners[0], corners[2] - corners[1])
            normal /= np.linalg.norm(normal)
            if normal @ (corners[0] - eye) >= 0.0:
                continue
            shade = 0.5 + 0.5 * max(0.0, float(normal @ LIGHT))
            seen = (corners - eye) @ turn
            if seen[:, 2].max() < -0.1:
                drawn.append((float(np.linalg.norm(corners.mean(axis=0) - eye)),
                              scale * seen[:, :2] / -seen[:, 2:], shade * colour))
    drawn.sort(key=lambda face: -face[0])
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=ROOM)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-width / 2, width / 2),
                           ylim=(-height / 2, height / 2))
    axes.set_axis_off()
    colours = [face[2] for face in drawn]
    axes.add_collection(PolyCollection(
        [face[1] for face in drawn], facecolors=colours, edgecolors=colours, linewidths=0.4))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def _faces(kind: int, size: Array) -> list[Array]:
    """Return the corners (n, 3) of each face of a geom, counterclockwise, in its own frame."""
    outline = np.array(((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))) * size[:2]
    if kind == mujoco.mjtGeom.mjGEOM_PLANE:
        return _patches(np.pad(outline, ((0, 0), (0, 1))), 0.2)
    half = size[2]
    if kind != mujoco.mjtGeom.mjGEOM_BOX:  # a cylinder
        turns = np.linspace(0.0, 2.0 * math.pi, ROUND, endpoint=False)
        outline, half = size[0] * np.stack((np.cos(turns), np.sin(turns)), axis=1), size[1]
    low, high = (np.pad(outline, ((0, 0), (0, 1)), constant_values=z) for z in (-half, half))
    sides = [np.array((low[at - 1], low[at], high[at], high[at - 1])) for at in range(len(low))]
    return [patch for face in (low[::-1], high, *sides)
            for patch in (_patches(face, PATCH) if len(face) == 4 else [face])]


def _patches(corners: Array, most: float) -> list[Array]:
    """Return a parallelogram in patches with sides of at most `most` (m)."""
    corner, across, up = corners[0], corners[1] - corners[0], corners[3] - corners[0]
    columns, rows = (max(1, math.ceil(np.linalg.norm(side) / most)) for side in (across, up))
    patch = np.array((0.0 * up, across / columns, across / columns + up / rows, up / rows))
    return [corner + column / columns * across + row / rows * up + patch
            for column in range(columns) for row in range(rows)]


def main(arguments: list[str]) -> int:
    """
    Draw the states on standard input, one a line; write the CPU time (s) of each when it is done.

    Arguments: the renderer, the file, the width of the picture, the slippery part.
    """
    renderer, path, width, slippery = arguments[0], Path(arguments[1]), *arguments[2:]
    os.nice(1)  # the cell has priority; at niceness 5 a drawing took 50 s on a busy machine
    model, data, _ = build(CellConfig(slippery=slippery))
    draw = {'opengl': with_opengl, 'matplotlib': with_matplotlib}[renderer](model, int(width))
    import matplotlib.image
    for line in sys.stdin:
        began = time.process_time()
        data.qpos[:] = json.loads(line)
        mujoco.mj_forward(model, data)
        try:
            with replacing(path) as part:
                matplotlib.image.imsave(part, draw(data), format=path.suffix[1:])
        except OSError as error:
            print(f'{path}: {error.strerror}', file=sys.stderr)
            return 1
        print(time.process_time() - began, flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
