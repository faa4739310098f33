# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The task of bench/celery_fleet.py."""

from __future__ import annotations

import os
import time


def work(given: list[object]) -> object:
    """Add a line to the file of the job when it begins and when it is done; return its number."""
    folder, number, seconds = given
    record = os.open(f'{folder}/{number}', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(record, f'begun {os.getpid()}\n'.encode())
        time.sleep(float(str(seconds)))
        os.write(record, f'done {os.getpid()}\n'.encode())
    finally:
        os.close(record)
    return number
