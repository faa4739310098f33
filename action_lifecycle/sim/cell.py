# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The cell, stepped in-process: physics, controllers and sensors on one simulated clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from .controllers import (
    ArmController,
    ArmMotion,
    GripperController,
    GripperMotion,
    HOME,
    JOINTS,
    MAX_GAP,
)
from .messages import FollowJointTrajectoryGoal, GripperCommandGoal, Sample
from .scene import build, CellConfig, mujoco, PARTS, POCKETS
from .sensors import Sensors
from .trajectory import Array
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest

__all__ = ['PARTS', 'POCKETS', 'Cell', 'CellConfig', 'PartTruth']

TICK = 4_000_000  # ns: the control period
SETTLING = 100  # physics steps for the parts to come to rest before time zero
POCKET_RADIUS = 0.0085  # m, maximum offset in x or y of a part in a pocket; its play is 8 mm
POCKET_HEIGHT = 0.003  # m, maximum offset in z of a part in a pocket


@dataclass(frozen=True)
class PartTruth:
    """
    The exact state of a part.

    `position` (m) of its centre and `orientation` (w, x, y, z) in the world; `speed` (m/s);
    `held`: both pads touch it; `pocket`: the pocket in which it stands upright, at rest and not
    held, or ''.
    """

    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]
    speed: float
    held: bool
    pocket: str


class Cell:
    """
    A gantry with a gripper, three parts in a tray, and three nests.

    Simulated time advances only in `step`, which returns the samples of the sensors. The
    simulation is deterministic: cells of the same config with the same calls at the same times
    agree exactly.
    """

    def __init__(self, config: CellConfig | None = None) -> None:
        """Draw the random values of `config` and let the parts come to rest."""
        config = config or CellConfig()
        self.model, self.data, self._force = build(config)
        model, data = self.model, self.data
        period = TICK * 1e-9
        self.arm = ArmController(period, round(period / model.opt.timestep))
        self.gripper = GripperController()
        self.muted: frozenset[str] = frozenset()
        """Muted topics, to test the loss of a sensor."""
        self.time_ns = 0  #: simulated nanoseconds since the start
        arm = [model.joint(name) for name in JOINTS]
        fingers = [model.joint(name) for name in ('left_joint', 'right_joint')]
        self._arm_q = np.array([joint.qposadr[0] for joint in arm])
        self._arm_v = np.array([joint.dofadr[0] for joint in arm])
        self._finger_q = np.array([joint.qposadr[0] for joint in fingers])
        self._finger_v = np.array([joint.dofadr[0] for joint in fingers])
        self._pads = {model.geom('left_pad').id, model.geom('right_pad').id}
        self._finger_drive = len(JOINTS)
        # The drives' damping acts on the velocity: compensate its effect on the position.
        gain = model.actuator_gainprm[:len(JOINTS), 0]
        self._lead = -model.actuator_biasprm[:len(JOINTS), 2] / gain
        data.qpos[self._arm_q] = HOME
        data.qpos[self._finger_q] = MAX_GAP / 2
        data.ctrl[:] = (*HOME, MAX_GAP)
        mujoco.mj_step(model, data, SETTLING)
        #: true position, velocity and effort (3, 5) of x, y, z, yaw and the gap
        self.joints = self._measure()
        self._sensors = Sensors(model, data, config)

    @property
    def time(self) -> float:
        """Return simulated seconds since the start."""
        return self.time_ns * 1e-9

    @property
    def estop(self) -> bool:
        """Whether the e-stop is pressed; it aborts motions, holds the drives and rejects goals."""
        return self.arm.estop

    @estop.setter
    def estop(self, pressed: bool) -> None:
        self.arm.estop = self.gripper.estop = pressed

    @property
    def motions_started(self) -> dict[str, int]:
        """Return the number of motions that each controller has begun."""
        return {
            'arm_controller': self.arm.motions_started,
            'gripper_controller': self.gripper.motions_started,
        }

    def move(self, goal: FollowJointTrajectoryGoal) -> ArmMotion:
        """Send a goal to the arm; raises GoalRejected."""
        return self.arm.accept(goal, self.time)

    def grip(self, goal: GripperCommandGoal) -> GripperMotion:
        """Send a goal to the gripper; raises GoalRejected."""
        return self.gripper.accept(goal, self.time)

    def step(self, seconds: float = TICK * 1e-9) -> list[Sample]:
        """Advance by `seconds`, in whole ticks of 4 ms, and return the samples in order."""
        samples: list[Sample] = []
        for _ in range(round(seconds * 1e9 / TICK)):
            samples.extend(self._tick())
        return samples

    def truth(self) -> dict[str, PartTruth]:
        """Return the exact state of each part, for tests and benchmarks only."""
        return {part: self._part_truth(part) for part in PARTS}

    def knock(self, part: str, impulse: Sequence[float]) -> None:
        """Apply an impulse (x, y, z in N s, world frame) to the centre of `part`."""
        if part not in PARTS:
            raise LifecycleError(f"no part named '{part}'{nearest(part, PARTS)}")
        mass = self.model.body(part).mass[0]
        self.data.joint(part).qvel[:3] += np.asarray(impulse) / mass

    def _part_truth(self, part: str) -> PartTruth:
        joint = self.data.joint(part)
        x, y, z, *orientation = joint.qpos.tolist()
        speed = math.hypot(*joint.qvel[:3])
        geom = self.model.geom(part)
        touched = {
            pad
            for pair in self.data.contact.geom[:self.data.ncon].tolist()
            if geom.id in pair
            for pad in self._pads.intersection(pair)
        }
        held = touched == self._pads
        pocket = ''
        _, qx, qy, _ = orientation
        upright = 1.0 - 2.0 * (qx * qx + qy * qy) > math.cos(math.radians(8.0))
        if upright and not held and speed < 0.02:
            for name in POCKETS:
                px, py, floor = self.data.site(name).xpos
                inside = max(abs(x - px), abs(y - py)) < POCKET_RADIUS
                if inside and abs(z - geom.size[2] - floor) < POCKET_HEIGHT:
                    pocket = name
        w, qx, qy, qz = orientation
        return PartTruth((x, y, z), (w, qx, qy, qz), speed, held, pocket)

    def _tick(self) -> list[Sample]:
        model, data, drive = self.model, self.data, self._finger_drive
        joints = self.joints
        setpoints = self.arm.update(self.time, joints[0, :drive], joints[1, :drive])
        gap, speed, effort = joints[:, drive].tolist()
        self.gripper.update(self.time, TICK * 1e-9, gap, speed, effort)
        limit = self.gripper.max_effort * self._force
        model.actuator_forcerange[drive] = -limit, limit
        data.ctrl[drive] = self.gripper.setpoint
        for control in setpoints[0] + self._lead * setpoints[1]:
            data.ctrl[:drive] = control
            mujoco.mj_step(model, data)
        self.time_ns += TICK
        self.joints = self._measure()
        samples = self._sensors.poll(self.time_ns, self.joints)
        if self.muted:
            samples = [sample for sample in samples if sample.topic not in self.muted]
        return samples

    def _measure(self) -> Array:
        """Return true position, velocity and effort, (3, 5): x, y, z, yaw, gap."""
        data, drive = self.data, self._finger_drive
        joints = np.empty((3, drive + 1))
        joints[0, :drive] = data.qpos[self._arm_q]
        joints[1, :drive] = data.qvel[self._arm_v]
        joints[0, drive] = data.qpos[self._finger_q].sum()
        joints[1, drive] = data.qvel[self._finger_v].sum()
        joints[2] = data.actuator_force
        joints[2, drive] /= self._force
        return joints
