# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The command `ros2 flow`: the verbs of `action_lifecycle` as an extension of ros2cli.

Only ros2cli imports this module, by its entry point; without ros2cli nothing needs it.
"""

from __future__ import annotations

import argparse

from ros2cli.command import CommandExtension

from .main import run_verb
from .parser import add_verbs


class FlowCommand(CommandExtension):
    """Verified, journaled robot actions: run flows, check them, show what happened."""

    def add_arguments(self, parser: argparse.ArgumentParser, cli_name: str) -> None:
        add_verbs(parser)

    def main(self, *, parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
        return run_verb(args)
