# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The demo tells where its viewer is, or in one line why there is none, and goes on."""

from __future__ import annotations

import importlib
from pathlib import Path
import socket
import sys
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[3] / 'tools'))
pytest.importorskip('nicegui')
demo_viewer = importlib.import_module('demo_viewer')

LOG = """\
[INFO] [web-6]: process started with pid [28000]
[ledger-4] [ERROR] [1795487315.006089585] [ledger]: no Redis
"""
THERE = LOG + '[web-6] [INFO] [1795487315.006089585] [web]: viewer: http://127.0.0.1:8080/\n'
FAILED = LOG + ("[web-6] [ERROR] [1795487315.006089585] [web]: configure: the viewer can't use "
                'port 80\n')
DIED = LOG + "[ERROR] [web-6]: process has died [pid 28000, exit code 1, cmd 'web']\n"


def viewer(folder: Path, log: str, *given: str) -> demo_viewer.DemoViewer:
    (folder / 'launch.log').write_text(log)
    return demo_viewer.DemoViewer(folder, given)


@pytest.mark.parametrize(('log', 'address', 'said'), [
    (THERE, 'http://127.0.0.1:8080/', '== viewer: http://127.0.0.1:8080/ (to give orders'),
    (FAILED, '', "== no viewer: configure: the viewer can't use port 80\n"),
    (DIED, '', '== no viewer: process has died\n'),
    (LOG, '', '== no viewer: it has not started within 0.2 s\n')])
def test_what_the_demo_says_of_its_viewer(
    tmp_path: Path, capsys: Any, monkeypatch: Any, log: str, address: str, said: str
) -> None:
    monkeypatch.setattr(demo_viewer, 'START', 0.2)
    made = viewer(tmp_path, log)
    made.wait()
    assert made.address == address
    told = capsys.readouterr().err
    assert told.startswith(said) and told.count('\n') == 1
    assert (tmp_path / 'token').stat().st_mode & 0o777 == 0o600
    if not address:
        assert made.take_pictures() == []


def test_the_demo_can_do_without_a_viewer(
    tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    without = viewer(tmp_path, LOG, 'seed:=3', 'web:=false')
    without.wait()
    assert not without.arguments and not capsys.readouterr().err
    monkeypatch.setattr(demo_viewer, 'find_spec', lambda name: None)
    missing = viewer(tmp_path, LOG)
    missing.wait()
    assert not missing.arguments
    assert capsys.readouterr().err.startswith('== no viewer: NiceGUI is not installed')


def test_another_port_is_taken_if_the_usual_one_is_not_free(
    tmp_path: Path, monkeypatch: Any
) -> None:
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        monkeypatch.setattr(demo_viewer, 'PORT', other.getsockname()[1])
        assert 'web_port:=0' in viewer(tmp_path, LOG).arguments


def test_a_run_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert viewer(tmp_path, LOG).write_run().startswith('none: ')
