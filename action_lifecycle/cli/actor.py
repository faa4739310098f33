# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The name that is recorded for the person who gives an order."""

from __future__ import annotations

import argparse
import getpass
import socket


def who(options: argparse.Namespace) -> str:
    """Return the name that is recorded for the person who gives an order."""
    return options.actor or requester()


def requester() -> str:
    """Return the user of this process as USER@HOST."""
    return f'{getpass.getuser()}@{socket.gethostname()}'
