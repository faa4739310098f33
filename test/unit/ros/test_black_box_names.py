# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The name of a black box is at the end of `error_msg` in messages only."""

from __future__ import annotations

import pytest

motion = pytest.importorskip('action_lifecycle.ros.conversions.motion')
from action_lifecycle.lifecycle.ports import Confirmation, WorkResult  # noqa: E402, I100, I202

BOX = '20261123T221530.123Z-f-pick-1-refuted.mcap'


@pytest.mark.parametrize(('error_msg', 'name'), [
    ('gap is 0', BOX), ('gap is 0', ''), ('', BOX), ('a; black box: b.mcap; c', ''),
    ('a; black box: ../b.mcap', ''), ('a; black box: b.mcap', BOX)])
def test_a_name_passes_through_the_messages(error_msg: str, name: str) -> None:
    said = Confirmation('refuted', error_msg=error_msg, black_box=name)
    message = motion.confirmation_to(said, {})
    assert message.error_msg == error_msg + (f'; black box: {name}' if name else '')
    back = motion.confirmation_from(message, '')
    assert (back.error_msg, back.black_box) == (error_msg, name)
    ended = motion.motion_result_to(
        WorkResult('canceled', 1.0, error_msg=error_msg, black_box=name), {})
    result = motion.motion_result_from(ended, {}, '')
    assert (result.error_msg, result.black_box) == (error_msg, name)
