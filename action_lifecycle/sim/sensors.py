# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The cell's sensors: encoders, force at the fingertips, part camera.

| topic | message | rate | what |
|---|---|---|---|
| joint_states | JointState | 125 Hz | x, y, z, yaw joint and finger_joint, with effort |
| gripper/wrench | WrenchStamped | 125 Hz | force at the fingertips, in the tool frame |
| camera/PART/pose | PoseStamped | 10 Hz | each part that the camera sees, in frame world |
| camera/marker/pose | PoseStamped | 10 Hz | a marker on the table, the reference of the camera |

The finger_joint is the gap between the pads; its effort is negative while it closes. The force is
what acts on both pads, tared with the empty gripper: x and z are their sum (z is minus the carried
weight), y is the mean of both normal forces, as their sum would be zero. A camera pose
has the stamp of its exposure and is delivered `camera_delay` later. A part is not detected while
fewer than 7 of 9 points of its top are visible from the camera (tested with rays).
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from .controllers import JOINTS
from .messages import (
    Header,
    JointState,
    Pose,
    PoseStamped,
    Quaternion,
    Sample,
    Time,
    Vector3,
    Wrench,
    WrenchStamped,
)
from .scene import CellConfig, mujoco, PARTS
from .trajectory import Array

JOINT_NAMES = [*JOINTS, 'finger_joint']
TOPICS = ('joint_states', 'gripper/wrench', *(f'camera/{p}/pose' for p in (*PARTS, 'marker')))
JOINT_PERIOD = 8_000_000  # ns
FRAME_PERIOD = 100_000_000  # ns, of the camera

# Standard deviation of the noise and resolution, for x, y, z (m), yaw (rad), gap (m)
POSITION_NOISE = np.array([5e-6, 5e-6, 5e-6, 5e-5, 5e-5])
POSITION_STEP = np.array([1e-5, 1e-5, 1e-5, 1e-4, 5e-5])
VELOCITY_NOISE = np.array([2e-4, 2e-4, 2e-4, 1e-3, 3e-4])
VELOCITY_STEP = np.array([1e-4, 1e-4, 1e-4, 5e-4, 1e-4])
EFFORT_NOISE = np.array([0.5, 0.5, 0.3, 0.02, 0.3])  # N, yaw in N m
EFFORT_STEP = np.array([0.1, 0.1, 0.1, 0.01, 0.1])
FORCE_NOISE = 0.15  # N
FORCE_DRIFT = 0.05  # N, standard deviation of the offset after taring
FORCE_STEP = 0.01
CAMERA_NOISE = 0.001  # m
CAMERA_TURN = 0.008  # rad, about each axis
MARKER_NOISE = 0.00025  # m; a marker is found more exactly than a part
MARKER_TURN = 0.002  # rad

POINTS_SEEN = 7
# In units of a part's half size: 3 x 3 points just below its top
POINTS = np.array([[x, y, 0.8] for x in (-0.6, 0.0, 0.6) for y in (-0.6, 0.0, 0.6)])


class Sensors:
    """Samples the scene at the sensors' rates; each sensor has its own noise generator."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, config: CellConfig) -> None:
        """Tare the force sensor in the present state of the scene."""
        self._model, self._data = model, data
        self._noise = config.sensor_noise
        self._delay = round(config.camera_delay * 1e9)
        self._joint_rng, self._force_rng, self._camera_rng, self._marker_rng = (
            np.random.default_rng([config.seed, stream]) for stream in (1, 2, 3, 4)
        )
        self._tare = self._pads() + self._force_rng.normal(0.0, FORCE_DRIFT * self._noise, 3)
        self._exposures: deque[tuple[int, Sample]] = deque()
        self._camera = data.site('camera').xpos.copy()
        self._marker_geom = model.geom('marker').id
        self._marker = data.geom('marker').xpos.copy()
        self._bodies = np.array([model.body(part).id for part in PARTS])
        self._points = np.stack([POINTS * model.geom(part).size for part in PARTS])

    def poll(self, now: int, joints: Array) -> list[Sample]:
        """
        Return the samples that are delivered at `now` (ns of simulated time).

        `joints` (3, 5) has the true position, velocity and effort of each of JOINT_NAMES.
        """
        samples: list[Sample] = []
        if now % JOINT_PERIOD == 0:
            samples.append(Sample('joint_states', self._joint_state(now, joints)))
            samples.append(Sample('gripper/wrench', self._wrench(now)))
        if now % FRAME_PERIOD == 0:
            self._expose(now)
        while self._exposures and self._exposures[0][0] <= now:
            samples.append(self._exposures.popleft()[1])
        return samples

    def _joint_state(self, now: int, joints: Array) -> JointState:
        draw = self._joint_rng.standard_normal((3, len(JOINT_NAMES))) * self._noise
        return JointState(
            _header(now),
            JOINT_NAMES,
            _digits(joints[0] + POSITION_NOISE * draw[0], POSITION_STEP),
            _digits(joints[1] + VELOCITY_NOISE * draw[1], VELOCITY_STEP),
            _digits(joints[2] + EFFORT_NOISE * draw[2], EFFORT_STEP),
        )

    def _pads(self) -> Array:
        """Return the force on the pads: x and z summed, y the mean squeeze (N, tool frame)."""
        left, right = self._data.sensordata[:6].reshape(2, 3)
        return np.array([-left[0] - right[0], (right[1] - left[1]) / 2, -left[2] - right[2]])

    def _wrench(self, now: int) -> WrenchStamped:
        draw = self._force_rng.standard_normal(3) * (FORCE_NOISE * self._noise)
        force = _digits(self._pads() - self._tare + draw, FORCE_STEP)
        return WrenchStamped(_header(now, 'gripper_tool'), Wrench(Vector3(*force)))

    def _expose(self, now: int) -> None:
        """Take a picture: queue the pose of each part seen."""
        seen = self._visible()
        for index, part in enumerate(PARTS):
            draw = self._camera_rng.standard_normal(6) * self._noise
            if not seen[index]:
                continue
            pose = self._data.joint(part).qpos
            self._queue(now, part, pose[:3] + CAMERA_NOISE * draw[:3], CAMERA_TURN * draw[3:],
                        pose[3:])
        draw = self._marker_rng.standard_normal(6) * self._noise
        if self._marker_visible():
            self._queue(now, 'marker', self._marker + MARKER_NOISE * draw[:3],
                        MARKER_TURN * draw[3:], np.array((1.0, 0.0, 0.0, 0.0)))

    def _queue(self, now: int, name: str, position: Array, error: Array, true_turn: Array
               ) -> None:
        """Queue a pose; `error`: rotation (rad) about each axis, `true_turn`: (w, x, y, z)."""
        turn, turned = np.empty(4), np.empty(4)
        mujoco.mju_euler2Quat(turn, error, 'XYZ')
        mujoco.mju_mulQuat(turned, turn, true_turn)
        w, x, y, z = turned.tolist()
        pose = Pose(Vector3(*position.tolist()), Quaternion(x, y, z, w))
        sample = Sample(f'camera/{name}/pose', PoseStamped(_header(now, 'world'), pose))
        self._exposures.append((now + self._delay, sample))

    def _marker_visible(self) -> bool:
        """Whether a ray from the camera meets nothing before the marker."""
        geom = np.empty(1, np.int32)
        mujoco.mj_ray(self._model, self._data, self._camera, self._marker - self._camera, None,
                      True, -1, geom)
        return bool(geom[0] == self._marker_geom)

    def _visible(self) -> npt.NDArray[np.bool_]:
        """Return for each part whether the camera sees enough of its points."""
        rotations = self._data.xmat[self._bodies].reshape(-1, 3, 3)
        points = self._points @ rotations.transpose(0, 2, 1) + self._data.xpos[self._bodies, None]
        rays = points - self._camera
        count = rays.size // 3
        geoms = np.empty(count, np.int32)
        distances = np.empty(count)
        mujoco.mj_multiRay(
            self._model, self._data, self._camera, rays.ravel(), None, True, -1, geoms, distances,
            None, count, mujoco.mjMAXVAL,
        )
        hit = self._model.geom_bodyid[geoms].reshape(len(PARTS), -1)
        seen = (hit == self._bodies[:, None]).sum(axis=1) >= POINTS_SEEN
        return np.asarray(seen)


def _header(now: int, frame: str = '') -> Header:
    return Header(Time(*divmod(now, 1_000_000_000)), frame)


def _digits(values: Array, step: Array | float) -> list[float]:
    """Return the values rounded to multiples of `step`."""
    rounded: list[float] = (np.rint(values / step) * step).tolist()
    return rounded
