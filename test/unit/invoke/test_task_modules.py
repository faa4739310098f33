# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Modules whose functions flows may call as tasks."""

from __future__ import annotations

from typing import Any

from action_lifecycle.invoke import read_work
from action_lifecycle.nodes.action.work.task_modules import ANY, module_faults
import pytest


@pytest.mark.parametrize('work, allowed, refused', [
    ('my_vision.parts:find', [ANY], []),
    ('os:system', [ANY], ['os:system']),
    ('importlib.metadata:version', [ANY], ['importlib.metadata:version']),
    ('action_lifecycle.cli:main', [ANY], ['action_lifecycle.cli:main']),
    ('json:loads', [ANY, 'json'], []),
    ('my_vision.parts:find', ['my_vision'], []),
    ('my_vision:find', ['my_vision'], []),
    ('my_visions:find', ['my_vision'], ['my_visions:find']),
    ('my_vision.other:find', ['my_vision.parts'], ['my_vision.other:find']),
    ('my_vision:find', [], ['my_vision:find']),
    ([{'a': 'x:f', 'b': {'map': ['os:remove', 'x:g']}}, 'sys:exit'], [ANY],
     ['os:remove', 'sys:exit']),
])
def test_what_is_refused(work: Any, allowed: list[str], refused: list[str]) -> None:
    found = list(module_faults(read_work(work, 'invoke'), allowed))
    assert [fault.split("'")[1] for fault in found] == refused
