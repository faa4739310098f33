# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `test`: runs the cases of flows on scripted robots."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
import sys
import time
from typing import Any

from ..exits import BAD_INPUT, DONE, FLOW_FAILED, NotThere
from ..table import print_json
from ...documents.errors import DocumentError
from ...testing.case_report import failure_text
from ...testing.cases import CaseResult, Cases, SUFFIX


def run_cases(options: argparse.Namespace) -> int:
    """Run the cases of all files; exit code 1 if one fails, 2 if a file is not valid."""
    code = DONE
    results: list[dict[str, Any]] = []
    counts = {'passed': 0, 'failed': 0}
    for path in _files(options.paths):
        try:
            cases = Cases(path)
        except DocumentError as error:
            print(error, file=sys.stderr)
            code = BAD_INPUT
            continue
        if not options.json:
            print(path)
        for name in cases.names:
            if options.select.lower() not in name.lower():
                continue
            began = time.perf_counter()
            result = cases.run(name)
            counts['failed' if result.faults else 'passed'] += 1
            results.append(_as_dict(path, result))
            if not options.json:
                _print(path, result, time.perf_counter() - began)
    if options.json:
        print_json({'cases': results, **counts})
    elif results:
        print(f"{counts['passed']} passed, {counts['failed']} failed")
    if not results and code == DONE:
        raise NotThere(f"no case with '{options.select}' in its name")
    return code or (FLOW_FAILED if counts['failed'] else DONE)


def _files(paths: list[str]) -> Iterator[Path]:
    """Yield the files of cases; of a folder, all that are in it."""
    for path in map(Path, paths):
        found = sorted(path.rglob('*' + SUFFIX)) if path.is_dir() else [path]
        if not found:
            raise NotThere(f"no file *{SUFFIX} in '{path}'")
        yield from found


def _print(path: Path, result: CaseResult, took: float) -> None:
    took_text = '' if result.report is None else \
        f'{result.report.duration:.1f} s of the robot in {took:.2f} s'
    print(f"  {'FAIL' if result.faults else 'ok  '}  {result.name}"
          + (took_text and f'  ({took_text})'))
    if result.faults:
        for line in failure_text(path, result).splitlines():
            print(f'        {line}')


def _as_dict(path: Path, result: CaseResult) -> dict[str, Any]:
    report = result.report
    return {'file': str(path), 'line': result.line, 'name': result.name,
            'passed': not result.faults, 'faults': list(result.faults),
            **({} if report is None else {
                'outcome': report.outcome, 'duration': round(report.duration, 3),
                'actions': {name: {'outcome': action.outcome, 'error': action.error,
                                   'attempts': action.attempts, 'states': list(action.states)}
                            for name, action in report.actions.items()}})}
