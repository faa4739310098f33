# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Nodes whose journal can't be at the path that they were given say why, and stay unconfigured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from action_lifecycle.nodes.action.node import ActionLifecycleNode
from action_lifecycle.nodes.agent.agent_node import AgentNode
import pytest
from rclpy.lifecycle import TransitionCallbackReturn

from .test_parameters import context, make

__all__ = ['context', 'make']  # fixtures


@pytest.mark.parametrize('kind', [ActionLifecycleNode, AgentNode])
@pytest.mark.parametrize(('name', 'said'), [
    ('file/robot.journal', "the folder of the journal can't be created: {}/file: File exists"),
    ('file/a/robot.journal', "the folder of the journal can't be created: {}/file/a: "
     'Not a directory'),
    ('folder', 'is a folder; expected the file of a journal')])
def test_a_path_of_no_journal_is_named(
    kind: Any, name: str, said: str, make: Any, tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / 'file').write_text('')
    (tmp_path / 'folder').mkdir()
    node = make(kind, journal_path=str(tmp_path / name))
    assert node.trigger_configure() != TransitionCallbackReturn.SUCCESS
    error = capfd.readouterr().err
    assert f'configure: {tmp_path / name}: {said.format(tmp_path)}\n' in error
    assert 'Traceback' not in error
