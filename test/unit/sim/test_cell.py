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

"""The stepped cell: its clock, its draws, its picture, and what it says without MuJoCo."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
import zlib

from action_lifecycle.engine.errors import LifecycleError
from action_lifecycle.sim.cell import Cell, CellConfig
from action_lifecycle.sim.render import render, save_png
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


def test_runs_faster_than_real_time():
    cell = Cell()
    cell.step(0.2)
    started = time.process_time()
    cell.step(2.0)
    assert time.process_time() - started < 0.4, 'less than 5 times real time'


def test_picture_shows_the_cell_and_is_a_png(tmp_path):
    cell = Cell()
    picture = render(cell.model, cell.data, 120, 80)
    assert picture.shape == (80, 120, 3)
    assert picture.std() > 20.0
    save_png(tmp_path / 'cell.png', picture)
    raw = (tmp_path / 'cell.png').read_bytes()
    assert raw[:8] == b'\x89PNG\r\n\x1a\n'
    assert struct.unpack('>II', raw[16:24]) == (120, 80)
    start = raw.index(b'IDAT')
    size = struct.unpack('>I', raw[start - 4:start])[0]
    lines = np.frombuffer(zlib.decompress(raw[start + 4:start + 4 + size]), np.uint8)
    np.testing.assert_array_equal(lines.reshape(80, 361)[:, 1:].reshape(80, 120, 3), picture)


def test_without_mujoco_the_import_says_how_to_install_it():
    code = "import sys; sys.modules['mujoco'] = None; import action_lifecycle.sim.cell"
    run = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 1
    assert "pip install 'mujoco" in run.stderr.splitlines()[-1]
