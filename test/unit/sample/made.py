# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The sample data of the tests: fewer runs than those of the tutorial."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

from ..docs.pages import ROOT

SEED, RUNS = 17, 6


def make_sample(folder: Path) -> Path:
    """Make it by the command; returns the folder."""
    done = subprocess.run(
        [sys.executable, ROOT / 'tools/sample_data', folder, '--runs', str(RUNS), '--seed',
         str(SEED)], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    assert f'{folder}: {RUNS} runs, ' in done.stdout
    return folder
