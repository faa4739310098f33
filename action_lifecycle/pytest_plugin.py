# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The pytest plugin: files *.cases.yaml are collected, each case is a test.

The fixture `scripted_robot` makes robots for tests in Python. Nothing of the package is imported
until one of the two is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SUFFIX = '.cases.yaml'


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a file of cases."""
    if file_path.name.endswith(SUFFIX):
        found: CasesFile = CasesFile.from_parent(parent, path=file_path)
        return found
    return None


class CasesFile(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[CaseItem]:
        """Yield the cases."""
        from .testing import Cases
        cases = Cases(self.path)
        for name in cases.names:
            yield CaseItem.from_parent(self, name=name, cases=cases)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """Show the faults of the file without a traceback."""
        from .documents.errors import DocumentError
        return str(excinfo.value) if isinstance(excinfo.value, DocumentError) \
            else super().repr_failure(excinfo)


class CaseFailed(Exception):
    """The end of a flow is not the expected one."""


class CaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, cases: Any, **options: Any) -> None:
        super().__init__(**options)
        self._cases = cases

    def runtest(self) -> None:
        """Run the case."""
        from .testing.case_report import failure_text
        result = self._cases.run(self.name)
        if result.faults:
            raise CaseFailed(failure_text(self.path, result))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Show the differences without a traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, CaseFailed) \
            else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the case is."""
        return self.path, self._cases.line(self.name) - 1, f'case {self.name}'


@pytest.fixture
def scripted_robot() -> Callable[..., Any]:
    """
    Return a function that makes a `testing.ScriptedRobot`.

    Its arguments are the path of a facts file, and the fields of `testing.RobotScript`.
    """
    from .testing import RobotScript, ScriptedRobot
    from .world import load_facts

    def make(file: str | Path, /, **script: Any) -> ScriptedRobot:
        return ScriptedRobot(load_facts(file), RobotScript(**script))

    return make
