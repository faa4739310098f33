# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A bridge that was held up confirms nothing on what it knew before."""

from __future__ import annotations

from pathlib import Path
import time

from action_lifecycle_msgs.action import ConfirmOutcome

from .bridge_rig import Rig


def test_a_sample_that_waits_to_be_read_is_not_passed_over(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    try:
        rig.gap = 0.02
        rig.start()
        rig.result(rig.confirm('gap > 0.01'))
        handle = rig.confirm('gap > 0.01', hold=0.4, within=2.0)
        rig.gap = None
        rig.publish_gap(0.001)
        time.sleep(0.6)  # nobody spins: the hold is through, and the sample waits
        assert rig.result(handle).verdict != ConfirmOutcome.Result.CONFIRMED
    finally:
        rig.close()
