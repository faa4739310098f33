# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Groups, verbs and options that several verbs of the console command share."""

from __future__ import annotations

import argparse
import math
import textwrap
from typing import Any


def add_group(commands: Any, name: str, help: str) -> Any:  # noqa: A002
    """Add a verb that has verbs of its own."""
    group = commands.add_parser(name, help=help, description=_sentence(help))
    return group.add_subparsers(required=True, metavar='COMMAND')


def add_verb(
    commands: Any, name: str, function: str, *, help: str,  # noqa: A002
    example: str, description: str = '',
) -> argparse.ArgumentParser:
    """Add a verb; `example`: command lines, one per line, without the program name."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=textwrap.fill(description or _sentence(help), 80),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    # a line begins with the names of the group and the verb, as the end of `prog` does
    lines = (f'  {parser.prog}{line.partition(name)[2]}' for line in example.splitlines())
    parser.epilog = '\n'.join(['example:', *lines])
    parser.set_defaults(function=function)
    return parser


def _sentence(help: str) -> str:  # noqa: A002
    return f'{help[:1].upper()}{help[1:]}.'


def add_nodes(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that communicate with nodes."""
    parser.add_argument('--namespace', default='', metavar='NS', help='namespace of the robot')
    parser.add_argument('--wait', type=seconds, default=10.0, metavar='S',
                        help='seconds to wait for the nodes (default: 10)')


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json` for verbs that print a table."""
    parser.add_argument('--json', action='store_true', help='print JSON instead of a table')


def add_actor(parser: argparse.ArgumentParser, *, reason: str = 'why; it is recorded') -> None:
    """Add `--actor` and `--reason`: who gives an order, and why."""
    parser.add_argument('--actor', default='', metavar='NAME',
                        help='who gives the order (default: user@host); it is recorded')
    if reason:
        parser.add_argument('--reason', default='', metavar='TEXT', help=reason)


def add_output(parser: Any, option: str, help: str) -> None:  # noqa: A002
    """Add an option for a file to write; see `output_file`."""
    parser.add_argument(option, default='', metavar='FILE', help=help)


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add `--force`."""
    parser.add_argument('--force', action='store_true', help='also replace a file of another '
                        'kind; an input is never replaced')


def port(text: str) -> int:
    """Return a port of a command line."""
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 65536):
        raise argparse.ArgumentTypeError(f'{text!r}: expected a port, 0 to 65535')
    return int(text)


def seconds(text: str) -> float:
    """Return seconds of a command line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r}: expected seconds, 0 or more')
    return value
