# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The token that people sign in with, from a file that nobody else can read."""

from __future__ import annotations

import io
import os
import stat

from ..documents.errors import LifecycleError
from ..documents.input_file import open_input

LEAST = 16
"""Minimum number of characters of a token."""
MOST = 1024


class TokenError(LifecycleError):
    """A token can't be used."""


class TokenFile:
    """A token in a file; it is read again when the file has changed."""

    def __init__(self, path: str) -> None:
        self.path = os.path.expanduser(path)
        self._seen: tuple[int, ...] = ()
        self._token = ''

    def read(self) -> str:
        """Return the token; raises TokenError."""
        try:
            found = os.stat(self.path)
            if self._stamp(found) == self._seen:
                return self._token
            self._seen = ()
            with io.TextIOWrapper(open_input(self.path), 'utf-8') as file:
                found = os.fstat(file.fileno())
                self._check(found)
                text = file.read(MOST + 2)
        except (OSError, UnicodeError) as error:
            self._seen = ()
            raise TokenError(f'token file {self.path}: {error}') from error
        self._token = read_token(text, f'token file {self.path}')
        self._seen = self._stamp(found)
        return self._token

    def _check(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise TokenError(f'token file {self.path}: expected a regular file')
        if found.st_mode & 0o077:
            raise TokenError(
                f'token file {self.path}: other users can read or change it '
                f'(mode {stat.S_IMODE(found.st_mode):o}): expected mode 600 (chmod 600)')
        if found.st_uid not in (os.getuid(), 0):
            raise TokenError(f'token file {self.path}: it belongs to another user')

    @staticmethod
    def _stamp(found: os.stat_result) -> tuple[int, ...]:
        return (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode)


def read_token(text: str, source: str) -> str:
    """Return the token in a text; raises TokenError if it is too short, long, or not printable."""
    token = text.strip()
    if not LEAST <= len(token) <= MOST or not token.isprintable() or ' ' in token:
        raise TokenError(
            f'{source}: expected a token of {LEAST} to {MOST} printable characters without '
            'spaces, such as the output of: '
            "python3 -c 'import secrets; print(secrets.token_urlsafe(24))'")
    return token
