# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The summary of a flow that has ended."""

from __future__ import annotations

import argparse
import json
from typing import Any

from action_lifecycle_msgs.action import ExecuteFlow
from action_lifecycle_msgs.msg import ErrorCode
from rich.box import ASCII, HEAVY_HEAD
from rich.console import Console
from rich.text import Text

from ..output_file import OutputFile
from ..table import at_clock, attempts_table
from ...documents.json_text import read_object
from ...flow.run.metrics import metrics_table
from ...lifecycle.text_format import printable


def sum_up(
    console: Console, options: argparse.Namespace, result: ExecuteFlow.Result, changes: list[Any],
    file: OutputFile | None = None,
) -> None:
    """Print the summary of a flow, and write it to `file`, if there is one."""
    summary = read_object(result.summary_json, 'summary_json')
    if 'job' in summary:
        _print_job(console, summary['job'])
    elif changes:
        console.print(attempts_table(changes, ASCII if options.plain else HEAVY_HEAD))
    if 'total' in summary:
        _print_summary(console, summary, result.error_code == ErrorCode.NONE)
    if result.error_msg:
        console.print(Text(result.error_msg, 'bold red'), soft_wrap=True)
    if file is not None:
        file.write(json.dumps(
            {'flow_id': result.flow_id, 'state': result.state, 'error_code': result.error_code,
             'error_msg': result.error_msg, **summary}, indent=2) + '\n')


def _print_job(console: Console, job: dict[str, Any]) -> None:
    following = job['next']
    if job['clock'] == 'wall' and following is not None:
        following = at_clock(following)
    when = f'next at {following}' if following is not None else 'no further time'
    console.print(Text(f"scheduled as job {job['id']} ({job['schedule']}), {when} "
                       f"by the {job['clock']} clock", 'green'), soft_wrap=True)


def _print_summary(console: Console, summary: dict[str, Any], good: bool) -> None:
    if summary.get('metrics'):
        console.print(Text(metrics_table(summary['metrics'])), soft_wrap=True)
    recipe = summary.get('recipe')
    if recipe and 'file' in recipe:
        console.print(Text(f"recipe {recipe['name']}: {recipe['file']}", 'green'), soft_wrap=True)
    elif recipe:
        console.print(Text(f"no recipe {recipe['name']}: {recipe['why_not']}", 'yellow'),
                      soft_wrap=True)
    if end := summary.get('ended_by'):
        console.print(Text(printable(f"ended by {end['author']} ({end['verb']}): "
                                     f"{end['reason']}")), soft_wrap=True)
    console.print(Text(
        f"verified {summary['succeeded'] - summary['unverified']} of {summary['total']}, "
        f"recovered {summary['recovered']}, failed {summary['failed']}, "
        f"skipped {summary['skipped']}, canceled {summary['canceled']}, "
        f"unverified: {summary['unverified']}"
        + (f", replaced {summary['replaced']}" if summary.get('replaced') else '')
        + (f"   ({summary['duration']:.1f} s)" if 'duration' in summary else '')
        + (f", planned in {summary['planning_s']:.1f} s" if 'planning_s' in summary else ''),
        'bold green' if good else 'bold red'))
