# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A redis-server of a benchmark."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import time


def start_redis(folder: str | Path, *options: str) -> tuple[subprocess.Popen[bytes], str]:
    """
    Start redis-server on the Unix socket `redis` in a folder; returns its process and its path.

    `folder` must be short: the path of a socket has at most 107 bytes.
    """
    path = f'{folder}/redis'
    process = subprocess.Popen(
        [os.environ.get('REDIS_SERVER', 'redis-server'), '--port', '0', '--unixsocket', path,
         '--dir', str(folder), '--save', '', *options], stdout=subprocess.DEVNULL)
    while not Path(path).exists():
        assert process.poll() is None, 'redis-server does not start'
        time.sleep(0.01)
    return process, path
