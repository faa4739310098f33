# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Finds a Python of a version: on a path, under pyenv's versions, else through uv."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import os
from pathlib import Path
import shutil
import subprocess
import sys


def find_python(
    version: str, path: str, environment: Mapping[str, str], *, headers: bool = False
) -> str:
    """
    Return the path of a Python that can make environments; '' if there is none.

    `version`: such as 3.12. `headers`: it must have those of C, too.
    """
    probe = ('import sys, sysconfig, os, venv, ensurepip\n'
             f"assert '%d.%d' % sys.version_info[:2] == {version!r}\n")
    if headers:
        probe += 'assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))\n'
    for candidate in _candidates(version, path, environment):
        if subprocess.call([candidate, '-c', probe], env=dict(environment),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            return candidate
    return ''


def _candidates(version: str, path: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield programs that may be this Python; uv is asked last, since it downloads."""
    for command in (f'python{version}', 'python3'):
        found = shutil.which(command, path=path)
        if found:
            yield found
    pyenv = environment.get('PYENV_ROOT') or os.path.join(environment.get('HOME', ''), '.pyenv')
    yield from map(str, sorted(Path(pyenv).glob(f'versions/{version}*/bin/python')))
    uv = shutil.which('uv', path=path)
    if uv:
        subprocess.call([uv, 'python', 'install', version], env=dict(environment),
                        stdout=sys.stderr)
        found = subprocess.run([uv, 'python', 'find', version], env=dict(environment), text=True,
                               stdout=subprocess.PIPE).stdout.strip()
        if found:
            yield found
