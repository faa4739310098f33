# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The stepped cell: its clock, its draws, its picture, and what it says without MuJoCo."""

from __future__ import annotations

import subprocess
import sys
import time

from action_lifecycle.documents.errors import LifecycleError
from action_lifecycle.sim.cell import Cell, CellConfig
from action_lifecycle.sim.picture import by_matplotlib, PictureProcess, SHAPE
from action_lifecycle.sim.scene import build, mujoco
import matplotlib.image
import numpy as np
import pytest


def _run(rig, chunk):
    """Step in chunks of that many seconds while picking, return all that was said and is so."""
    rig.step(chunk)
    rig.pick('part_b', 8.0)
    rig.cell.knock('part_c', (0.01, 0.0, 0.05))
    for _ in range(round(1.2 / chunk)):
        rig.step(chunk)
    return rig.stream, rig.cell.truth(), rig.cell.data.qpos.tolist()


def test_same_seed_gives_identical_streams(make_rig):
    assert _run(make_rig(seed=11), 0.4) == _run(make_rig(seed=11), 0.4)


def test_another_seed_draws_anew(make_rig):
    first, second = (make_rig(seed=seed).cell for seed in (1, 2))
    for part in ('part_a', 'part_b', 'part_c'):
        assert first.truth()[part].position != second.truth()[part].position
        geom = first.model.geom(part).id
        assert first.model.geom_friction[geom, 0] != second.model.geom_friction[geom, 0]
        assert first.model.body(part).mass != second.model.body(part).mass


def test_size_of_steps_does_not_matter():
    coarse, fine = Cell(CellConfig(seed=5)), Cell(CellConfig(seed=5))
    whole = coarse.step(1.0)
    parts = [sample for _ in range(250) for sample in fine.step()]
    assert whole == parts
    assert coarse.time == fine.time == pytest.approx(1.0)


def test_parts_begin_at_rest_in_the_tray():
    for seed in range(5):
        truth = Cell(CellConfig(seed=seed)).truth()
        assert [truth[f'part_{x}'].pocket for x in 'abc'] == ['tray_a', 'tray_b', 'tray_c']
        assert not any(part.held for part in truth.values())


def test_unknown_part_is_named():
    with pytest.raises(LifecycleError, match=r"'part_d'.*did you mean"):
        Cell(CellConfig(slippery='part_d'))
    with pytest.raises(LifecycleError, match=r"'prt_a'.*did you mean 'part_a'"):
        Cell().knock('prt_a', (0.0, 0.0, 0.1))


@pytest.fixture
def seen():
    """Return the model and its state, with the yellow part lifted off its pocket."""
    model, data, _ = build(CellConfig())
    data.joint('part_c').qpos[2] += 0.1
    mujoco.mj_forward(model, data)
    return model, data


def yellow(picture):
    red, green, blue = np.moveaxis(picture.astype(float), 2, 0)
    rows, columns = np.nonzero((green > 0.65 * red) & (blue < 0.4 * red) & (red > 90))
    return rows.mean(), columns.mean()


def test_matplotlib_shows_the_part_where_it_is(seen):
    model, data = seen
    width, height = 600, 400
    picture = by_matplotlib(model, data, width)
    assert picture.shape == (height, width, 3) and picture.std() > 20.0
    camera = data.camera('overview')
    at = (data.joint('part_c').qpos[:3] - camera.xpos) @ camera.xmat.reshape(3, 3)
    scale = height / 2 / np.tan(np.radians(model.camera('overview').fovy.item()) / 2)
    expected = height / 2 + scale * at[1] / at[2], width / 2 - scale * at[0] / at[2]
    np.testing.assert_allclose(yellow(picture), expected, atol=12.0)


def drawn(path, width=480):
    process = PictureProcess('part_b', path, width)
    try:
        process.draw(Cell().data.qpos)
        deadline = time.monotonic() + 120.0
        while (fault := process.poll()) is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.end()
    return fault


@pytest.mark.parametrize('platform', ['egl', 'no such platform'])
def test_picture_is_drawn_with_or_without_opengl(tmp_path, monkeypatch, platform):
    monkeypatch.setenv('MUJOCO_GL', platform)
    path, width = tmp_path / 'cell.png', 480
    assert drawn(path, width) == ''
    picture = matplotlib.image.imread(path)
    assert picture.shape[:2] == (width / SHAPE, width) and picture[:, :, :3].std() > 0.08
    assert [file.name for file in tmp_path.iterdir()] == ['cell.png']


def test_picture_that_can_not_be_saved_says_why(tmp_path):
    fault = drawn(tmp_path / 'none' / 'cell.png')
    assert fault.endswith(f'{tmp_path}/none/cell.png: No such file or directory')


def test_without_mujoco_the_import_says_how_to_install_it():
    code = "import sys; sys.modules['mujoco'] = None; import action_lifecycle.sim.cell"
    run = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 1
    assert "pip install 'mujoco" in run.stderr.splitlines()[-1]
