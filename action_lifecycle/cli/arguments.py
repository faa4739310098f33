# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Arguments that several verbs share.

The modules with an `add_parser` function import heavy modules only inside functions, since all
of them are imported for `--help` and for each completion in the shell.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import getpass
import importlib
import math
import socket
import textwrap
from typing import Any

Command = Callable[[argparse.Namespace], int]
NODE = 'action_lifecycle'
"""Name of the action node."""


def add_verb(
    commands: Any, name: str, run: Command, *, help: str,  # noqa: A002
    example: str, description: str = '',
) -> argparse.ArgumentParser:
    """Add a verb; `example`: command lines, one per line, without the program name."""
    lines = (f'  action_lifecycle {line}' for line in example.splitlines())
    description = description or f'{help[:1].upper()}{help[1:]}.'
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=textwrap.fill(description, 80),
        epilog='\n'.join(['example:', *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(command=run)
    return parser


def lazily(module: str, function: str) -> Command:
    """Return a command that imports its module only when it is called."""
    def run(options: argparse.Namespace) -> int:
        code: int = getattr(importlib.import_module(f'.{module}', __package__), function)(options)
        return code
    return run


def add_nodes(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that communicate with nodes."""
    parser.add_argument('--namespace', default='', metavar='NS', help='namespace of the robot')
    parser.add_argument('--wait', type=_seconds, default=10.0, metavar='S',
                        help='seconds to wait for the nodes (default: 10)')


def add_journal(parser: argparse.ArgumentParser) -> None:
    """Add `--journal`: read a journal file instead of calling the nodes."""
    parser.add_argument('--journal', metavar='FILE',
                        help='read this journal instead of asking the nodes')


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json` for verbs that print a table."""
    parser.add_argument('--json', action='store_true', help='print JSON instead of a table')


def add_actor(parser: argparse.ArgumentParser, *, reason: str = 'why; it is recorded') -> None:
    """Add `--actor` and `--reason`: who gives an order, and why."""
    parser.add_argument('--actor', default='', metavar='NAME',
                        help='who gives the order (default: user@host); it is recorded')
    if reason:
        parser.add_argument('--reason', default='', metavar='TEXT', help=reason)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the filters for open questions."""
    parser.add_argument('--id', default='', metavar='ID',
                        help='only the question whose id starts with this')
    parser.add_argument('--flow', default='', metavar='FLOW_ID', help='only of this flow')
    parser.add_argument('--action', default='', metavar='ACTION', help='only of this action')


def who(options: argparse.Namespace) -> str:
    """Return the name that is recorded for the person who gives an order."""
    return options.actor or requester()


def requester() -> str:
    """Return the user of this process as USER@HOST."""
    return f'{getpass.getuser()}@{socket.gethostname()}'


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r}: expected seconds, 0 or more')
    return value
