# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is recorded of an order: the person who gives it, and the reason; neither refuses it."""

from __future__ import annotations

import argparse
import getpass
import os
import socket

from ..lifecycle.text_format import printable


def who(options: argparse.Namespace) -> str:
    """Return the name that is recorded for the person who gives an order."""
    return printable(options.actor) or requester()


def why(options: argparse.Namespace) -> str:
    """Return the reason that is recorded, as a text that messages and rows can have."""
    return printable(options.reason)


def requester() -> str:
    """Return the user of this process as USER@HOST; a user without a name by number."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # such as in a container that was started with another user
        user = str(os.getuid())
    return f'{printable(user)}@{printable(socket.gethostname())}'
