# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The physical scene: the MJCF model with the frictions, masses and start poses of one seed.

Needs MuJoCo, an extra of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest

try:
    import mujoco as mujoco  # type: ignore[import-untyped]
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'The simulated cell needs MuJoCo 4; '
        "install it with: pip install 'mujoco>=4,<5' matplotlib"
    ) from error

MODEL = Path(__file__).parent / 'model' / 'cell.xml'
PARTS = ('part_a', 'part_b', 'part_c')
SLOTS = ('slot_a', 'slot_b', 'slot_c')
POCKETS = ('tray_a', 'tray_b', 'tray_c', *SLOTS)

SLIPPERY_FRICTION = 0.22  # oiled steel on rubber; the other parts have the model's 0.6
SLIPPERY_MASS = 0.45  # kg
SLIPPERY_COLOUR = (0.80, 0.81, 0.83, 1.0)


def _drawn(default: Any, description: str) -> Any:
    """Return a field of CellConfig that is also a parameter of the node, with its description."""
    return field(default=default, metadata={'description': description})


@dataclass(frozen=True)
class CellConfig:
    """
    The random values of the cell; the same seed gives the same values.

    Each is drawn uniformly around its nominal value, within plus or minus its spread (relative) or
    jitter (absolute).
    """

    seed: int = _drawn(0, 'Seed of all random values; the same seed gives the same values.')
    slippery: str = _drawn('part_b', 'The part that is slippery and heavier; empty: none.')
    friction: Mapping[str, float] = field(default_factory=dict)
    """Friction coefficient of each part, instead of the model's."""
    mass: Mapping[str, float] = field(default_factory=dict)
    """Mass of each part (kg), instead of the model's."""
    friction_spread: float = _drawn(0.10, 'Relative spread of each friction coefficient.')
    mass_spread: float = _drawn(0.05, 'Relative spread of each mass.')
    position_jitter: float = _drawn(  # the play is 4 mm or more
        0.0015, 'Start position of each part in its pocket, plus or minus, in m.')
    yaw_jitter: float = _drawn(0.05, 'Start yaw of each part, plus or minus, in rad.')
    gripper_force: float = _drawn(
        1.0, 'Force that the gripper applies, relative to the commanded force.')
    gripper_force_spread: float = _drawn(0.05, 'Relative spread of that force.')
    sensor_noise: float = _drawn(1.0, 'Factor on the noise of all sensors.')
    camera_delay: float = _drawn(0.08, 'From exposure to delivery of a camera pose, in s.')


def build(config: CellConfig) -> tuple[mujoco.MjModel, mujoco.MjData, float]:
    """Return the model, its state at the start, and the drawn gripper force factor."""
    for name in (config.slippery, *config.friction, *config.mass):
        if name and name not in PARTS:
            raise LifecycleError(f"no part named '{name}'{nearest(name, PARTS)}")
    rng = np.random.default_rng([config.seed, 0])
    model = mujoco.MjModel.from_xml_path(str(MODEL))
    data = mujoco.MjData(model)
    for part in PARTS:
        body, geom, joint = model.body(part).id, model.geom(part).id, model.joint(part)
        friction, mass = model.geom_friction[geom, 0], model.body_mass[body]
        if part == config.slippery:
            friction, mass = SLIPPERY_FRICTION, SLIPPERY_MASS
            model.geom_rgba[geom] = SLIPPERY_COLOUR
        friction_draw, mass_draw, x, y, yaw = rng.uniform(-1.0, 1.0, 5)
        model.geom_friction[geom, 0] = config.friction.get(part, friction) * (
            1.0 + config.friction_spread * friction_draw
        )
        mass = config.mass.get(part, mass) * (1.0 + config.mass_spread * mass_draw)
        model.body_inertia[body] *= mass / model.body_mass[body]
        model.body_mass[body] = mass
        start = int(joint.qposadr[0])
        yaw *= config.yaw_jitter
        data.qpos[start] += config.position_jitter * x
        data.qpos[start + 1] += config.position_jitter * y
        data.qpos[start + 3:start + 7] = math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)
    force = config.gripper_force * (1.0 + config.gripper_force_spread * rng.uniform(-1.0, 1.0))
    start_state = data.qpos.copy()
    mujoco.mj_setConst(model, data)
    data.qpos[:] = start_state
    mujoco.mj_forward(model, data)
    return model, data, force
