# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs the verbs of the console command; returns their exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import importlib
import os
import sys

from .exits import BAD_INPUT, DONE, INTERRUPTED, NOT_THERE, NotThere
from .parser import build_parser
from ..documents.errors import DocumentError, LifecycleError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see `exits`."""
    parser = build_parser()
    _complete(parser)
    return run_verb(parser.parse_args(arguments))


def run_verb(options: argparse.Namespace) -> int:
    """Run the verb that a parser with the verbs of `parser` has read; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):  # print '?' for characters that the terminal lacks
            stream.reconfigure(errors='replace')
    try:
        module, _, function = options.function.rpartition('.')
        verb = getattr(importlib.import_module(f'.{module}', __package__), function)
        code: int | None = verb(options)
    except NotThere as error:
        print(f'action_lifecycle: {error}', file=sys.stderr)
        return NOT_THERE
    except DocumentError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except LifecycleError as error:
        print(f'action_lifecycle: {error}', file=sys.stderr)
        return BAD_INPUT
    except UnicodeEncodeError as error:  # of os.fsdecode: nodes, SQLite and files take UTF-8
        print(f'action_lifecycle: {ascii(error.object[:200])}: is not UTF-8, and can not be used '
              'there', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print('action_lifecycle: interrupted', file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return DONE
    return DONE if code is None else code


def _complete(parser: argparse.ArgumentParser) -> None:
    """If a shell asks for completions, print them and exit."""
    if '_ARGCOMPLETE' not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:
        sys.exit('action_lifecycle: completion needs argcomplete (python3-argcomplete)')
    argcomplete.autocomplete(parser)
