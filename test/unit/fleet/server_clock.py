# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""A library that moves the clock of a program, for servers whose clock is wrong."""

from __future__ import annotations

import shutil
import subprocess

import pytest

_CLOCK = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
    now->tv_sec += atol(getenv("CLOCK_OFFSET"));
  return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  int result = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return result;
}
time_t time(time_t *seconds) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (seconds) *seconds = exact.tv_sec;
  return exact.tv_sec;
}
"""


def build_clock(folder):
    """Return a library that moves the clock of a program; libfaketime can't with jemalloc."""
    compiler = shutil.which('cc')
    if compiler is None:
        pytest.skip('no C compiler is installed (Debian, Ubuntu: apt install gcc)')
    (folder / 'clock.c').write_text(_CLOCK)
    subprocess.run([compiler, '-shared', '-fPIC', '-O1', '-o', str(folder / 'clock.so'),
                    str(folder / 'clock.c')], check=True)
    return folder / 'clock.so'


def with_clock(library, offset):
    """Return the prefix of a command whose clock is `offset` s ahead."""
    return 'env', f'LD_PRELOAD={library}', f'CLOCK_OFFSET={offset}'
