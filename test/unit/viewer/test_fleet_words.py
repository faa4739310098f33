# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What tables and pages say of requests."""

from __future__ import annotations

from action_lifecycle.fleet.work_status import Failure, Request
from action_lifecycle.viewer.fleet_words import request_words
import pytest

HELD = Request('1-0', {}, 'robot7', 4.2, 1)


@pytest.mark.parametrize(('request_', 'words'), [
    (Request('1-0', {}), 'waits'),
    (HELD, 'held by robot7, try 1, last renewed 4 s ago'),
    (HELD._replace(failure=Failure('no', 3, 41.7)), 'failed try 1 of 3, next try in 42 s: no'),
    (HELD._replace(failure=Failure('no', 3, 0.0)),
     'failed try 1 of 3, next try when a robot is free: no'),
    (HELD._replace(failure=Failure('a:1:1: x\na:2:1: y')), 'failed try 1: a:1:1: x'),
    (HELD._replace(failure=Failure('')), 'failed try 1: '),
])
def test_request_is_said_to_wait_to_run_or_to_have_failed(request_: Request, words: str) -> None:
    assert request_words(request_) == words
