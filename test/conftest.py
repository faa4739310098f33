# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What holds for all tests, with ROS and without."""

from __future__ import annotations

from collections.abc import Generator
import gc
from importlib.util import find_spec
import logging
import os
import signal
import sys

from hypothesis import HealthCheck, settings
from isolation import use_udp
import pytest

# Processes begin with SIGINT ignored where the tests do, as behind `nohup … &`; nodes of tests end
# by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `colcon test` sets both. With the first, each of a thousand processes compiles its imports again;
# the second is for this run of pytest, which has read it, not for those that tests start.
os.environ.pop('PYTHONDONTWRITEBYTECODE', None)
os.environ.pop('PYTEST_ADDOPTS', None)
sys.dont_write_bytecode = False

use_udp()

# How long an example takes says nothing, on a machine that does other things, too.
settings.register_profile(
    'new', deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False)
# The same examples in every run; `make soak` takes new ones each time.
settings.register_profile('repeatable', settings.get_profile('new'), derandomize=True)
settings.load_profile('repeatable')

# What these would test can't be imported without its extra, or without ROS.
collect_ignore: list[str] = []
if not find_spec('mujoco'):
    collect_ignore += ['unit/sample', 'unit/sim', *(f'node/test_{name}.py' for name in (
        'cell_node', 'kill_matrix', 'kill_rounds', 'operators'))]
if not find_spec('rclpy'):
    collect_ignore += ['node', 'launch', 'unit/tools', 'unit/cli/test_operator.py',
                       'unit/cli/test_progress.py', 'unit/cli/test_records.py',
                       'unit/cli/test_run_arguments.py', 'unit/cli/test_table.py']

try:
    # Once imported, launch makes each new logger one that passes nothing on, to caplog neither.
    import launch.logging  # noqa: F401
except ImportError:
    pass
else:
    logging.setLoggerClass(logging.Logger)


def pytest_configure(config: pytest.Config) -> None:
    """Leave out the long tests if neither files nor markers are named, as with `colcon test`."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS and not config.option.markexpr:
        config.option.markexpr = 'not long'


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a case of a long text by its beginning: each process is sent the names of all tests."""
    if isinstance(val, str) and len(val) > 200:
        return f'{ascii(val[:40])[1:-1]}...'
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write lone surrogates of captured text as escapes: they can't be sent to another process."""
    report = yield
    report.sections = [(name, text.encode('utf-8', 'backslashreplace').decode())
                       for name, text in report.sections]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Append a line for each failure to the file that TESTS_FAILED names, for tools/test."""
    if file := os.environ.get('TESTS_FAILED'):
        stats = terminalreporter.stats
        with open(file, 'a', encoding='utf-8') as lines:
            for report in stats.get('failed', []) + stats.get('error', []):
                lines.write(f'{report.nodeid} ({report.when})\n')


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of each garbage collection of the tests."""
    gc.collect()
    gc.freeze()
