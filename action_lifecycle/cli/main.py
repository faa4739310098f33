# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parser and exit codes of the console command; the verbs are in `verbs`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import importlib
from importlib.metadata import PackageNotFoundError, version
import os
import sys

from .exits import BAD_INPUT, DONE, INTERRUPTED, NOT_THERE, NotThere
from ..documents.errors import DocumentError, LifecycleError

MODULES = ('run', 'status', 'orders', 'edit', 'operator', 'safety', 'jobs', 'records',
           'dialogue', 'journal', 'ledger', 'files')
"""The modules with an `add_parser` function, in the order in which `--help` lists their verbs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see `exits`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):  # print '?' for characters that the terminal lacks
            stream.reconfigure(errors='replace')
    parser = build_parser()
    _complete(parser)
    options = parser.parse_args(arguments)
    try:
        code: int = options.command(options)
    except NotThere as error:
        print(f'action_lifecycle: {error}', file=sys.stderr)
        return NOT_THERE
    except DocumentError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except LifecycleError as error:
        print(f'action_lifecycle: {error}', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print('action_lifecycle: interrupted', file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return DONE
    return code


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all verbs."""
    parser = argparse.ArgumentParser(
        prog='action_lifecycle', description='Verified, journaled robot actions.',
        epilog='Exit codes: 0 done, 1 the flow failed, 2 bad input or refused, 3 the system or '
        'what was asked for is not there, 130 interrupted. `action_lifecycle COMMAND --help` '
        'shows the options of a command and an example.')
    parser.add_argument('--version', action='version', version=_version())
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    for name in MODULES:
        importlib.import_module(f'.verbs.{name}', __package__).add_parser(commands)
    return parser


def _version() -> str:
    try:
        return f"action_lifecycle {version('action_lifecycle')}"
    except PackageNotFoundError:
        return 'action_lifecycle (not installed)'


def _complete(parser: argparse.ArgumentParser) -> None:
    """If a shell asks for completions, print them and exit."""
    if '_ARGCOMPLETE' not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:
        sys.exit('action_lifecycle: completion needs argcomplete (python3-argcomplete)')
    argcomplete.autocomplete(parser)
